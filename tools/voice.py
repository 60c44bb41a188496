"""Check the English of comments, docstrings, messages and documents against the house style.

    python tools/voice.py                     # fail if a file has more findings of a rule than its exception allows
    python tools/voice.py --shrink            # lower the exceptions to the findings of today; never add or raise one
    python tools/voice.py src/shoal/app       # print every finding under these paths, excepted or not

Rules:

- ``opening``: a sentence begins with What, Whoever, Of, Where or That. Questions and headings may.
- ``phrase``: a sentence has a banned word or phrase.
- ``verb``: the docstring of a function begins with Name, Tell, Say or Give as a verb.
- ``long``: a sentence of a document has more than 30 words. Tables and headings are not counted.
- ``class-name``: a class has a banned name.
- ``same-name``: two classes of the package share a name.

``tools/voice-exceptions.txt`` has a line ``count path rule`` for every file that does not follow a rule yet. The list
only shrinks: a count that is too high is an error as well. A renamed file loses its exceptions, so the author of the
rename mends its sentences. After a merge conflict in the list, keep either side and run ``--shrink``.
"""

import argparse
import ast
import inspect
import re
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from markdown_it import MarkdownIt  # comes with myst-parser, as the two below do
from markdown_it.token import Token
from mdit_py_plugins.dollarmath import dollarmath_plugin

ROOT = Path(__file__).parents[1]
EXCEPTIONS = "tools/voice-exceptions.txt"
LONGEST = 30  # words of a sentence in a document
SHOWN = 8  # words of a sentence in a finding

OPENING = re.compile(r"[\"'(\[*_]*(What|Whoever|Of|Where|That)\b")
PHRASE = re.compile(
    r"\b(so many|as they (?:are|were)|in place of|be it|(?<!one )of (?:its|their) own|at hand|g(?:ives?|iven|ave) away"
    r"|put together|stands|lies|tells|anew|whoever)\b",
    re.IGNORECASE,
)
VERB = re.compile(r"(?:Tell|Say|Give)s?\b|Name\b(?! (?:of|and|or|under|by|in|for|that|to|with)\b)")
CLASS_NAMES = {"Line", "Asked", "Work", "Told", "Entered", "Holder", "Look"}

CODE = re.compile(r"``.+?``|`[^`]+`", re.DOTALL)
INITIAL = r"(?<!\b[A-Z]\.)"  # J. Domingo-Ferrer
ABBREVIATIONS = "".join(rf"(?<!\b{each}\.)" for each in (r"e\.g", r"i\.e", "al", "cf", "vs", "Eq", "Fig", "No", "pp"))
BETWEEN = re.compile(rf"(?<=[.!?]){INITIAL}{ABBREVIATIONS}[\"')\]*_]*\s+(?=[\"'(\[*_]*[A-Z0-9`{{])")
# Strings are matched so that no comment begins in them; rows of one comment are one match.
COMMENTS = {
    ".py": re.compile(
        r"""(?s:(\"{3}|'{3}).*?(?<!\\)\1)|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'"""
        r"""|(?P<comment>(?:(?<=\n)[ \t]*\#[^\n]*(?:\n|\Z))+|\#[^\n]*)"""
    ),
    ".cpp": re.compile(
        r""""(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\])'"""
        r"""|(?P<comment>(?:(?<=\n)[ \t]*//[^\n]*(?:\n|\Z))+|//[^\n]*|(?s:/\*.*?\*/))"""
    ),
}
MARKS = re.compile(
    r"^[ \t]*(?:\#[ \t]*(?:noqa|type:|pragma|ruff:|mypy:|fmt:).*|\#+:?|//+|/\*+|\*/|\*)|\*/$", re.MULTILINE
)
ITEM = re.compile(r"\s*(?:[-*]|\d+\.) ")


class Passage(NamedTuple):
    """Text whose sentences are checked; `kind` is docstring, comment, message, prose, cell or heading."""

    line: int
    text: str
    kind: str


class Finding(NamedTuple):
    """A place that breaks a rule."""

    path: str
    line: int
    rule: str
    words: str


def sentences(passage: Passage) -> Iterator[tuple[int, str]]:
    """Yield each sentence of a passage with the number of its first line."""
    text, start = CODE.sub(lambda code: "`x`" + "\n" * code[0].count("\n"), passage.text), 0
    for end in [*(each.start() for each in BETWEEN.finditer(text)), len(text)]:
        sentence = " ".join(text[start:end].split())
        if sentence:
            begin = start + len(text[start:end]) - len(text[start:end].lstrip())
            yield passage.line + text.count("\n", 0, begin), sentence
        start = end


def of_passage(path: str, passage: Passage) -> Iterator[Finding]:
    """Yield the findings in the sentences of a passage."""
    for line, sentence in sentences(passage):
        words = sentence.split()
        shown = " ".join(words[:SHOWN])
        if OPENING.match(sentence) and passage.kind != "heading" and not sentence.rstrip("\"')*_").endswith("?"):
            yield Finding(path, line, "opening", shown)
        for found in PHRASE.finditer(sentence):
            yield Finding(path, line, "phrase", f"{shown} ({found[0].lower()})")
        if passage.kind == "prose" and sum(any(map(str.isalnum, word)) for word in words) > LONGEST:
            yield Finding(path, line, "long", shown)


def indentation(row: str) -> int:
    """Return the number of blanks before a row."""
    return len(row) - len(row.lstrip())


def paragraphs(text: str, line: int) -> Iterator[Passage]:
    """Yield the paragraphs, list items and field descriptions of a docstring, without examples and literal blocks."""
    block: list[str] = []
    literal = -1  # the indentation above which rows are code, after a paragraph that ends with ::
    for number, row in enumerate([*inspect.cleandoc(text).splitlines(), ""]):
        goes_on = block and (ITEM.match(block[0]) or indentation(row) == indentation(block[0]))
        if block and (not row.strip() or ITEM.match(row) or not goes_on):
            if not 0 <= literal < indentation(block[0]):
                if not block[0].lstrip().startswith(">>>"):
                    yield Passage(line + number - len(block), "\n".join(block), "docstring")
                literal = indentation(block[0]) if block[-1].endswith("::") else -1
            block = []
        if row.strip():
            block.append(row)


def message(node: ast.AST) -> str:
    """Return the text of a string or f-string, with {} for each value; an empty string for any other node."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(message(value) if isinstance(value, ast.Constant) else "{}" for value in node.values)
    return ""


def is_sentence(text: str) -> bool:
    """Whether a string has at least four words, and a capital first letter or a final period."""
    return len(text.split()) >= 4 and (text.lstrip()[0].isupper() or text.rstrip().endswith("."))


def of_tree(path: str, tree: ast.Module) -> Iterator[Passage | Finding]:
    """Yield the docstrings, messages and badly named classes of a module; every class is a finding of same-name."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield from paragraphs(message(node.value), node.lineno)
            continue
        if isinstance(node, ast.Constant | ast.JoinedStr):
            if is_sentence(text := message(node)):
                yield Passage(node.lineno, text.replace("\n", " "), "message")
            continue
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = (ast.get_docstring(node) or "").partition("\n")[0]
            if VERB.match(first):
                yield Finding(path, node.body[0].lineno, "verb", " ".join(first.split()[:SHOWN]))
        elif isinstance(node, ast.ClassDef):
            yield Finding(path, node.lineno, "same-name", node.name)
            if node.name.lstrip("_") in CLASS_NAMES:
                yield Finding(path, node.lineno, "class-name", node.name)
        waiting.extend(ast.iter_child_nodes(node))


def of_comments(source: str, pattern: re.Pattern[str]) -> Iterator[Passage]:
    """Yield the comments of a Python or C++ file."""
    for found in pattern.finditer("\n" + source):
        if found["comment"]:
            yield Passage(source.count("\n", 0, found.start()) + 1, MARKS.sub("", found["comment"].rstrip()), "comment")


def flat(tokens: list[Token]) -> str:
    """Join the pieces of a row of Markdown: code and formulas are one word each, and breaks are kept."""
    parts = {"softbreak": "\n", "hardbreak": "\n", "code_inline": "`x`", "math_inline": "`x`", "html_inline": ""}
    return "".join(parts.get(token.type, token.content) for token in tokens)


def of_markdown(source: str) -> Iterator[Passage]:
    """Yield the paragraphs, cells and headings of a document, without code, comments and formulas."""
    tokens = MarkdownIt("commonmark").enable("table").use(dollarmath_plugin).parse(source)
    for before, token in pairwise(tokens):
        if token.type == "inline" and token.map and token.children:
            kind = {"heading_open": "heading", "paragraph_open": "prose"}.get(before.type, "cell")
            yield Passage(token.map[0] + 1, flat(token.children), kind)


def of_file(path: str, source: str) -> Iterator[Passage | Finding]:
    """Yield everything in a file that is written for a reader, and the findings that are not about a sentence."""
    if path.endswith(".md"):
        yield from of_markdown(source)
        return
    if path.endswith(".py"):
        yield from of_tree(path, ast.parse(source))
    yield from of_comments(source, COMMENTS[".py" if path.endswith(".py") else ".cpp"])


def findings(sources: dict[str, str]) -> list[Finding]:
    """Return all findings in the given files, by path and line."""
    found: list[Finding] = []
    for path, source in sources.items():
        for each in of_file(path, source):
            found += [each] if isinstance(each, Finding) else of_passage(path, each)
    classes = Counter(each.words for each in found if each.rule == "same-name")
    return sorted(each for each in found if each.rule != "same-name" or classes[each.words] > 1)


def read(root: Path) -> dict[str, str]:
    """Read every file that is checked, by its path below the root."""
    patterns = ("src/**/*.py", "src/**/*.cpp", "src/**/*.hpp", "docs/**/*.md", "README.md", "CHANGELOG.md")
    paths = sorted(path for pattern in patterns for path in root.glob(pattern) if "_build" not in path.parts)
    return {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in paths}


def read_exceptions(path: Path) -> Counter[tuple[str, str]]:
    """Read the allowed number of findings for each path and rule."""
    rows = [row.split() for row in path.read_text(encoding="utf-8").splitlines()]
    return Counter({(file, rule): int(count) for count, file, rule in rows})


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Run the check; return 1 if it fails."""
    parser = argparse.ArgumentParser(description="Check the English of the repository.")
    parser.add_argument("paths", nargs="*", help="print every finding under these paths, excepted or not")
    parser.add_argument("--shrink", action="store_true", help="lower the exceptions to the findings of today")
    options = parser.parse_args(arguments)
    found = findings(read(root))
    counts = Counter((each.path, each.rule) for each in found)
    allowed = read_exceptions(root / EXCEPTIONS)
    if options.shrink:
        allowed = Counter({key: min(count, counts[key]) for key, count in allowed.items() if counts[key]})
        rows = [f"{count} {path} {rule}\n" for (path, rule), count in sorted(allowed.items())]
        (root / EXCEPTIONS).write_text("".join(rows), encoding="utf-8")
    if options.paths:
        found = [each for each in found if any(Path(each.path).is_relative_to(path) for path in options.paths)]
        allowed = Counter()
    more = [each for each in found if counts[each.path, each.rule] > allowed[each.path, each.rule]]
    for each in more:
        print(f"{each.path}:{each.line}: {each.rule}: {each.words}")
    for path, rule in sorted({(each.path, each.rule) for each in more if allowed[each.path, each.rule]}):
        print(f"{path}: {rule}: {counts[path, rule]} found, {allowed[path, rule]} excepted")
    stale = sorted(key for key, count in allowed.items() if count > counts[key])
    for path, rule in stale:
        print(f"{path}: {rule}: {counts[path, rule]} found, {allowed[path, rule]} excepted")
    if stale:
        print("run python tools/voice.py --shrink")
    return 1 if more or stale else 0


if __name__ == "__main__":
    sys.exit(main())
