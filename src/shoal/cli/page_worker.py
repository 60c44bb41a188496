"""The worker of the page with the command line in it: `python -m shoal.cli.page_worker`.

It runs commands as they are typed, and returns what they show as HTML together with their result as JSON.
"""

import os

from typer.exceptions import TyperException

from shoal.app.worker import TASKS, Found, main
from shoal.cli import app
from shoal.cli.as_html import as_html
from shoal.cli.misuse import misused
from shoal.cli.output import for_machines, recorded
from shoal.errors import ShoalError
from shoal.parallel import Progress


def command(words: list[str], folder: str, progress: Progress) -> Found:
    """Run a command in a folder.

    Returns
    -------
    dict
        ``html``, what it shows; ``json``, its result as ``--json`` prints it; ``code``, its exit code.

    Raises
    ------
    ShoalError
        The request is wrong.
    """
    os.chdir(folder)
    progress("read", 0, 1)
    with recorded(progress) as record:
        try:
            code = app(words, standalone_mode=False) or 0
        except TyperException as error:
            raise ShoalError(misused(error, words)) from None
    return {"html": as_html(record.shown), "json": for_machines(record.result), "code": code}


TASKS["command"] = command

if __name__ == "__main__":
    main()
