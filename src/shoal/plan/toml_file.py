"""TOML files of people: a plan, a policy. What cannot be read is said in a sentence."""

import tomllib
from pathlib import Path
from typing import Any

from shoal.errors import FileError

_LARGEST = 10_000_000  # characters, levels of attributes included


def read_toml(path: Path, what: str) -> dict[str, Any]:
    """Read a TOML file, such as a "plan file"."""
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(_LARGEST + 1)
        if len(text) > _LARGEST:
            raise FileError(f"'{path}' is not a {what}: it has more than {_LARGEST:,} characters.")
        return tomllib.loads(text)
    except FileNotFoundError:
        raise FileError(f"There is no {what} '{path}'.") from None
    except FileError:
        raise
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"The {what} '{path}' cannot be read: {type(error).__name__}.") from None
    except RecursionError:
        raise FileError(f"'{path}' is not a {what}: its lists are nested too deeply.") from None
    except tomllib.TOMLDecodeError as error:
        raise FileError(f"The {what} '{path}' is not valid TOML: {error}.") from None
    except ValueError:  # Python refuses to read it
        raise FileError(f"The {what} '{path}' has a number of more than 4,300 digits. Shorten it.") from None
