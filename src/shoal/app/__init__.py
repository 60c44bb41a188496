"""The web page: what it does, a plan can do; it builds a plan and nothing else.

The page itself never holds a record. Files lie in a private folder of each session; whatever reads them runs in a
process of its own, which ends with its job and takes its memory along.
"""
