"""Edits: rules that the data obeys and must go on obeying after masking. Read, classify, plan around, verify."""
