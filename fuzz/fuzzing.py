"""One target under atheris, in a process of its own: `python -m fuzz.fuzzing csv CORPUS -max_total_time=60`.

What follows the name is for libFuzzer.
"""

import sys

import atheris

with atheris.instrument_imports(include=["shoal"]):
    import shoal.edits.load
    import shoal.evidence.edits
    import shoal.release
    import shoal.tables.excel.reading
    import shoal.tables.xml  # noqa: F401
    from fuzz.targets import TARGETS


def main() -> None:
    """Fuzz until libFuzzer has enough or something is found."""
    name = sys.argv.pop(1)
    atheris.Setup(sys.argv, TARGETS[name].run)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
