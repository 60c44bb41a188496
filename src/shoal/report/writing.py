"""A report as a file: complete, or not there."""

import os
from pathlib import Path

from shoal.errors import FileError
from shoal.tables.atomic import refuse_unwritable, written_whole


def write_report(text: str, path: str | os.PathLike[str], overwrite: bool = False) -> None:
    """Write the text of a report; a file under its name is complete or does not exist.

    Parameters
    ----------
    text : str
        What `shoal.report.release_report` or `shoal.report.sweep_report` returned.
    path : path
        The file; its name ends in .html.
    overwrite : bool
        Whether a file that exists already is replaced.
    """
    path = Path(path)
    refuse_report(path, overwrite)
    with written_whole(path, overwrite) as partial:
        partial.write_text(text, encoding="utf-8")


def refuse_report(path: Path, overwrite: bool) -> None:
    """Say what stands in the way of writing a report to `path`, before any work is done."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise FileError(f"'{path}' cannot hold a report, which is a web page; let its name end in .html")
    refuse_unwritable(path, overwrite)
