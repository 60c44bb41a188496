"""The keeper's secret: all releases of the same data draw from it, so that a second release is no second sample."""

import hashlib
import os
import secrets
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shoal.errors import FileError
from shoal.kernels.standardize import Matrix

_BYTES = 32
_VARIABLE = "SHOAL_SECRET"  # names the file


def keepers_secret() -> tuple[bytes, bool]:
    """Return the secret of the keeper of the data, and whether it was created just now.

    It is in the file that the environment variable ``SHOAL_SECRET`` names, or else in ``shoal/secret`` in the folder of
    settings; made on first use, for its owner alone.
    """
    path = _path()
    if path.is_dir():
        raise FileError("secret-unusable", folder=True)
    try:
        created = not path.exists() and _created(path)
        if os.name == "posix" and path.stat().st_mode & 0o077:
            raise FileError("secret-readable-by-others")
        text = path.read_text(encoding="ascii").strip()
        secret = bytes.fromhex(text)
    except (OSError, RuntimeError) as error:
        if isinstance(error, FileError):
            raise
        raise FileError("secret-unusable") from None
    except ValueError:
        raise FileError("secret-unusable", wrong=True) from None
    if len(secret) != _BYTES:
        raise FileError("secret-unusable", wrong=True)
    return secret, created


def _path() -> Path:
    """Path of the file that keeps the secret."""
    if named := os.environ.get(_VARIABLE):
        if Path(named).name == named:  # perhaps the secret itself, which must not become the name of a file
            raise FileError("secret-not-path")
        return Path(named)
    settings = os.environ.get("XDG_CONFIG_HOME")
    try:
        return (Path(settings) if settings else Path.home() / ".config") / "shoal" / "secret"
    except RuntimeError:
        raise FileError("no-home-for-secret") from None


def _created(path: Path) -> bool:
    """Write a new secret, whole or not at all; False if another run was faster."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(f"{secrets.token_hex(_BYTES)}\n")
            file.flush()
            os.fsync(file.fileno())
        os.link(draft, path)
    except FileExistsError:
        return False
    finally:
        draft.unlink(missing_ok=True)
    return True


def derived(secret: bytes, *parts: bytes) -> bytes:
    """Return another secret, which depends on all parts and tells nothing of the first."""
    digest = hashlib.sha3_256(secret)
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.digest()


def record_bits(secret: bytes, records: Matrix, count: int) -> NDArray[np.uint64]:
    """Draw 64-bit numbers for each record, from the secret and the record's values alone.

    Equal records, which stand together, get numbers of their own: by their place among each other.
    """
    values = np.where(np.isnan(records), np.nan, records + 0.0)  # one zero, and one missing value
    starts = (values[1:] != values[:-1]) & ~(np.isnan(values[1:]) & np.isnan(values[:-1]))
    place = np.arange(len(values))
    first = np.where(np.append(True, starts.any(axis=1))[: len(values)], place, 0)
    table = np.column_stack([values, place - np.maximum.accumulate(first)]).astype("<f8")
    data, width = table.tobytes(), 8 * table.shape[1]
    drawn = [hashlib.shake_256(secret + data[at : at + width]).digest(8 * count) for at in range(0, len(data), width)]
    return np.frombuffer(b"".join(drawn), dtype="<u8").reshape(len(values), count).astype(np.uint64)


def group_bits(secret: bytes, members: Matrix, count: int) -> NDArray[np.uint64]:
    """Draw 64-bit numbers for the members of a group, from the secret and the values of all of them.

    Another member, or another attribute, gives other numbers to all.
    """
    values = np.where(np.isnan(members), np.nan, members + 0.0).astype("<f8")  # one zero, and one missing value
    shape = np.array(values.shape, "<i8").tobytes()
    drawn = hashlib.shake_256(derived(secret, shape, values.tobytes())).digest(8 * count * len(values))
    return np.frombuffer(drawn, dtype="<u8").reshape(len(values), count).astype(np.uint64)


def uniform(bits: NDArray[np.uint64]) -> Matrix:
    """Turn 64-bit numbers into numbers between 0 and 1, neither of which occurs."""
    return np.asarray((bits >> np.uint64(12)).astype(np.float64) * 2.0**-52 + 2.0**-53)


def normal(bits: NDArray[np.uint64]) -> Matrix:
    """Turn 64-bit numbers into standard normal ones."""
    from scipy.special import ndtri  # slow to load, and rarely needed

    return np.asarray(ndtri(uniform(bits)))
