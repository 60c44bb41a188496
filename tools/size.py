"""The size of the repository: lines by room, options, words, and test functions that assert sentences.

Run ``python tools/size.py`` for the table. ``--measure`` adds a profile and the bytes read, ``--items`` the test items.
``--check`` compares the figures with the ceilings in pyproject.toml. ``--lower`` reduces ceilings and never raises one.
"""

import argparse
import ast
import io
import re
import subprocess
import sys
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
HEADER = "[tool.shoal.size]"
OPTIONS = ("p_percent|dominance", "keep_totals", "household", "epsilon", "unit_as")  # compared over time
LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
WORDS = 4  # of a sentence
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Size(NamedTuple):
    """Number of files, lines and lines of code."""

    files: int
    lines: int
    code: int


def tracked(root: Path, *patterns: str) -> list[Path]:
    """Return the files below `root` that git tracks, by pathspec."""
    listed = subprocess.run(["git", "ls-files", "-z", "--", *patterns], cwd=root, capture_output=True, check=True)
    return [root / name for name in listed.stdout.decode().split("\0") if name and (root / name).is_file()]


def python_code(text: str) -> int:
    """Count the lines of Python without blank lines, comments, docstrings and imports."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in LAYOUT:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Import() | ast.ImportFrom() | ast.Expr(value=ast.Constant(value=str())):
                lines.difference_update(range(node.lineno, (node.end_lineno or 0) + 1))
    return sum(bool(line.strip()) for number, line in enumerate(text.splitlines(), 1) if number in lines)


def cpp_code(text: str) -> int:
    """Count the lines of C++ without blank lines, comments and includes."""
    plain = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)
    return sum(bool(line.strip()) and not line.startswith("#include") for line in plain.splitlines())


def size(files: Iterable[Path]) -> Size:
    """Return the size of Python or C++ files together."""
    texts = [(path.suffix, path.read_text(encoding="utf-8")) for path in files]
    code = sum(python_code(text) if suffix == ".py" else cpp_code(text) for suffix, text in texts)
    return Size(len(texts), sum(len(text.splitlines()) for _, text in texts), code)


def rooms(root: Path) -> dict[str, Size]:
    """Return the size of every room.

    A room is a folder directly below ``src/shoal`` or ``tests``. Modules outside such a folder form the room ``shoal``
    or ``tests/(top)``. ``bench``, ``fuzz``, ``tools`` and all of C++ are one room each.
    """
    found: dict[str, list[Path]] = {}
    for path in tracked(root, "src/*.py", "tests/*.py", "bench/*.py", "fuzz/*.py", "tools/*.py"):
        top, *below = path.relative_to(root).parts
        if top == "src":
            room = f"src/{below[1]}" if len(below) > 2 else "src/shoal"
        elif top == "tests":
            room = f"tests/{below[0]}" if len(below) > 1 else "tests/(top)"
        else:
            room = top
        found.setdefault(room, []).append(path)
    found["C++"] = tracked(root, "src/*.cpp", "src/*.hpp")
    return {room: size(files) for room, files in found.items()}


def total(sizes: dict[str, Size], start: str) -> Size:
    """Add up the rooms that begin with `start`."""
    chosen = [each for room, each in sizes.items() if room.startswith(start)]
    return Size(*(sum(column) for column in zip(*chosen, strict=True))) if chosen else Size(0, 0, 0)


def mentions(root: Path, names: Iterable[str]) -> Counter[str]:
    """Count the files in src that mention each name, as an identifier or as a whole string. ``a|b`` is either name."""
    counts: Counter[str] = Counter()
    for path in tracked(root, "src/*.py"):
        used: set[object] = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            used.update(getattr(node, part, None) for part in ("id", "attr", "arg", "name"))
            used.update([node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) else [])
        counts.update(name for name in names if not used.isdisjoint(name.split("|")))
    return counts


def options() -> dict[str, int]:
    """Count the options of every command, without ``--help`` and arguments."""
    from typer.main import get_command

    from shoal.cli import app

    found: dict[str, int] = {}
    group: Any = get_command(app)
    with group.make_context("shoal", [], resilient_parsing=True) as top:
        for name, command in group.commands.items():  # a context loads the command
            with command.make_context(name, [], parent=top, resilient_parsing=True) as context:
                found[name] = sum(each.param_type_name == "option" for each in context.command.params)
    return found


def words(root: Path) -> dict[str, int]:
    """Count the words of every page of the documentation, separated by white space."""
    return {
        str(path.relative_to(root)): len(path.read_text(encoding="utf-8").split())
        for path in tracked(root, "docs/*.md")
    }


def test_functions(tree: ast.AST) -> Iterator[Function]:
    """Yield the functions whose name begins with ``test``."""
    yield from (node for node in ast.walk(tree) if isinstance(node, Function) and node.name.startswith("test"))


def asserted_sentences(function: Function) -> list[str]:
    """Return the sentences that a test function asserts.

    A sentence is a string literal with at least four words. A word contains a letter, and blanks separate words.
    The literal is part of an ``assert``, of a ``match=`` argument, or of a decorator such as ``parametrize``.
    The pieces of an f-string count separately. A constant of the module is not found.
    """
    places: list[ast.AST] = [*function.decorator_list]
    for node in ast.walk(function):
        if isinstance(node, ast.Assert):
            places.append(node.test)
        elif isinstance(node, ast.keyword) and node.arg == "match":
            places.append(node.value)
    literals = {node: None for place in places for node in ast.walk(place) if isinstance(node, ast.Constant)}
    texts = [node.value for node in literals if isinstance(node.value, str)]
    return [text for text in texts if sum(any(map(str.isalpha, word)) for word in text.split()) >= WORDS]


def sentences(root: Path) -> dict[str, int]:
    """Count test functions, those that assert sentences, the sentences, and the files that contain them."""
    counts = dict.fromkeys(("test functions", "asserting sentences", "asserted sentences", "files with sentences"), 0)
    for path in tracked(root, "tests/*.py"):
        each = [asserted_sentences(test) for test in test_functions(ast.parse(path.read_text(encoding="utf-8")))]
        found = (len(each), sum(map(bool, each)), sum(map(len, each)), any(each))
        counts = {name: count + more for (name, count), more in zip(counts.items(), found, strict=True)}
    return counts


def figures(root: Path) -> dict[str, int]:
    """Return every figure that has a ceiling, by its name in pyproject.toml."""
    sizes = rooms(root)
    limited = {room: each.lines for room, each in sizes.items() if room.startswith(("src/", "tests/", "C++"))}
    limited |= {"src": total(sizes, "src/").lines, "tests": total(sizes, "tests/").lines}
    limited |= {"words of docs": sum(words(root).values()), "options": sum(options().values())}
    return limited | {"tests asserting sentences": sentences(root)["asserting sentences"]}


def ceilings(text: str) -> dict[str, int]:
    """Read the ceilings from the text of pyproject.toml."""
    found: dict[str, int] = tomllib.loads(text).get("tool", {}).get("shoal", {}).get("size", {})
    return found


def past(now: dict[str, int], limits: dict[str, int]) -> list[str]:
    """Return one sentence for each figure above its ceiling or without one."""
    return [
        f"{name}: {count:,} is past the ceiling of {limits[name]:,}."
        if name in limits
        else f"{name}: {count:,} has no ceiling in pyproject.toml, {HEADER}."
        for name, count in now.items()
        if count > limits.get(name, -1)
    ]


def lowered(text: str, now: dict[str, int]) -> str:
    """Return pyproject.toml with lower ceilings. A room that no longer exists loses its line."""
    before, header, rest = text.partition(HEADER + "\n")
    section, following, after = rest.partition("\n[")
    for name, limit in ceilings(text).items():
        line = f'"{name}" = {limit}\n'
        section = (section + "\n").replace(line, f'"{name}" = {min(limit, now[name])}\n' if name in now else "")[:-1]
    return before + header + section + following + after


def show(title: str, rows: Iterable[tuple[object, ...]]) -> None:
    """Print rows under a title, the first column aligned left and numbers aligned right."""
    print(f"\n{title}")
    for name, *cells in rows:
        print(
            f"  {name!s:<44}" + "".join(f"{cell:>10,}" if isinstance(cell, int) else f"{cell!s:>10}" for cell in cells)
        )


def show_all(root: Path) -> None:
    """Print every figure that needs no run."""
    from shoal.plan import Plan

    sizes = rooms(root)
    parts = ["src/", "C++", "tests/", "bench", "fuzz", "tools"]
    listed = [(room, *each) for start in parts for room, each in sorted(sizes.items()) if room.startswith(start)]
    sums = [(f"all of {part.strip('/')}", *total(sizes, part)) for part in ("src/", "tests/")]
    show("Rooms", [("room", "files", "lines", "code"), *listed, *sums])
    show("Files in src that mention an option, the ten highest", mentions(root, Plan.model_fields).most_common(10))
    chosen = mentions(root, OPTIONS)
    show("Files in src that mention an option, chosen ones", [(name, chosen[name]) for name in OPTIONS])
    by_command, by_page = options(), words(root)
    show("Options by command", [*by_command.items(), ("all commands", sum(by_command.values()))])
    show("Words by page of docs", [*by_page.items(), (f"all {len(by_page)} pages", sum(by_page.values()))])
    show("Tests", sentences(root).items())


def fast_items(root: Path) -> int:
    """Return the number of test items that are not marked slow, as pytest collects them."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", "not slow", "tests"]
    output = subprocess.run(command, cwd=root, capture_output=True, text=True).stdout
    return len(re.findall(r"^\S+\.py::", output, flags=re.MULTILINE))


def main() -> int:
    """Print the table, or check or lower the ceilings."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for flag in ("check", "lower", "measure", "items"):
        parser.add_argument(f"--{flag}", action="store_true")
    parser.add_argument("--root", type=Path, default=ROOT, help="the repository")
    asked = parser.parse_args()
    sys.path.insert(0, str(asked.root / "src"))
    project = asked.root / "pyproject.toml"
    if asked.lower:
        project.write_text(lowered(project.read_text(encoding="utf-8"), figures(asked.root)), encoding="utf-8")
    if asked.check:
        broken = past(figures(asked.root), ceilings(project.read_text(encoding="utf-8")))
        print("\n".join(broken) or "Every room is within its ceiling.")
        return int(bool(broken))
    if asked.lower:
        return 0
    show_all(asked.root)
    if asked.items:
        show("Fast test items", [("items", fast_items(asked.root))])
    if asked.measure:
        from size_measure import bytes_read, changes_of_room

        show("One plain release in memory", changes_of_room().items())
        show("Bytes read on engine file, over the input's size", bytes_read(asked.root).items())
    return 0


if __name__ == "__main__":
    sys.exit(main())
