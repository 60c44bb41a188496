"""The commands by name. A command is loaded when it is run, so that the list of commands is shown at once."""

from functools import cached_property
from importlib import import_module
from typing import Any, NamedTuple

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption
from typer.main import get_command

OTHER = "Other"  # the panel of options that belong to no group of fields


class Summary(NamedTuple):
    """What is known of a command before it is loaded."""

    home: str  # the module of `shoal.cli` and the function in it
    help: str
    example: str
    takes_plan: bool = True


SUMMARIES = {
    "protect": Summary(
        "protect:protect_command",
        "Protect a file: mask it, verify the result, write it, and show its loss and risk.\n\n"
        "Most files need only -k, --quasi, --confidential, --identifiers and -o.",
        "data.csv -k 5 --quasi age,income --confidential illness --identifiers name -o masked.csv",
    ),
    "roles": Summary(
        "roles:roles_command",
        "Propose a role, a type and missing-value codes for every column, with reasons.\n\n"
        "No value of the data is shown but for missing-value codes, such as -99.",
        "data.csv -o plan.toml",
    ),
    "risk": Summary(
        "risk:risk_command",
        "Measure the risk of a file before masking: how rare combinations of key variables are in the sample and, by "
        "its weights, in the population.\n\n"
        "Individual and household risk, SUDA2 and DIS, k-map; no value is shown. After masking use assess.",
        "data.csv --keys age,sex,region --weights w --household hid",
    ),
    "sweep": Summary(
        "sweep:sweep_command",
        "Show loss and measured risk for every k, and name the k that meets limits (exit 1 if none does).\n\n"
        "With -o, every k is protected too: each file is verified, and its plan and manifest are written beside it.",
        "data.csv -k 3-10 --quasi age,income",
    ),
    "edits": Summary(
        "edits:edits_command",
        "Show the rules of a file: their class and attributes, the records that break them, how masking keeps them.",
        "data.csv rules.sch --quasi age,income",
    ),
    "check": Summary(
        "check:check_command",
        "Check that every combination of quasi-identifiers occurs at least k times and that rules hold; otherwise "
        "exit 1.\n\n"
        "With a manifest, verify a release again; with earlier releases, check what all reveal together. Other columns "
        "that single out records are a warning: name sensitive ones with --confidential.",
        "masked.csv -k 5 --quasi age,income --edits rules.sch",
    ),
    "assess": Summary(
        "check:assess_command",
        "Measure the information loss and the disclosure risk of a masked file.",
        "data.csv masked.csv --quasi age,income --confidential illness",
    ),
    "app": Summary(
        "page:app_command",
        "Serve a page to protect files in a browser, on this machine, for anyone with the token that is shown.",
        "data.csv",
        takes_plan=False,
    ),
    "demo": Summary(
        "demo:demo_command",
        "Protect a real survey: 6,366 women on their marriages and affairs (Redbook, 1974).",
        "--folder try-shoal",
        takes_plan=False,
    ),
}


class PlainCommand(TyperCommand):
    """A command whose help option takes no value."""

    def get_help_option(self, ctx: Any) -> TyperOption | None:
        """Return the help option."""
        return _without_value(super().get_help_option(ctx))


class PlanCommand(PlainCommand):
    """A command with options in panels by group, and its help option in the last one."""

    def get_help_option(self, ctx: Any) -> TyperOption | None:
        """Return the help option, which Typer would put into a panel before all others."""
        found = super().get_help_option(ctx)
        if found is not None:
            found.rich_help_panel = OTHER
        return found


class LateCommand(TyperCommand):
    """A command that is in the list of commands, and loaded when anything but its summary is asked for."""

    def __init__(self, name: str, summary: Summary) -> None:
        super().__init__(name, help=summary.help, epilog=f"Example:  shoal {name} {summary.example}")
        self._summary = summary

    @cached_property
    def loaded(self) -> Any:
        """The command itself."""
        module, function = self._summary.home.split(":")
        alone = typer.Typer(add_completion=False, rich_markup_mode="rich", pretty_exceptions_enable=False)
        kind = PlanCommand if self._summary.takes_plan else PlainCommand
        register = alone.command(name=self.name, cls=kind, help=self.help, epilog=self.epilog)
        register(getattr(import_module(f"shoal.cli.{module}"), function))
        command = get_command(alone)
        for each in command.params:
            if isinstance(each, TyperArgument):
                each.metavar = str(each.name).upper()
                each.display_type_rich = lambda ctx: None  # type: ignore[method-assign] # "<str>" tells nobody anything
        return command

    def make_context(self, *args: Any, **extra: Any) -> Any:
        """Parse arguments, for the command itself to run with."""
        return self.loaded.make_context(*args, **extra)


class Commands(TyperGroup):
    """All commands; the help option takes no value."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{**settings, "commands": {name: LateCommand(name, SUMMARIES[name]) for name in SUMMARIES}})

    def get_help_option(self, ctx: Any) -> TyperOption | None:
        """Return the help option."""
        return _without_value(super().get_help_option(ctx))


def _without_value(option: TyperOption | None) -> TyperOption | None:
    if option is not None:
        option.metavar = ""
    return option
