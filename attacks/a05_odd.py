import tempfile, traceback, sys, warnings, datetime as dt, decimal
from pathlib import Path
import numpy as np, pandas as pd, polars as pl, pyarrow as pa, pyarrow.parquet as pq, shoal
tmp=Path(tempfile.mkdtemp()); rng=np.random.default_rng(5)
def run(**o):
    try: return shoal.protect(**o), None
    except Exception as e: return None, (f"{type(e).__name__}: {e}" if type(e).__module__.startswith("shoal") else "CRASH "+traceback.format_exc()[-500:])
i=0
def both(label, t=None, text=None, **o):
    global i; i+=1
    if text is not None: src=tmp/f"i{i}.csv"; src.write_text(text); out=tmp/f"o{i}.csv"
    else: src=tmp/f"i{i}.parquet"; pq.write_table(t,src,row_group_size=7); out=tmp/f"o{i}.parquet"
    m,em=run(input=str(src),engine="memory",**o); f,ef=run(input=str(src),output=str(out),engine="file",**o)
    if em or ef:
        print(label,"| same refusal:" if em==ef else "| DIFFERENT:",em and em[:300], "" if em==ef else f"|| {ef and ef[:500]}"); return
    d=[c for c in m.table.column_names if m.table[c].type!=f.table[c].type or m.table[c].to_pylist().__repr__()!=f.table[c].to_pylist().__repr__()]
    r=[(k,m.risk()[k],f.risk()[k]) for k in m.risk() if m.risk()[k]!=f.risk()[k]]
    n=set(m.notes)^set(f.notes); l=repr(m.loss())!=repr(f.loss()) and abs((m.loss()["IL"] or 0)-(f.loss()["IL"] or 0))>1e-9
    s=(m.suppressed,f.suppressed,m.records,f.records,len(m.table),len(f.table)); bad=s[0]!=s[1] or len(set(s[2:]))>1
    fs=None
    try: m.save(tmp/f"m{i}{out.suffix}"); f.save()
    except Exception as e: fs=f"{type(e).__name__} {e}"
    same=fs or (text is None or (tmp/f"m{i}.csv").read_bytes()==out.read_bytes())
    print(label,"| ok" if not (d or r or n or l or bad or same is not True) else f"| DIFF cols={d} types={[(m.table[c].type,f.table[c].type) for c in d]} risk={r} notes={n} loss={l} {s} saved={same}")
    return m
N=30
x=rng.normal(size=N).round(1)
both("csv 1.5/1.50 spelled", text="x,y\n"+"".join(f"{a}{'0' if k%2 else ''},{k%5}\n" for k,a in enumerate(np.repeat([1.5,2.5,3.5],10))),k=3,quasi=["x","y"])
both("csv -0.0 and 0", text="x,y\n"+"".join(f"{a},{k%5}\n" for k,a in enumerate(["-0.0","0","0.0"]*10)),k=3,quasi=["x","y"])
both("parquet -0.0", pa.table({"x":np.where(np.arange(N)%2,0.,-0.),"y":x}),k=3,quasi=["x","y"])
both("parquet NaN+null group", pa.table({"x":pa.array([float('nan') if k%5==0 else None if k%7==0 else float(k) for k in range(N)],from_pandas=False),"y":x}),k=3,quasi=["x","y"],missing="group")
both("parquet NaN+null suppress", pa.table({"x":pa.array([float('nan') if k%5==0 else None if k%7==0 else float(k) for k in range(N)],from_pandas=False),"y":x}),k=3,quasi=["x","y"],missing="suppress")
both("stratum -0.0 file", pa.table({"x":x,"s":np.r_[np.zeros(20),np.full(2,-0.),np.ones(8)]}),k=3,quasi=["x"],strata=["s"],small_strata="suppress")
both("empty strings nominal", pa.table({"c":["","a",None,"b",""]*6,"x":x}),k=3,quasi=["c","x"],missing="group")
both("empty strings csv", text="c,x\n"+"".join(f"{c},{k}\n" for k,c in enumerate(['""',"a","","b",'""']*6)),k=3,quasi=["c","x"],missing="group")
both("empty strings stratum csv", text="c,x\n"+"".join(f"{c},{k}\n" for k,c in enumerate(['""',"a","","b",'""']*6)),k=3,quasi=["x"],strata=["c"])
both("dictionary None", pa.table({"c":pa.array(["u","v",None]*10).dictionary_encode(),"x":x}),k=3,quasi=["c","x"],missing="group")
both("float32", pa.table({"x":pa.array(x,pa.float32()),"y":x}),k=3)
both("halffloat", pa.table({"x":pa.array(x.astype(np.float16)),"y":x}),k=3,quasi=["x","y"])
both("decimal", pa.table({"x":pa.array([decimal.Decimal(str(v)) for v in x]),"y":x}),k=3,quasi=["x","y"])
both("bool+date64+time", pa.table({"b":rng.random(N)<.5,"d":pa.array([dt.date(1700,1,1)+dt.timedelta(int(v)) for v in rng.integers(0,90000,N)],pa.date64()),"y":x}),k=3,quasi=["b","d","y"])
both("ts tz", pa.table({"d":pa.array([dt.datetime(1899,1,1,tzinfo=dt.timezone.utc)+dt.timedelta(minutes=int(v)) for v in rng.integers(0,9000000,N)],pa.timestamp("us","America/New_York")),"y":x}),k=3,quasi=["d","y"])
both("ts tz restore", pa.table({"d":pa.array([dt.datetime(1899,1,1,tzinfo=dt.timezone.utc)+dt.timedelta(minutes=int(v)) for v in rng.integers(0,9000000,N)],pa.timestamp("ns","UTC")),"y":x}),k=3,quasi=["d","y"],restore_variance=True)
both("uint64 big", pa.table({"x":pa.array([2**63+k for k in range(N)],pa.uint64()),"y":x}),k=3,quasi=["x","y"])
both("int8 round", pa.table({"x":pa.array(rng.integers(-128,127,N),pa.int8()),"y":x}),k=3,quasi=["x","y"],round=True)
both("int8 round restore", pa.table({"x":pa.array(rng.choice([-128,127],N),pa.int8()),"y":x}),k=3,quasi=["x","y"],round=True,restore_variance=True)
both("suppress leaves too few", pa.table({"x":pa.array([1.,2.]+[None]*28),"y":x}),k=3,quasi=["x","y"],missing="suppress")
both("suppress leaves stratum too few", pa.table({"x":pa.array([1.,2.,3.]*8+[None]*6),"y":x,"s":["a"]*22+["b"]*8}),k=3,quasi=["x","y"],missing="suppress",strata=["s"])
both("one stratum", pa.table({"x":x,"s":["a"]*N}),k=3,quasi=["x"],strata=["s"],small_strata="merge")
both("all strata small merge", pa.table({"x":x,"s":[f"{k//2}" for k in range(N)]}),k=3,quasi=["x"],strata=["s"],small_strata="merge")
both("numeric stratum NaN/null merge", pa.table({"x":x,"s":pa.array([1.0]*14+[float('nan')]*2+[None]*14,from_pandas=False)}),k=3,quasi=["x"],strata=["s"],small_strata="merge")
both("stratum is numeric csv", text="x,s\n"+"".join(f"{k},{s}\n" for k,s in enumerate(["1","1.0","","2"]*8)),k=3,quasi=["x"],strata=["s"])
both("rule on unmasked", pa.table({"x":x,"u":np.abs(x)+1}),k=3,quasi=["x"],edits=["u >= x","u > 0"])
both("rule on unmasked broken", pa.table({"x":x,"u":x-np.arange(N)%3}),k=3,quasi=["x"],edits=["u > -1"],edits_original="keep")
both("rule unmasked only, exclude", pa.table({"x":x,"u":x-np.arange(N)%3}),k=3,quasi=["x"],edits=["u > -1"],edits_original="exclude")
both("rule merge strata", pa.table({"x":x,"a":rng.integers(0,3,N),"s":rng.choice(["p","q"],N)}),k=3,quasi=["x","a"],strata=["s"],edits=["if a = 0 then x < 10"],small_strata="merge")
both("rule suppress strata", pa.table({"x":x,"a":rng.integers(0,3,N),"s":rng.choice(["p","q"],N)}),k=5,quasi=["x"],strata=["s"],edits=["if a = 0 then x < 10", "if x > 0.8 then a < 9"],small_strata="suppress")
both("block_size with ties", pa.table({"x":np.repeat([1.,2.,3.],10),"y":np.repeat([1.,2.,3.],10)}),k=3,quasi=["x","y"],scale={"block_size":6})
both("huge and tiny", pa.table({"x":np.where(np.arange(N)%2,1e300,1e-300)*(1+x),"y":x}),k=3,quasi=["x","y"],restore_variance=True)
def same(label,f,**o):
    try:
        r=shoal.protect(f,**o); t=r.table
        if isinstance(f,pd.DataFrame): print(label,type(t).__name__,[(c,str(f[c].dtype),str(t[c].dtype)) for c in t.columns if str(f[c].dtype)!=str(t[c].dtype)],t.index.equals(f.index))
        else: print(label,type(t).__name__,[(c,f[c].dtype,t[c].dtype) for c in t.columns if f[c].dtype!=t[c].dtype])
    except Exception as e: print(label,type(e).__name__,str(e)[:300])
P=pd.DataFrame({"i":pd.array(range(N),"Int64"),"f":pd.array(x,"Float64"),"c":pd.Categorical(["a","b",None]*10,categories=["b","a","zz"]),"o":pd.Categorical(["lo","hi","lo"]*10,categories=["lo","hi"],ordered=True),"s":pd.array(["p","q",None]*10,"string"),"b":pd.array([True,False,None]*10,"boolean"),"d":pd.date_range("1890-01-01",periods=N,freq="D",tz="Asia/Tokyo"),"n":range(N),"a":pd.array(x,pd.ArrowDtype(pa.float32()))},index=pd.Index(rng.permutation(N)))
same("pandas",P,k=3,quasi=["i","f","c","o","s","b","d","a"],missing="group"); same("pandas round",P,k=3,quasi=["i","n"],round=True)
same("pandas dup index",P.set_index(pd.Index([1]*N)),k=3,quasi=["i","n"]); 
L=pl.DataFrame({"i":pl.Series(range(N),dtype=pl.Int16),"c":pl.Series(["a","b",None]*10,dtype=pl.Categorical),"e":pl.Series(["a","b","a"]*10,dtype=pl.Enum(["b","a"])),"f":pl.Series(x,dtype=pl.Float32),"d":pl.datetime_range(dt.datetime(1850,1,1),dt.datetime(1850,1,30),"1d",time_unit="ms",eager=True),"s":["p","q",None]*10})
same("polars",L,k=3,quasi=["i","c","e","f","d","s"],missing="group")
both("merge none 1e9", pa.table({"x":np.r_[rng.normal(1e9,1e7,2000),rng.normal(5e9,1e7,2000),rng.normal(5e9,1e7,2)],"s":["a"]*2000+["b"]*2000+["c"]*2}),k=3,quasi=["x"],strata=["s"],small_strata="merge",standardize="none")
for std in ("none","zscore"):
    t=pa.table({"x":np.r_[rng.normal(1e9,1e7,2000),rng.normal(5e9,1e7,2000),rng.normal(5e9,1e7,2)],"s":["a"]*2000+["b"]*2000+["c"]*2})
    r=shoal.protect(t,k=3,quasi=["x"],strata=["s"],small_strata="merge",standardize=std); print(std,"tiny stratum near 5e9 publishes",r.table["x"].to_numpy()[-2:],"IL",r.loss()["IL"])
