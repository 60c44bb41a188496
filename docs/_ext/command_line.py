"""The directive `command-line`: every command with its arguments, options and example, read from the commands."""

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.typing import ExtensionMetadata
from typer.main import get_command

from shoal.cli import app as commands


def described(name: str, command: Any) -> str:
    """Write the section of one command, in Markdown."""
    options = [each for each in command.params if each.param_type_name == "option"]
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    usage = " ".join([f"shoal {name}", *(_argument(each) for each in arguments), "[OPTIONS]"])
    lines = [f"## shoal {name}", "", command.help, "", f"    {usage}", ""]
    if command.epilog:
        example = command.epilog.removeprefix("Example:").strip()
        lines += ["Example:", "", f"    {example}", ""]
    if arguments:
        lines += [*_HEAD, *(_row(f"`{each.name.upper()}`", each) for each in arguments), ""]
    for panel in dict.fromkeys(each.rich_help_panel for each in options):
        title = [f"**{panel}**", ""] if panel else []
        rows = [_row(_spelt(each), each) for each in options if each.rich_help_panel == panel]
        lines += [*title, *_HEAD, *rows, ""]
    return "\n".join(lines)


_HEAD = ("| argument or option | meaning | if left out |", "|---|---|---|")


def _argument(argument: Any) -> str:
    name = argument.name.upper()
    return name if argument.required else f"[{name}]"


def _spelt(option: Any) -> str:
    value = "" if option.is_flag else f" {option.metavar or 'WORD'}"
    return ", ".join(f"`{name}{value}`" for name in option.opts)


def _row(spelt: str, parameter: Any) -> str:
    given = parameter.default
    left_out = "required" if parameter.required else f"`{given}`" if given not in (None, False) else ""
    meaning = f"{parameter.help} May be given several times." if parameter.multiple else parameter.help
    cells = (cell.replace("|", "\\|") for cell in (spelt, meaning, left_out))
    return f"| {' | '.join(cells)} |"


class CommandLine(SphinxDirective):
    """Describe all commands."""

    def run(self) -> list[nodes.Node]:
        """Read them from the application."""
        group = get_command(commands)
        sections = [described(name, command.loaded) for name, command in group.commands.items()]  # type: ignore[attr-defined]
        return self.parse_text_to_nodes("\n\n".join(sections), allow_section_headings=True)


def setup(app: Sphinx) -> ExtensionMetadata:
    """Make the directive known to Sphinx."""
    app.add_directive("command-line", CommandLine)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
