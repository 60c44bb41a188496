"""`python -m shoal` is the same as `shoal`."""

from shoal.cli import run

run()
