"""Loss and risk: pure functions of arrays."""

from shoal.measures.loss import loss
from shoal.measures.risk import exposure

__all__ = ["exposure", "loss"]
