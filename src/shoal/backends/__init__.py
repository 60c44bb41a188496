"""Where the records are: in memory, in files larger than memory, on a cluster."""
