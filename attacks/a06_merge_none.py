"""standardize='none': sums of profiles overflow int64 without a word, and a small stratum joins the wrong one."""
import numpy as np, pyarrow as pa, shoal
wrong=0
for seed in range(30):
    rng=np.random.default_rng(seed); n=rng.integers(600,1500,2); m=rng.uniform(5e8,9e9,2); to=int(rng.integers(2))
    x=np.r_[rng.normal(m[0],1e6,n[0]),rng.normal(m[1],1e6,n[1]),rng.normal(m[to],1e6,2)]
    t=pa.table({"x":x,"s":["a"]*n[0]+["b"]*n[1]+["c"]*2})
    r=shoal.protect(t,k=3,quasi=["x"],strata=["s"],small_strata="merge",standardize="none")
    y=r.table["x"].to_numpy()[-2:]; wrong+=bool((abs(y-m[to])>1e8).any())
print("wrong merges of 30:",wrong)
