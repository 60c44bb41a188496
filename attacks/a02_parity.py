"""memory against file, with hand-made recounts."""
import itertools, json, sys, tempfile, traceback, warnings, math
from pathlib import Path
import numpy as np, pandas as pd, pyarrow as pa, pyarrow.parquet as pq, pyarrow.csv as pc, shoal
warnings.simplefilter("error", RuntimeWarning)
seed = int(sys.argv[1]) if len(sys.argv) > 1 else 0
rng = np.random.default_rng(seed)
n = 400
base = {
 "x": np.round(rng.lognormal(3,1,n),2), "y": rng.integers(0,90,n), "z": rng.normal(size=n).round(1),
 "c": rng.choice(list("abcd"),n), "b": rng.random(n)<.3,
 "d": pd.to_datetime("1880-01-01") + pd.to_timedelta(rng.integers(0,50000,n),"D"),
 "s": rng.choice(["N","S","W","tiny"],n,p=[.5,.3,.193,.007]), "w": rng.uniform(.5,90,n).round(3),
 "h": rng.choice(["flu","hiv","ok","cold","x"],n), "inc": rng.lognormal(8,1,n).round(0), "free": [f"t{i}" for i in range(n)]}
df = pd.DataFrame(base); df["d"] = df.d.dt.date
df["tot"] = df.x + df.z.abs()
gaps = df.copy()
for c in ("x","y","c","d"): gaps[c] = gaps[c].astype(object).where(rng.random(n)>.08, None)
gaps["y"] = gaps.y.astype("Int64"); gaps["x"]=gaps.x.astype(float)
def tab(f): return pa.Table.from_pandas(f, preserve_index=False)
T, G = tab(df), tab(gaps)
bs = {"scale":{"block_size":60}}
cases = {
 "plain": (T, dict(quasi=["x","y","z"])),
 "round": (T, dict(quasi=["x","y"], round=True)),
 "blocks": (T, dict(quasi=["x","y","z","inc"], blocks=[["x","y"],["z","inc"]])),
 "blocks+strata": (T, dict(quasi=["x","y","z","inc"], blocks=[["x","y"],["z","inc"]], strata=["s"], small_strata="merge")),
 "merge": (T, dict(quasi=["x","y","c"], strata=["s"], small_strata="merge")),
 "suppress": (T, dict(quasi=["x","y","c"], strata=["s"], small_strata="suppress")),
 "strata err": (T, dict(quasi=["x","y","c"], strata=["s"])),
 "weights": (T, dict(quasi=["x","z","d"], weights="w", preserve="weighted_mean")),
 "weights blocks": (T, dict(quasi=["x","z","inc"], blocks=[["x"],["z","inc"]], weights="w", preserve="weighted_mean", strata=["s"], small_strata="suppress")),
 "weights restore": (T, dict(quasi=["x","z","d"], weights="w", restore_variance=True)),
 "mixed": (T, dict(quasi=["x","c","b","d"])),
 "l": (T, dict(quasi=["x","z"], confidential=["h"], l=3)),
 "t": (T, dict(quasi=["x","z"], confidential=["inc"], t=.3)),
 "l strata": (T, dict(quasi=["x","z"], confidential=["h"], l=2, t=.6, strata=["s"], small_strata="suppress")),
 "restore": (T, dict(quasi=["x","y","d"], restore_variance=True)),
 "restore round": (T, dict(quasi=["x","y"], restore_variance=True, round=True)),
 "median": (T, dict(quasi=["x","y"], aggregate="median")),
 "minmax": (T, dict(quasi=["x","y"], standardize="minmax")),
 "gap group": (G, dict(quasi=["x","y","c","d"], missing="group")),
 "gap impute": (G, dict(quasi=["x","y","c","d"], missing="impute")),
 "gap suppress": (G, dict(quasi=["x","y","c","d"], missing="suppress", strata=["s"], small_strata="suppress")),
 "gap restore": (G, dict(quasi=["x","y"], missing="impute", restore_variance=True)),
 "gap suppress restore": (G, dict(quasi=["x","y"], missing="suppress", restore_variance=True, weights="w")),
 "edits": (T, dict(quasi=["x","z","tot"], edits=["tot >= x", "x > 0"])),
 "edits unmasked": (T, dict(quasi=["x","z"], edits=["tot >= x", "w > 0"])),
 "edits exclude": (T, dict(quasi=["x","y"], edits=["y >= 5", "x <= 100"], edits_original="exclude")),
 "edits keep": (T, dict(quasi=["x","y"], edits=["y >= 5", "x <= 100"], edits_original="keep")),
 "edits if": (T, dict(quasi=["x","y"], edits=["if c = 'a' then y >= 0", "if y < 18 then x < 100000"])),
 "vmdav": (T, dict(quasi=["x","y","z"], method="vmdav")),
 "univariate": (T, dict(quasi=["x"], method="univariate")),
 "best": (T, dict(quasi=["x","z"], method="best", budget=200)),
}
only = sys.argv[2].split(",") if len(sys.argv) > 2 else None
def close(a,b,path=""):
    if isinstance(a,dict) and isinstance(b,dict):
        out=[]
        for k in {*a,*b}:
            out += close(a.get(k),b.get(k),path+"/"+str(k))
        return out
    if isinstance(a,list) and isinstance(b,list) and len(a)==len(b):
        return [x for i,(p,q) in enumerate(zip(a,b)) for x in close(p,q,f"{path}[{i}]")]
    if isinstance(a,float) and isinstance(b,float):
        return [] if math.isclose(a,b,rel_tol=1e-9,abs_tol=1e-12) else [(path,a,b)]
    return [] if a==b else [(path,a,b)]
def run(**o):
    try: return shoal.protect(**o), None
    except Exception as e:
        return None, f"{type(e).__name__}: {e}" if type(e).__module__.startswith("shoal") else "CRASH "+traceback.format_exc()[-600:]
tmp = Path(tempfile.mkdtemp())
for name,(t,o) in cases.items():
    if only and name not in only: continue
    for kind in ("parquet","csv"):
        src = tmp/f"in.{kind}"
        (pq.write_table if kind=="parquet" else pc.write_csv)(t, src)
        for blocked in (False, True):
            o2 = {**o, "k":4, **(bs if blocked else {})}
            label=f"{name:18} {kind:7} {'blocked' if blocked else ''}"
            m, em = run(plan=None, input=str(src), engine="memory", **o2)
            f, ef = run(plan=None, input=str(src), output=str(tmp/f"out_{kind}.{kind}"), engine="file", **o2)
            if em or ef:
                if em != ef: print(label, "DIFFERENT ERRORS\n   M", em, "\n   F", ef)
                else: print(label, "both:", em[:150])
                if em is None or ef is None or "CRASH" in em: pass
                continue
            a, b = m.table, f.table
            out=[]
            if a.schema.names!=b.schema.names: out.append("names")
            for c in a.schema.names:
                if a.schema.field(c).type != b.schema.field(c).type: out.append(("type",c,a.schema.field(c).type,b.schema.field(c).type))
                elif a[c].to_pylist()!=b[c].to_pylist():
                    d=[i for i,(p,q) in enumerate(zip(a[c].to_pylist(),b[c].to_pylist())) if p!=q]
                    out.append(("values",c,len(d),len(a),len(b),[(a[c][i].as_py(),b[c][i].as_py()) for i in d[:2]]))
            out += close(m.risk(),f.risk(),"risk") + close(m.loss(),f.loss(),"loss")
            if m.suppressed!=f.suppressed or m.records!=f.records or len(a)!=m.records: out.append(("suppressed",m.suppressed,f.suppressed,m.records,f.records,len(a)))
            if set(m.notes)!=set(f.notes): out.append(("notes", set(m.notes)^set(f.notes)))
            if close(m.edits,f.edits): out.append("edits")
            s1,s2=m.summary(),f.summary()
            if blocked: out += close(s1.get("blocking"),s2.get("blocking"),"blocking")
            # saved files
            m.save(tmp/f"m_{kind}.{kind}", overwrite=True); f.save(overwrite=True)
            x,y=(tmp/f"m_{kind}.{kind}").read_bytes(),(tmp/f"out_{kind}.{kind}").read_bytes()
            if kind=="csv" and x!=y: out.append("saved CSV bytes differ")
            j1,j2=[json.loads((tmp/p).read_text()) for p in (f"m_{kind}.manifest.json",f"out_{kind}.manifest.json")]
            out += [d for d in close(j1,j2,"manifest") if "manifest/plan" not in d[0] and "sha" not in d[0] and "name" not in d[0]]
            # shuffled rows
            p = rng.permutation(len(t))
            (pq.write_table if kind=="parquet" else pc.write_csv)(t.take(p), src)
            if "error" not in label:
                q, eq = run(plan=None, input=str(src), engine="memory", **o2)
                if eq: out.append(("shuffled", eq[:200]))
                else:
                    key=[c for c in a.schema.names if c=="free"][0]
                    A=a.to_pandas().set_index(key).sort_index(); Q=q.table.to_pandas().set_index(key).sort_index()
                    if not A.equals(Q[A.columns]):
                        bad=[c for c in A.columns if not A[c].equals(Q[c])]; out.append(("shuffle changes",bad,[int((A[c].astype(str)!=Q[c].astype(str)).sum()) for c in bad]))
            print(label, "ok" if not out else "DIFF", f"k={m.risk()['after']['smallest']}", *[f"\n     {str(z)[:400]}" for z in out])
