"""What a session holds: files that arrive, or do not, and nothing once it is erased."""

import asyncio
import errno
import tomllib

import pytest
from tests.expect import refused, reports

from shoal.app.jobs import Line
from shoal.app.sessions import Work
from shoal.cli.page_commands import command_pages
from shoal.errors import FileError, ShoalError
from shoal.messages import Message
from shoal.pipeline.roles import Proposal
from shoal.plan import Plan


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
    with refused(FileError, "bad-file-name"):
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

    with refused(FileError, "no-room-for-file"):
        asyncio.run(work.receive("a.csv", full))
    assert list(work.folder.iterdir()) == []


def test_what_arrives_after_everything_was_erased_is_erased_too(work, tmp_path):
    async def erased(path):
        work.start_over()
        await saving(b"data")(path)

    with refused(FileError, "session-erased"):
        asyncio.run(work.receive("a.csv", erased))
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_rules_do_not_take_the_place_of_the_table_and_go_when_they_are_replaced(work):
    work.file = asyncio.run(work.receive("survey.xml", saving(b"table")))
    same, other = (asyncio.run(work.receive(name, saving(b"rules"))) for name in ("survey.xml", "rules.sch"))
    with refused(FileError, "same-file-name", file="survey.xml"):
        work.take_rules(same)
    assert (work.file.read_bytes(), same.exists()) == (b"table", False)
    work.take_rules(other)
    assert work.choices.options()["edits"] == str(other)
    work.take_rules(None)
    assert "edits" not in work.choices.options()
    assert not other.exists()


def test_a_plan_waits_for_its_file_and_is_forgotten_when_everything_is_erased(work):
    path = asyncio.run(work.receive("old.plan.toml", saving(b'k = 4\nquasi = ["age"]\ninput = "people.csv"')))
    work.load_plan(path)
    assert (work.loaded.k, work.loaded_name, work.loaded_for) == (4, "old.plan.toml", "people.csv")
    assert not path.exists()
    work.start_over()
    assert work.loaded is None


@pytest.mark.parametrize("text", [b"k = 1", b"no toml", b"colour = 3\nk = 5", b'k = 5\nengine = "spark"'])
def test_what_is_no_plan_is_refused_and_not_kept(work, text):
    path = asyncio.run(work.receive("plan.toml", saving(text)))
    with pytest.raises(ShoalError):
        work.load_plan(path)
    assert work.loaded is None
    assert list(work.folder.iterdir()) == []


def test_a_policy_is_checked_when_it_arrives_and_stays_for_the_next_file(work):
    wrong, right = (asyncio.run(work.receive("p.toml", saving(text))) for text in (b"k = 1", b"k = 5\nloss = 30"))
    with pytest.raises(ShoalError):
        work.take_policy(wrong)
    assert work.choices.policy_file is None
    work.take_policy(right)
    assert work.choices.policy_file == right
    work.take_policy(None)
    assert list(work.folder.iterdir()) == []


def test_a_file_of_a_plan_begins_as_the_plan_says_and_is_saved_as_such(work):
    columns = [Proposal(name, "quasi", "continuous", numeric=True)._asdict() for name in ("age", "wage", "id")]
    work.file = work.place("people.csv")
    work.loaded = Plan(k=4, quasi=["wage", "age"], identifiers=["id"], method="vmdav", gain=0.3)
    work._opened({"records": 9, "columns": columns, "reading": {}})
    saved = work.plan_file()
    assert Plan(**tomllib.loads(saved)) == work.loaded.updated(input="people.csv", output="people-masked.csv")
    assert "budget" not in saved
    work.loaded = Plan(k=4, quasi=["height"])
    work._opened({"records": 9, "columns": columns, "reading": {}})
    assert reports(work.problems, "unknown-column", "quasi", column="height")
    assert work.choices.having("quasi") == ["age", "wage", "id"]


def test_the_page_of_a_command_takes_roles_from_step_2_and_proposes_the_others(work):
    work.choices.roles = {"town": "confidential", "age": "quasi"}
    proposed = [("town", "quasi", "nominal"), ("age", "quasi", "continuous"), ("sex", "quasi", "nominal")]
    columns = [{"column": name, "role": role, "type": type_} for name, role, type_ in proposed]
    pages = {each.path: each for each in command_pages()}
    for name in ("assess", "risk"):
        work._seen(pages[name], {"columns": columns})
    assert work.entered["assess"].values["quasi"] == ["age", "sex"]
    assert work.entered["assess"].values["confidential"] == ["town"]
    assert work.entered["risk"].values["keys"] == ["sex"]  # a number of many values is no key


def test_messages_name_files_without_the_folders_of_the_session(work):
    work.file = asyncio.run(work.receive("a.csv", saving(b"1")))
    inner = Message("use-l")
    work._line.submit = lambda job: None
    work._start("inspect", {}, lambda found: None)
    for message in (
        Message("same-file-name", file=str(work.file)),
        Message("common-sensitive-value", column=str(work.file), most=1, groups=2, remedy=inner),
    ):
        work.job.state = "running"
        work.job.fail(message)
        [problem] = work.problems
        assert str(work.folder) not in f"{problem} {problem.data}"
        assert problem.text("page") == message.text("page").replace(f"{work.file.parent}/", "")
        assert problem.data.get("remedy") in (None, inner)
