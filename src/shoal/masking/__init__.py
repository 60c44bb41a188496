"""Methods that are not partition + aggregate: a matrix in, the masked matrix out."""

from shoal.masking.insensitive import private_means
from shoal.masking.mic1d import mic1d
from shoal.masking.ms import admissible_near, muralidhar_sarathy

__all__ = ["admissible_near", "mic1d", "muralidhar_sarathy", "private_means"]
