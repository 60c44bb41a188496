"""Tamper with what is published in memory and in the private file; verify() must fail."""
import sys, tempfile
from dataclasses import replace
from pathlib import Path
import numpy as np, pyarrow as pa, pyarrow.parquet as pq, pandas as pd, shoal
from shoal.tables import Table
rng=np.random.default_rng(3); n=120
df=pd.DataFrame({"x":rng.lognormal(3,1,n).round(2),"y":rng.integers(0,90,n),"c":rng.choice(list("abc"),n),"s":rng.choice(["N","S"],n),"h":rng.choice(list("uvwxyz"),n),"w":rng.uniform(1,9,n),"free":np.arange(n)})
df["tot"]=df.x+1
T=pa.Table.from_pandas(df,preserve_index=False)
tmp=Path(tempfile.mkdtemp()); pq.write_table(T,tmp/"in.parquet")
def setv(t,c,i,v):
    a=t[c].to_pylist()
    for k,val in zip(np.atleast_1d(i),v if isinstance(v,list) else [v]*len(np.atleast_1d(i))): a[k]=val
    return t.set_column(t.schema.get_field_index(c),t.schema.field(c),pa.array(a,t.schema.field(c).type))
def swaprows(t,i,j):
    p=np.arange(len(t)); p[i],p[j]=p[j],p[i]; return t.take(p)
def swapmasked(t,i,j,cols):
    for c in cols: t=setv(t,c,[i,j],[t[c][j].as_py(),t[c][i].as_py()])
    return t
def group(r,which=0):
    return np.flatnonzero(np.asarray(r.groups)==which)
plans={
 "mean": dict(quasi=["x","y"]), "median": dict(quasi=["x","y"],aggregate="median"), "weights": dict(quasi=["x","y"],weights="w"),
 "preserve": dict(quasi=["x"],weights="w",preserve="weighted_mean"), "mixed": dict(quasi=["x","c"]), "strata": dict(quasi=["x","y"],strata=["s"]),
 "l": dict(quasi=["x","y"],confidential=["h"],l=3), "edits": dict(quasi=["x","tot"],edits=["tot >= x"]), "restore": dict(quasi=["x","y"],restore_variance=True),
 "blocks": dict(quasi=["x","y"],blocks=[["x"],["y"]]), "round": dict(quasi=["y"],round=True),
}
for name,o in plans.items():
    m=shoal.protect(T,k=4,**o)
    f=shoal.protect(input=str(tmp/"in.parquet"),output=str(tmp/f"o_{name}.parquet"),engine="file",k=4,**o)
    t=m.table; g0,g1=group(m,0),group(m,1)
    q=o["quasi"]
    tam={
     "value outside, whole group": lambda: setv(t,q[0],g0,(1e7 if q[0]!="y" else (10**6 if o.get("round") else 1e7))),
     "value moved inside range, whole group (+1%)": lambda: setv(t,q[0],g0,t[q[0]][int(g0[0])].as_py()*1.01 if not o.get("round") else t[q[0]][int(g0[0])].as_py()+1),
     "one value off": lambda: setv(t,q[0],int(g0[0]),t[q[0]][int(g0[0])].as_py()+1),
     "one value missing": lambda: setv(t,q[0],int(g0[0]),None),
     "group missing": lambda: setv(t,q[0],g0,None),
     "masked rows swapped": lambda: swapmasked(t,int(g0[0]),int(g1[0]),q),
     "whole rows swapped": lambda: swaprows(t,int(g0[0]),int(g1[0])),
     "untouched changed": lambda: setv(t,"free",5,10**6),
     "confidential changed": lambda: setv(t,"h",g0,"u"),
     "weights changed": lambda: setv(t,"w",3,100.),
     "row dropped": lambda: t.slice(1),
     "rows reversed": lambda: t.take(np.arange(len(t))[::-1]),
     "column order": lambda: t.select(t.column_names[::-1]),
    }
    if name=="mixed": tam["category that group lacks"]=lambda: setv(t,"c",g0,"zz")
    if name=="edits": tam["rule broken by one group"]=lambda: setv(t,"tot",g0,0.0)
    for what,fn in tam.items():
        bad=fn(); res=[]
        try: replace(m.published,released=Table(bad)).verify(); res.append("PASS")
        except shoal.errors.CheckFailed as e: res.append("found")
        except Exception as e: res.append("CRASH %r"%e)
        fp=f.published; keep=fp.partial; p=tmp/"tampered.parquet"; pq.write_table(bad,p)
        fp.partial=p
        try: fp.verify(); res.append("PASS")
        except shoal.errors.CheckFailed as e: res.append("found")
        except Exception as e: res.append("CRASH %r"%e)
        fp.partial=keep
        if res!=["found","found"]: print(f"{name:10} {what:45} {res}")
    # the private file is changed between protect and save
    pq.write_table(setv(t,"free",5,10**6),f.published.partial)
    try: f.save(); print(name,"file tampered before save: SAVED") if name=="mean" else None
    except Exception as e: print(name,"before save",type(e).__name__)
# pandas table changed in place between protect and save
r=shoal.protect(df.copy(),k=4,quasi=["x","y"],confidential=["h"],l=3)
r.table.loc[:,"h"]="u"; r.table.loc[0,"free"]=-1
try: r.save(tmp/"p.parquet"); print("pandas: h all 'u' (l=3 broken), untouched changed: SAVED; manifest verified:", __import__("json").loads((tmp/"p.manifest.json").read_text()).get("verified"))
except Exception as e: print("pandas in place:",type(e).__name__,e)
