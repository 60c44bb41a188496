"""The commands that the page has pages for, described from their own options: a new option appears by itself."""

from typing import Any

from shoal.app.commands import Asked, CommandPage, Kind
from shoal.cli.commands import SUMMARIES, LateCommand
from shoal.plan import Plan

_HIDDEN = ("as_json", "help")  # the page always has the result as JSON
_TITLES = {
    "data": "Original file",
    "original": "Original file",
    "masked": "Masked file",
    "keys": "Key variables (quasi-identifiers)",
    "k": "k, the minimum group size",
    "against": "Earlier release",
    "key": "Column that identifies records",
    "policy": "Policy: the limits of your office",
    "manifest": "Manifest of the release",
    "quasi": "Quasi-identifiers (key variables)",
    "confidential": "Sensitive attributes",
    "weights": "Survey weight",
    "no_suda": "Without SUDA2 and DIS",
    "records": "List the riskiest records",
    "by_level": "Show what levels contribute",
    "edits": "File of rules",
    "edit": "Rules",
    "published": "File of published figures",
    "population": "File of the population",
    "control": "File of other people",
}


def command_pages() -> tuple[CommandPage, ...]:
    """Describe the pages, in the order of the page's menu."""
    return (
        CommandPage(
            "risk",
            "risk",
            "Risk before masking",
            "How rare is each combination of key variables, in the file and in the population? Use it before you "
            "protect a file, to see which attributes make people stand out.",
            "Measure the risk",
            _asked("risk"),
            ("keys", "weights", "household"),
            (("keys", "quasi"), ("weights", "weights"), ("household", "household")),
            ("keys",),
        ),
        CommandPage(
            "assess",
            "assess",
            "Assess a masked file",
            "What did masking cost, and what could an intruder still learn? Compare the original with a masked file "
            "made by any program. With a policy, there is a verdict.",
            "Assess",
            _asked("assess"),
            ("quasi", "confidential", "policy"),
            (("quasi", "quasi"), ("confidential", "confidential"), ("weights", "weights")),
        ),
        CommandPage(
            "check",
            "check",
            "Check a masked file",
            "Does every combination of quasi-identifiers occur at least k times, and do all rules hold? With its "
            "manifest, a release is verified again.",
            "Check",
            _asked("check"),
            ("k", "quasi", "confidential", "manifest"),
            (("quasi", "quasi"), ("confidential", "confidential")),
        ),
        CommandPage(
            "compare",
            "check",
            "Compare with an earlier release",
            "Two releases of the same data may reveal people together, although each is safe by itself. Records must "
            "share their group with k others in both.",
            "Compare",
            _asked("check", first=("against",)),
            ("k", "quasi", "key"),
            (("quasi", "quasi"),),
        ),
    )


def _asked(command: str, first: tuple[str, ...] = ()) -> tuple[Asked, ...]:
    """Return what a command asks for; the options named `first` are required on the page."""
    parameters = LateCommand(command, SUMMARIES[command]).loaded.params
    asked = [_described(each, first) for each in parameters if each.name not in _HIDDEN]
    return tuple(sorted(asked, key=lambda each: not (each.required and each.kind in ("file", "files"))))


def _described(parameter: Any, first: tuple[str, ...]) -> Asked:
    """Describe a parameter as Typer has made it."""
    option = parameter.opts[-1].startswith("-")
    name = parameter.name
    field = Plan.model_fields.get(name)
    title = _TITLES.get(name) or (field.title if field is not None else None) or name.replace("_", " ").capitalize()
    return Asked(
        name,
        parameter.opts[-1] if option else "",
        title,
        parameter.help or "",
        parameter.rich_help_panel or "",
        _kind(parameter) if option else "file",
        bool(parameter.required) or name in first,
    )


def _kind(option: Any) -> Kind:
    """Infer from the help of an option what it takes."""
    if option.is_flag:
        return "switch"
    if option.metavar == "FILE":
        return "files" if option.multiple else "file"
    if option.metavar == "A":
        return "column"
    if option.metavar == "A,B,..." and "once for each" not in option.help.lower():
        return "columns"
    return "lines" if option.multiple else "text"
