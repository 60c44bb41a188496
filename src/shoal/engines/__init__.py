"""Engines: the same plan on files larger than memory, and on a cluster."""
