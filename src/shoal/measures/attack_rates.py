"""Success rates of attacks, and what they gain beyond guessing and beyond people who are not in the file."""

import math
from typing import Any

from shoal.measures.intervals import wilson

Rate = dict[str, Any]


def rate(successes: float, attacks: int, variance: float = 0.0) -> Rate:
    """Return the ``percent`` of ``attacks`` that succeed, with its 95 % ``interval`` (`wilson`).

    `variance` is that of the successes beyond the draw of attacks, where the same people are met by several: the
    interval is that of as many independent attacks as have the variance of both together.
    """
    percent = 100 * successes / attacks if attacks else 0.0
    centre = (successes + 1) / (attacks + 2)  # above 0, also where no attack succeeds
    drawn = attacks * centre * (1 - centre)
    share = drawn / (drawn + variance) if drawn else 1.0
    return {"percent": percent, "interval": list(wilson(successes * share, attacks * share)), "attacks": attacks}


def excess(main: Rate, other: Rate) -> dict[str, Any]:
    """Share of what the other attack leaves undone that the main one does, in percent: (main - other) / (1 - other).

    None if the other attack always succeeds. The interval propagates half the widths of both intervals, and both it and
    the share are cut off at 0 and 100.

    References
    ----------
    Giomi, Boenisch, Wehmeyer & Tasnádi (2022), A unified framework for quantifying privacy risk in synthetic data,
    Proceedings on Privacy Enhancing Technologies 2023 (2), 312-328.
    """
    a, c = main["percent"] / 100, other["percent"] / 100
    if c >= 1:
        return {"percent": None, "interval": None}
    half_a, half_c = ((each["interval"][1] - each["interval"][0]) / 200 for each in (main, other))
    share = (a - c) / (1 - c)
    error = math.hypot(half_a / (1 - c), (1 - a) * half_c / (1 - c) ** 2)
    low, value, high = (100 * min(1.0, max(0.0, each)) for each in (share - error, share, share + error))
    return {"percent": value, "interval": [low, high]}


def measured(main: Rate, baseline: Rate, control: Rate | None, main_like_control: Rate | None = None) -> dict[str, Any]:
    """Return the rates of an attack with its ``gain`` beyond the baseline and its ``risk`` beyond the control.

    `main_like_control` is the main attack in the setting of the control, where that differs.
    """
    found = {"main": main, "baseline": baseline, "gain": excess(main, baseline), "control": control, "risk": None}
    if control is not None:
        like = main if main_like_control is None else main_like_control
        found |= {"risk": excess(like, control)}
        if main_like_control is not None:
            found["main_like_control"] = main_like_control
    return found
