"""Signatures that list the fields of a plan as keywords, for `help`, notebooks and `inspect`."""

import inspect
import types
from collections.abc import Callable
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from shoal.plan.model import Plan

_WIDTH = 100  # characters; a longer signature has a line for each parameter


class WrappedSignature(inspect.Signature):
    """A signature that prints one parameter per line when it is long, as `help` does by itself from Python 3.13."""

    def __str__(self) -> str:
        line = super().__str__()
        if len(line) <= _WIDTH:
            return line
        shown: list[str] = []
        starred = False
        for parameter in self.parameters.values():
            if parameter.kind is parameter.KEYWORD_ONLY and not starred:
                shown, starred = [*shown, "*"], True
            shown.append(str(parameter))
        result = "" if self.return_annotation is self.empty else inspect.formatannotation(self.return_annotation)
        lines = "".join(f"    {each},\n" for each in shown)
        return f"(\n{lines}){f' -> {result}' if result else ''}"


def with_plan_fields(function: Callable[..., Any], result: type) -> inspect.Signature:
    """Return the signature of a function with the fields of `Plan` in place of its ``**options``.

    Parameters
    ----------
    function
        A function with ``**options``; fields that it names itself are not repeated.
    result
        What it returns.
    """
    own = [
        each if each.annotation is each.empty else each.replace(annotation=_spelled(each.annotation))
        for each in inspect.signature(function).parameters.values()
        if each.kind is not each.VAR_KEYWORD
    ]
    named = {each.name for each in own}
    fields = [each for each in plan_signature().parameters.values() if each.name not in named]
    return WrappedSignature([*own, *fields], return_annotation=result)


def plan_signature() -> inspect.Signature:
    """Return the fields of `Plan` as keywords with their types and defaults."""
    return WrappedSignature(
        [
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=_spelled(field.annotation)
            )
            for name, field in Plan.model_fields.items()
        ]
    )


def plan_doc() -> str:
    """Return the docstring of `Plan` with a description of every field."""
    fields = "".join(
        f"{name} : {_spelled(field.annotation)}\n    {field.description}\n" for name, field in Plan.model_fields.items()
    )
    return f"{Plan.__doc__}\n\nParameters\n----------\n{fields}"


class _Spelled(str):
    """The spelling of a type, which signatures print without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _spelled(annotation: Any) -> _Spelled:
    """Return a type as it is written today, without what validates it."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _spelled(inner[0])
    if origin in (Union, types.UnionType):
        return _Spelled(" | ".join(_spelled(each) for each in inner))
    if origin is Literal:
        return _Spelled(f"Literal[{', '.join(map(repr, inner))}]")
    if origin in (list, dict):
        parts = ("str" if get_origin(each) is Literal else _spelled(each) for each in inner)
        return _Spelled(f"{origin.__name__}[{', '.join(parts)}]")
    return _Spelled("None" if annotation is type(None) else annotation.__name__)
