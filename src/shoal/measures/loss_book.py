"""The whole book of loss: every measure of what a masked file costs, for those who want to compare."""

import math
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.standardize import Matrix
from shoal.measures.certainty_penalty import gcp
from shoal.measures.loss import loss, own_range_sse
from shoal.measures.pil import pil
from shoal.measures.pmse import pmse
from shoal.measures.subdomains import subdomain_loss
from shoal.measures.variations import eigenvalue_loss, il1s, variations


def loss_book(
    original: Matrix, masked: Matrix, names: list[str], classes: NDArray[np.integer] | None = None
) -> dict[str, Any]:
    """Measure a masked matrix by every measure of loss there is here; seconds for a million records.

    Returns what `loss` returns, and ``own_range_SSE`` (`own_range_sse`), ``IL_variations`` (`variations`), ``PIL``
    (`pil`), ``IL1s`` (`il1s`), ``eigenvalue`` (`eigenvalue_loss`), ``pMSE`` (`pmse`), ``subdomains`` (`subdomain_loss`)
    and, if classes are given, ``GCP`` (`gcp`). All are 0 for an unchanged file (``GCP`` if no two different records are
    published alike; not what pMSE is compared with), and more is worse. None is what has no meaning, never NaN.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        book = _book(original, masked, names)
    if classes is not None:
        book["GCP"] = gcp(original, classes)
    bounded: dict[str, Any] = in_bounds(book)
    return bounded


def in_bounds(value: Any) -> Any:
    """Replace an overflow by the largest double, so that every measure is a number."""
    if isinstance(value, dict):
        return {key: in_bounds(item) for key, item in value.items()}
    if isinstance(value, list):
        return [in_bounds(item) for item in value]
    return sys.float_info.max if isinstance(value, float) and not math.isfinite(value) else value


def _book(original: Matrix, masked: Matrix, names: list[str]) -> dict[str, Any]:
    return {
        **loss(original, masked, names),
        "own_range_SSE": own_range_sse(original, masked),
        "IL_variations": variations(original, masked),
        "PIL": pil(original, masked),
        "IL1s": il1s(original, masked),
        "eigenvalue": eigenvalue_loss(original, masked),
        "pMSE": pmse(original, masked),
        "subdomains": subdomain_loss(original, masked),
    }
