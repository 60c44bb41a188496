"""Records in a matrix, or in several, as blocks are made from."""

from functools import reduce
from operator import add


def in_memory(X):
    """Gather from a matrix."""
    return lambda look: look(X)


def in_chunks(chunks):
    """Gather from matrices of some records each; `chunks` is called once a pass."""
    return lambda look: reduce(add, map(look, chunks()))
