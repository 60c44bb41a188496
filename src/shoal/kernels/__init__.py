"""Loops over arrays, compiled; nothing here knows a column's name."""
