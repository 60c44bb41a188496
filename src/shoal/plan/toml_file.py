"""TOML files of people: a plan, a policy."""

import tomllib
from pathlib import Path
from typing import Any

from shoal.errors import FileError

_LARGEST = 10_000_000  # characters, levels of attributes included


def read_toml(path: Path, kind: str) -> dict[str, Any]:
    """Read a TOML file, such as a "plan file"."""
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(_LARGEST + 1)
        if len(text) > _LARGEST:
            raise FileError("file-too-large", path=path, what=kind, most=_LARGEST, unit="character")
        return tomllib.loads(text)
    except FileNotFoundError:
        raise FileError("no-file", path=path, what=kind) from None
    except FileError:
        raise
    except (OSError, UnicodeDecodeError) as error:
        raise FileError("file-not-readable", path=path, what=kind, reason=type(error).__name__) from None
    except RecursionError:
        raise FileError("toml-nested", path=path, what=kind) from None
    except tomllib.TOMLDecodeError as error:
        raise FileError("toml-syntax", path=path, what=kind, problem=str(error)) from None
    except ValueError:  # Python refuses to read it
        raise FileError("toml-number-too-long", path=path, what=kind) from None
