"""Methods that are not partition + aggregate: a matrix in, the masked matrix out."""

from shoal.masking.insensitive import private_means
from shoal.masking.ipso import least_k
from shoal.masking.mic1d import mic1d
from shoal.masking.microhybrid import microhybrid, redraw
from shoal.masking.muralidhar_sarathy import admissible_near

__all__ = [
    "admissible_near",
    "least_k",
    "mic1d",
    "microhybrid",
    "private_means",
    "redraw",
]
