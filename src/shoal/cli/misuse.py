"""Words that the command line does not know: what is wrong with them, and what was probably meant."""

import difflib
from collections.abc import Sequence
from typing import Any

from typer.exceptions import TyperException

from shoal.messages import Message


def misused(error: TyperException, arguments: Sequence[str]) -> Message:
    """Return what is wrong with the arguments, what was probably meant, and where help is.

    Parameters
    ----------
    error
        Raised by the parser.
    arguments
        As they were typed, after the name of the program.
    """
    context: Any = getattr(error, "ctx", None)
    command = getattr(context, "command", None)
    name = getattr(command, "name", None)
    help_at = f"shoal {name} --help" if name and name in arguments else "shoal --help"
    if hasattr(error, "option_name") and command is not None:
        option, near = _unknown_option(arguments, command)
        if option:
            return Message("no-such-command-option", option=option, near=near, help=help_at)
    return Message("wrong-usage", problem=error.format_message().rstrip("."), help=help_at)


def _unknown_option(arguments: Sequence[str], command: Any) -> tuple[str, str | None]:
    """Return the first option that the command does not have and one like it; nothing if it has all of them."""
    known = [spelling for each in command.params for spelling in (*each.opts, *each.secondary_opts)]
    known = [each for each in (*known, "--help", "-h") if each.startswith("-")]
    typed = [word.partition("=")[0] for word in arguments]
    options = [word for word in typed if len(word) > 2 and word.startswith("-") and not word[1].isdigit()]
    wrong = next((word for word in options if word not in known and word[:2] not in known), "")
    if not wrong:
        return "", None
    close = difflib.get_close_matches(f"--{wrong.lstrip('-')}", known, n=1)
    return wrong, next(iter(close), None)
