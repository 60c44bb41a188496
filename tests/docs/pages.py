"""The pages of the documentation as the tests read them: their code blocks, and what is to be done with each."""

import re
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([ROOT / "README.md", *(path for path in DOCS.rglob("*.md") if "_build" not in path.parts)])

# A comment before a block says what it is: <!-- not run: why -->, <!-- file: its name --> or <!-- exit code 1 -->.
# The code is that of the last command; one that prints "Failed:" or "Error:" first needs no comment.
_COMMENT = re.compile(r"<!-- (not run: |file: |exit code )(.+) -->")


@dataclass
class Block:
    """A fenced block, or the commands of an indented one."""

    language: str
    line: int
    lines: list[str] = field(default_factory=list)
    not_run: str | None = None
    file: str | None = None
    exit_code: str | None = None

    @property
    def text(self) -> str:
        return "\n".join(self.lines) + "\n"

    def commands(self) -> list[tuple[str, list[str]]]:
        """Each command with the lines that it prints, as the page has them."""
        found: list[tuple[str, list[str]]] = []
        lines = iter(self.lines)
        for line in lines:
            if self.language == "console" and not line.startswith("$ "):
                found[-1][1].append(line)
                continue
            command = line.removeprefix("$ ")
            while command.endswith("\\"):
                command = command[:-1] + next(lines).strip()
            if command.strip() and not command.startswith("#"):
                found.append((command, []))
        return found


def blocks(path: Path) -> list[Block]:
    """Find the blocks of a page, in their order."""
    found: list[Block] = []
    said: dict[str, str] = {}
    inside: Block | None = None
    listed: Block | None = None  # commands one below the other, indented
    text = path.read_text(encoding="utf-8").replace("60s", "1s")  # nobody learns more from a minute than from a second
    for number, line in enumerate(text.splitlines(), start=1):
        fence = re.fullmatch(r"```+\s*(\{?[\w-]*\}?.*)", line)
        if inside is not None:
            if fence and not fence[1]:
                found.append(inside)
                inside = None
            else:
                inside.lines.append(line)
        elif fence:
            inside = Block(fence[1], number, not_run=said.get("not run"), file=said.get("file"))
            inside.exit_code = said.get("exit code")
            said = {}
        elif comment := _COMMENT.fullmatch(line):
            said[comment[1].strip(": ")] = comment[2]
        elif line.startswith("    shoal ") and listed is not None:
            listed.lines.append(line.strip())
        elif line.startswith("    shoal "):
            listed = Block("sh", number, [line.strip()])
            found.append(listed)
        else:
            listed = None
    return found


_NUMBER = r"(\d[\d,]*(?:\.\d+)?)"


def shows(printed: str, wanted: str, by_search: bool = False) -> int:
    """Return where a text ends in an output, or 0. Figures of a search and of ties follow a machine's last digits."""
    if wanted in printed or not by_search:
        return printed.find(wanted) + len(wanted) if wanted in printed else 0
    pieces = re.split(_NUMBER, wanted)
    pattern = "".join(_NUMBER if at % 2 else re.escape(piece) for at, piece in enumerate(pieces))
    ends = (found.end() for found in re.finditer(pattern, printed) if all(map(_is_near, found.groups(), pieces[1::2])))
    return next(ends, 0)


def _is_near(one: str, other: str) -> bool:
    x, y = (float(text.replace(",", "")) for text in (one, other))
    return x == y if y < 10 and "." not in other else abs(x - y) <= 0.1 * y + 1
