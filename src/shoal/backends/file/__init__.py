"""Files larger than memory on this machine."""
