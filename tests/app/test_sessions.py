"""What a session holds: files that arrive, or do not, and nothing once it is erased."""

import asyncio
import errno

import pytest

from shoal.app.jobs import Line
from shoal.app.sessions import Work
from shoal.errors import FileError


@pytest.fixture
def work(tmp_path):
    folder = tmp_path / "session"
    folder.mkdir()
    return Work(folder, Line())


def saving(content):
    async def save(path):
        path.parent.mkdir(parents=True, exist_ok=True)  # as NiceGUI does
        path.write_bytes(content)

    return save


@pytest.mark.parametrize("name", ["", ".", "..", "a/..", "x" * 300, "ü" * 100, "a\nb.csv", "a\0b.csv"])
def test_names_that_cannot_be_used_are_refused(work, name):
    with pytest.raises(FileError, match="The name of the file is too long"):
        work.place(name)


@pytest.mark.parametrize("name", ["../../etc/passwd.csv", "..\\up.csv", "CON.csv", "ok.csv"])
def test_files_go_nowhere_else(work, name):
    assert work.place(name).parent.parent == work.folder


def test_two_uploads_of_one_name_do_not_mix(work):
    paths = [asyncio.run(work.receive("a.csv", saving(content))) for content in (b"1", b"2")]
    assert [path.read_bytes() for path in paths] == [b"1", b"2"]


def test_a_full_disk_is_said_and_nothing_stays(work):
    async def full(path):
        path.write_bytes(b"half of it")
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(FileError, match="there is no room for it"):
        asyncio.run(work.receive("a.csv", full))
    assert list(work.folder.iterdir()) == []


def test_what_arrives_after_everything_was_erased_is_erased_too(work, tmp_path):
    async def erased(path):
        work.start_over()
        await saving(b"data")(path)

    with pytest.raises(FileError, match="The session was erased"):
        asyncio.run(work.receive("a.csv", erased))
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_rules_do_not_take_the_place_of_the_table_and_go_when_they_are_replaced(work):
    work.file = asyncio.run(work.receive("survey.xml", saving(b"table")))
    same, other = (asyncio.run(work.receive(name, saving(b"rules"))) for name in ("survey.xml", "rules.sch"))
    with pytest.raises(FileError, match="The file of rules has the same name as the table"):
        work.take_rules(same)
    assert (work.file.read_bytes(), same.exists()) == (b"table", False)
    work.take_rules(other)
    assert work.choices.options()["edits"] == str(other)
    work.take_rules(None)
    assert "edits" not in work.choices.options()
    assert not other.exists()
