"""Edge cases suspected by reading."""
import sys, traceback, datetime as dt
import numpy as np, pyarrow as pa, shoal
from zoneinfo import ZoneInfo
def t(name, f):
    try: print("==", name, "->", f())
    except Exception as e:
        known = type(e).__module__.startswith("shoal")
        print("==", name, "->", "refused" if known else "CRASH", type(e).__name__, str(e)[:300])
        if not known: print("   ", traceback.format_exc().splitlines()[-3:])
rng = np.random.default_rng(1)
def negzero():
    s = np.r_[np.zeros(6), -np.zeros(6), np.ones(6)]
    r = shoal.protect(pa.table({"x": rng.normal(size=18), "s": s}), k=3, quasi=["x"], strata=["s"])
    return r.records, r.risk()["strata"]
t("stratum 0.0/-0.0", negzero)
def negzero_small():
    s = np.r_[np.zeros(6), -np.zeros(2), np.ones(6)]
    r = shoal.protect(pa.table({"x": rng.normal(size=14), "s": s}), k=3, quasi=["x"], strata=["s"], small_strata="suppress")
    return r.records, r.suppressed, r.risk()["strata"]
t("stratum 0.0 x6 / -0.0 x2 suppress", negzero_small)
def fold():
    a = dt.datetime(2020,10,25,0,30,tzinfo=dt.timezone.utc); b = dt.datetime(2020,10,25,1,30,tzinfo=dt.timezone.utc)
    s = pa.array([a]*6+[b]*6, pa.timestamp("us", "Europe/Berlin"))
    r = shoal.protect(pa.table({"x": rng.normal(size=12), "s": s}), k=3, quasi=["x"], strata=["s"])
    return r.records, r.risk()["strata"]
t("stratum at the fold of summer time", fold)
def const_after(v, low):
    x = [low, None] ; y = [None, 1.0]
    n = 7
    tab = pa.table({"x": [low]+[v]*n, "y": [None]+list(range(n))})
    r = shoal.protect(tab, k=3, quasi=["x","y"], types={"y":"continuous"}, missing="suppress")
    return r.loss()["attributes"]["x"], r.loss()["IL"]
for v, low in ((0.7,0.1),(0.3,0.1),(3.3,0.0),(0.1,-0.7),(1e5+.1, 3.7)):
    t(f"constant {v} after suppressing {low}", lambda: const_after(v, low))
def onegroup(seed):
    g = np.random.default_rng(seed)
    return shoal.protect(pa.table({"x": g.normal(size=5), "y": g.normal(size=5)}), k=5, quasi=["x","y"], restore_variance=True)
for s in range(4): t(f"n = k, restore_variance {s}", lambda: onegroup(s))
def hugew(w):
    n=12
    r = shoal.protect(pa.table({"x": rng.normal(size=n), "y": rng.normal(size=n), "w": np.full(n, w)}), k=3, quasi=["x","y"], weights="w", preserve="weighted_mean")
    return r.loss()["IL"]
for w in (1e300, 1e308, 1e-300, 1e-320, 5e-324): t(f"weights {w}", lambda: hugew(w))
def mixedw():
    n=12
    w = np.where(np.arange(n)%2, 1e300, 1e-300)
    r = shoal.protect(pa.table({"x": rng.normal(size=n), "y": rng.normal(size=n), "w": w}), k=3, quasi=["x","y"], weights="w", preserve="weighted_mean")
    return r.loss()["IL"]
t("weights mixed", mixedw)
def bigvals(lo, hi, **o):
    n=30
    r = shoal.protect(pa.table({"x": rng.uniform(lo,hi,size=n), "y": rng.normal(size=n)}), k=3, quasi=["x","y"], **o)
    return r.loss()["IL"]
for o in ({}, {"restore_variance":True}, {"standardize":"minmax"}, {"standardize":"none"}):
    t(f"1e300 {o}", lambda: bigvals(-1e300,1e300,**o)); t(f"1.7e308 {o}", lambda: bigvals(-1.7e308,1.7e308,**o))
    t(f"1e-300 {o}", lambda: bigvals(-1e-300,1e-300,**o)); t(f"5e-324 {o}", lambda: bigvals(0,5e-322,**o))
def consts():
    r = shoal.protect(pa.table({"x": [2.5]*9, "y": [True]*9, "z":["a"]*9}), k=3, quasi=["x","y","z"])
    return r.risk(), r.loss()
t("all equal", consts)
def int53(d):
    x = np.array([2**53 - d - i for i in range(12)], dtype=np.int64)
    r = shoal.protect(pa.table({"x": x}), k=3, quasi=["x"], round=True)
    y = r.table["x"].to_numpy(); return x.astype(object).sum()-y.astype(object).sum(), r.notes[0]
for d in (0, 1, 7, -20): t(f"int near 2^53 {d}", lambda: int53(d))
for n in (3,4,5,6):
    t(f"n={n} k=3", lambda: shoal.protect(pa.table({"x": rng.normal(size=n), "y": rng.normal(size=n)}), k=3).risk()["after"])
def ancient():
    d = pa.array([dt.date(1,1,1)]*3 + [dt.date(1582,10,15), dt.date(1899,12,31), dt.date(1900,1,1), dt.date(9999,12,31), None, dt.date(1066,10,14)], pa.date32())
    r = shoal.protect(pa.table({"d": d, "x": range(9)}), k=3, quasi=["d"], missing="group")
    return r.table["d"].to_pylist()
t("old dates", ancient)
def zones():
    a = dt.datetime(2020,10,25,0,30,tzinfo=dt.timezone.utc)
    d = pa.array([a+dt.timedelta(minutes=30*i) for i in range(9)], pa.timestamp("ns", "Europe/Berlin"))
    r = shoal.protect(pa.table({"d": d}), k=3, quasi=["d"]); return r.table["d"].type, r.table["d"].to_pylist()[0]
t("zones", zones)
def nanstrat():
    s = pa.array([1.0]*4+[float("nan")]*4+[None]*4, from_pandas=False)
    r = shoal.protect(pa.table({"x": rng.normal(size=12), "s": s}), k=3, quasi=["x"], strata=["s"]); return r.risk()["strata"], r.records
t("nan & null strata", nanstrat)
def profiles():
    n=300
    x = np.r_[rng.normal(1e11,1e9,n), rng.normal(9e11,1e9,n), rng.normal(1e11,1e9,2)]
    s = np.r_[np.zeros(n), np.ones(n), np.full(2,2.)].astype(int).astype(str)
    r = shoal.protect(pa.table({"x": x, "s": s}), k=3, quasi=["x"], strata=["s"], small_strata="merge", standardize="none")
    y = r.table["x"].to_numpy(); return y[-2:], "should be near 1e11"
t("merge with standardize none", profiles)
