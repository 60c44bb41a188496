"""A tour through all records, shortened by 2-opt and Or-opt moves and by kicks.

The tour is an array of records, with the position of each beside it. All changes are made by turning stretches of the
array round: of the two sides of the cycle, the shorter. Candidates for a new edge are near neighbours only, and a
record is looked at again only after an edge at it has changed (J. L. Bentley, "Fast algorithms for geometric traveling
salesman problems", ORSA Journal on Computing 4, 1992).
"""

from shoal.kernels import _native
from shoal.kernels.types import Floats, Integers


def shortened(X: Floats, near: Integers, order: Integers, reach: int, kicks: int, watch: Integers) -> Integers:
    """Shorten a tour until no 2-opt or Or-opt move that joins near neighbours does; then by so many kicks.

    Records are looked at in the order of the tour; those whose edges have changed go to the end of the queue. A kick
    exchanges two short stretches anywhere, drawn by a generator with a fixed seed; if the moves that follow do not make
    the tour shorter than it was, all is undone.
    """
    order = order.copy()
    _native.shortened(X, near, reach, kicks, watch, order)
    return order
