"""Methods that are not partition + aggregate: a matrix in, the masked matrix out."""

from shoal.masking.mic1d import mic1d

__all__ = ["mic1d"]
