"""The worker of the page with the command line in it: `python -m shoal.cli.page_worker`.

It runs commands as they are typed, and returns what they show as HTML together with their result as JSON.
"""

import os

from typer.exceptions import TyperException

from shoal.app.worker import TASKS, Found, main
from shoal.cli import app
from shoal.cli.as_html import as_html
from shoal.cli.options import spelled
from shoal.cli.output import complain, for_machines, recorded
from shoal.errors import CheckFailed, PlanError, ShoalError, in_a_line
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
        The request is wrong; fields are named as options.
    """
    os.chdir(folder)
    progress("read", 0, 1)
    with recorded(progress) as record:
        try:
            code = app(words, standalone_mode=False) or 0
        except CheckFailed as failed:
            code = 1
            for each in failed.failures:
                complain("Failed", each)
        except PlanError as error:
            raise ShoalError(
                *(in_a_line(field, what, spelled(field, words)) for field, what in error.problems)
            ) from None
        except TyperException as error:
            raise ShoalError(error.format_message()) from None
    return {"html": as_html(record.shown), "json": for_machines(record.result), "code": code}


TASKS["command"] = command

if __name__ == "__main__":
    main()
