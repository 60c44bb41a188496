"""Recompute by hand: k, l, t, means, variances, totals, IL, uniques, real_k; and what notes claim."""
import warnings; import numpy as np, pandas as pd, pyarrow as pa, shoal, duckdb
import statsmodels.api as sm
fair=sm.datasets.fair.load_pandas().data.iloc[:1500].reset_index(drop=True)
q=["age","yrs_married","religious","educ"]
def il(X,Y,w=None):
    w=np.ones(len(X)) if w is None else w
    mu=np.average(X,axis=0,weights=w); v=np.average((X-mu)**2,axis=0,weights=w)
    return 100*(w[:,None]*(X-Y)**2/v).sum()/(w[:,None]*(X-mu)**2/v).sum()
def expo(t,q):
    s=t.groupby(q,dropna=False).size(); return dict(groups=len(s),smallest=s.min(),largest=s.max(),uniques=int((s==1).sum()),real_k=len(t)/len(s),reidentification=100*len(s)/len(t))
def cmp(label,a,b,tol=1e-9):
    ok=np.allclose(np.asarray(a,float),np.asarray(b,float),rtol=tol,atol=tol); print("ok  " if ok else "BAD ",label,"" if ok else (a,b))
r=shoal.protect(fair,k=5,quasi=q,confidential=["affairs"])
t=r.table; cmp("IL",r.loss()["IL"],il(fair[q].to_numpy(),t[q].to_numpy()))
cmp("after",list(r.risk()["after"].values()),list(expo(t,q).values())); cmp("before",list(r.risk()["before"].values()),list(expo(fair,q).values()))
cmp("means",t[q].mean(),fair[q].mean()); print("dtypes same:",(t.dtypes[q]==fair.dtypes[q]).all(), t.index.equals(fair.index), r.notes)
for c in q:
    a=r.loss()["attributes"][c]; cmp(c+" var ratio",a["variance_ratio"],t[c].var()/fair[c].var()); 
    cc=np.abs(t[q].corr()-fair[q].corr()).loc[c].max(); cmp(c+" corr",a["correlation_change"],cc)
w=np.random.default_rng(0).uniform(1,50,len(fair)); fw=fair.assign(w=w)
r=shoal.protect(fw,k=5,quasi=q,weights="w",preserve="weighted_mean"); t=r.table
cmp("weighted IL",r.loss()["IL"],il(fair[q].to_numpy(),t[q].to_numpy(),w)); cmp("weighted totals",(t[q].mul(w,axis=0)).sum(),(fair[q].mul(w,axis=0)).sum())
r=shoal.protect(fw,k=5,quasi=q,weights="w",restore_variance=True); t=r.table
wm=lambda X:np.average(X,axis=0,weights=w); wv=lambda X:np.average((X-wm(X))**2,axis=0,weights=w)
cmp("w mean",wm(t[q]),wm(fair[q])); cmp("w var",wv(t[q].to_numpy()),wv(fair[q].to_numpy())); print([n for n in r.notes if "preserved" in n])
# l and t
from scipy.stats import wasserstein_distance
r=shoal.protect(fair,k=5,quasi=["age","yrs_married"],confidential=["religious"],l=3,t=.35); t=r.table
g=t.groupby(["age","yrs_married"])["religious"]; 
codes=fair.religious.rank(method="dense").astype(int)-1; m=codes.max()+1; P=np.bincount(codes,minlength=m)/len(fair)
t2=t.assign(cd=codes.values)
def emd(x): Q=np.bincount(x,minlength=m)/len(x); return np.abs(np.cumsum(Q-P))[:-1].sum()/(m-1)
worst=t2.groupby(["age","yrs_married"])["cd"].apply(lambda x:emd(x.to_numpy())).max()
cmp("l",r.verified.distinct["religious"],g.nunique().min()); cmp("t",r.verified.closeness["religious"],worst)
# suppressed: what do notes say of the file?
f2=fair.copy(); f2.loc[f2.age>40,"educ"]=np.nan
r=shoal.protect(f2,k=5,quasi=q,missing="suppress"); t=r.table
print("suppress: mean of age original",f2.age.mean(),"published",t.age.mean(),[n for n in r.notes if "preserved" in n]); 
print("   index kept:",t.index[:3].tolist(), r.risk()["before"]["groups"], len(f2.groupby(q,dropna=False)))
comp=f2.dropna(); cmp("IL among the kept",r.loss()["IL"],il(comp[q].to_numpy(),t[q].to_numpy()))
# rules: does the note on means hold?
f3=fair.assign(lim=fair.age-fair.yrs_married)
for rules in (["lim >= 10"],["age * yrs_married <= 1500"],["age >= yrs_married + 12"],["if educ > 16 then age >= 22"],["lim = age - yrs_married"]):
    try:
        r=shoal.protect(f3,k=5,quasi=["age","yrs_married","lim","educ"],edits=rules,edits_original="keep"); t=r.table
        d=(t[["age","yrs_married","lim","educ"]].mean()-f3[["age","yrs_married","lim","educ"]].mean()).abs().max()
        print(rules,"shift of means",d,[n for n in r.notes if "preserved" in n or "own rec" in n], {n:s for n,s in r.published.promise.slack.items() if s})
    except Exception as e: print(rules,type(e).__name__,str(e)[:200])
# input changed after protect
df=fair.copy(); r=shoal.protect(df,k=5,quasi=q); before=r.table.copy(); df.loc[:, "occupation"]=99.; df["age"]=0
print("release independent of the input frame:",r.table.equals(before))
try: r.published.verify(); print("verify after input was changed: pass")
except Exception as e: print("verify after input changed:",type(e).__name__,e)
