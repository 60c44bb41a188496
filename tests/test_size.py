"""The size of the repository: a room past its ceiling fails, and ceilings only fall."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))
import size  # noqa: E402 - scripts, not packages

PROJECT = """[project]
name = "x"

[tool.shoal.size]
# only fall
"src/a" = 3
"src/b" = 9
"src/gone" = 4

[tool.other]
"src/a" = 3
"""


@pytest.fixture
def repository(tmp_path, monkeypatch):
    (tmp_path / "src" / "shoal" / "a").mkdir(parents=True)
    (tmp_path / "src" / "shoal" / "a" / "one.py").write_text('"""Text."""\n\nimport os\n\nX = 1  # why\n')
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    for command in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    monkeypatch.setattr(sys, "argv", ["size.py", "--root", str(tmp_path)])
    return tmp_path


def test_blank_lines_comments_docstrings_and_imports_are_not_code(repository):
    assert size.rooms(repository)["src/a"] == size.Size(files=1, lines=5, code=1)


def test_a_room_past_its_ceiling_or_without_one_fails():
    assert size.past({"src/a": 3}, {"src/a": 3}) == []
    assert [line.split(":")[0] for line in size.past({"src/a": 4, "src/c": 1}, {"src/a": 3})] == ["src/a", "src/c"]


def test_check_fails_with_one_line_for_each_room(repository, monkeypatch, capsys):
    monkeypatch.setattr(size, "figures", lambda root: {"src/a": size.rooms(root)["src/a"].lines, "src/b": 9})
    sys.argv.append("--check")
    assert size.main() == 1
    assert capsys.readouterr().out.count("\n") == 1
    (repository / "src" / "shoal" / "a" / "one.py").write_text("X = 1\n")
    assert size.main() == 0


def test_ceilings_only_fall_and_nothing_else_changes(repository, monkeypatch):
    monkeypatch.setattr(size, "figures", lambda root: {"src/a": 5, "src/b": 7, "src/new": 1})
    sys.argv.append("--lower")
    assert size.main() == 0
    expected = PROJECT.replace('"src/b" = 9', '"src/b" = 7').replace('"src/gone" = 4\n', "")
    assert (repository / "pyproject.toml").read_text() == expected


def test_every_figure_of_this_repository_has_a_ceiling():
    assert set(size.figures(ROOT)) <= set(size.ceilings((ROOT / "pyproject.toml").read_text()))


@pytest.mark.parametrize(("form", "found"), [("assert_({!r})", 0), ("assert {!r}", 1), ("raises(match={!r})", 1)])
def test_sentences_have_four_words_and_are_asserted(form, found):
    def count(*words):
        source = f"def test_it():\n    {form.format(' '.join(words))}"
        return len(size.asserted_sentences(next(size.test_functions(ast.parse(source)))))

    assert count("The", "k", "is", "large.") == found
    assert count("three", "words", "only", "1", "2") == 0
