"""The open benchmark: the lowest losses known on the reference sets, and their scorer, which needs nothing else."""

from bench.records.score import key, listed, main, squared_error, z_scores

__all__ = ["key", "listed", "main", "squared_error", "z_scores"]
