"""Evidence about releases, whoever made them: assess, check, sweep, recheck a manifest, compare two releases."""
