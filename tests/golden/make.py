"""Makes the golden files anew: ``python -m tests.golden.make``. A file that changes is a release that changed."""

from pathlib import Path

from tests.golden.cases import CASES, answer


def golden_file(name: str) -> Path:
    """Name the file of a case."""
    return Path(__file__).with_name(f"{name}.csv")


if __name__ == "__main__":
    for name in CASES:
        golden_file(name).write_text(answer(name))
