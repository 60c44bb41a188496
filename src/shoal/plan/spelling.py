"""Options of the command line as Python takes them, for the messages that advise one."""

import re
from typing import Any

from shoal.messages import spell_options
from shoal.plan.model import Plan
from shoal.plan.options import options_of, value_of

_FLAGS = {"--overwrite", "--resume"}  # of commands, and no fields of the plan


def in_python(option: str, value: str | None) -> str:
    """Return the keyword of an option, with its value as Python writes it: ``missing='group'``."""
    found = next((each for each in options_of(Plan) if option in each.spellings), None)
    if found is None:  # of another command
        name = option.removeprefix("--no-").lstrip("-").replace("-", "_")
        given = False if option.startswith("--no-") else True if option in _FLAGS else value
        return name if given is None else f"{name}={given!r}"
    if value is None and found.form not in ("rest", "off"):
        return ".".join(found.path)
    given = value_of(found, [value] if found.repeated else value)
    if isinstance(given, dict) or "str" not in str(Plan.model_fields[found.path[0]].annotation):
        given = _numbers(given)
    if isinstance(given, str) and re.fullmatch(r"-?\d+(\.\d+)?", given):
        return f"{'.'.join(found.path)}={given}"
    return f"{found.path[0]}={ ({found.path[1]: given} if found.path[1:] else given)!r}"


def _numbers(given: Any) -> Any:
    """Return a value with numbers for the texts that spell them."""
    match given:
        case dict():
            return {name: _numbers(each) for name, each in given.items()}
        case list():
            return [_numbers(each) for each in given]
        case str() if re.fullmatch(r"-?\d+(\.\d+)?", given):
            return float(given) if "." in given else int(given)
    return given


spell_options("python", in_python)
