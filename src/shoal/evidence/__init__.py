"""Evidence about releases, made by any program: assess, check, sweep, recheck a manifest, compare two releases."""
