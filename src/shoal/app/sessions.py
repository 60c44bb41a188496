"""Sessions: what each user works on, in a private folder that is erased in the end."""

import contextlib
import os
import secrets
import shutil
import tomllib
from collections.abc import Awaitable, Callable
from pathlib import Path, PurePath
from typing import Any

import tomli_w

from shoal.app.commands import CommandPage, Entered, arguments, command_line
from shoal.app.fields import as_list, nested, values_of
from shoal.app.form import Choices, refuse_spark, step_of
from shoal.app.jobs import Job, Line
from shoal.errors import FileError, PlanError, ShoalError
from shoal.messages import Message
from shoal.plan import Plan
from shoal.plan.policy import Policy
from shoal.tables.files import is_workbook

_LONGEST_NAME = 120


class Work:
    """What one user works on.

    Attributes
    ----------
    file : path, optional
        The file that was opened.
    columns, records
        What is proposed for each, and how many there are.
    choices
        What was chosen.
    loaded, loaded_name
        A plan that was loaded, and the name of its file; it is applied to the file that is open, or opened next.
    looks, shows_values
        What was counted of single columns, and whether rare values may be shown in this session.
    map, release
        What was found: the risk-utility map, and the release with all there is to look at.
    job
        The last piece of work; the page shows how it goes.
    entered
        By page: what was entered on the pages of commands, and what came of it.
    where : str
        The page that the job was started on; nothing for the steps of a release.
    version : int
        Goes up whenever there is something new to show.
    """

    def __init__(self, folder: Path, line: Line, shared: bool = False) -> None:
        self.folder = folder
        self._line = line
        self._shared = shared
        self.version = 0
        self.job: Job | None = None
        self._forget()

    def _forget(self) -> None:
        """Forget everything, also what outlasts a file."""
        self.loaded: Plan | None = None
        self.loaded_name = ""
        self.shows_values = False
        self.looks: dict[str, Job] = {}
        self.where = ""
        self.entered: dict[str, Entered] = {}
        self._begin()

    def _begin(self) -> None:
        self.step = 0
        self.file: Path | None = None
        self.records = 0
        self.columns: list[dict[str, Any]] = []
        self.choices = Choices()
        self.map: dict[str, Any] | None = None
        self.release: dict[str, Any] | None = None
        self.problems: list[Message] = []

    def place(self, name: str) -> Path:
        """Return where a file is stored: under its own name, in a folder of its own."""
        plain = PurePath(name.replace("\\", "/")).name
        usable = plain not in ("", ".", "..") and plain.isprintable() and len(os.fsencode(plain)) <= _LONGEST_NAME
        if not usable:
            raise FileError("bad-file-name")
        inside = self.folder / secrets.token_hex(4)
        inside.mkdir(mode=0o700)
        return inside / plain

    async def receive(self, name: str, save: Callable[[Path], Awaitable[None]]) -> Path:
        """Take a file in that is uploaded; nothing of it stays if it does not arrive, or all was erased meanwhile.

        Raises
        ------
        FileError
            Why it cannot be taken.
        """
        folder, path = self.folder, self.place(name)
        try:
            await save(path)
        except OSError:
            shutil.rmtree(path.parent, ignore_errors=True)
            raise FileError("no-room-for-file") from None
        if folder != self.folder:
            shutil.rmtree(folder, ignore_errors=True)
            raise FileError("session-erased")
        return path

    def open(self, path: Path, task: str = "inspect") -> None:
        """Look at a file; what was there of another is forgotten, but not the policy of the office."""
        self.cancel()
        for old in (self.file, self.choices.edits_file):
            self._remove(old)  # a session holds one file
        reading, policy = {} if self.file is not None else self.choices.reading, self.choices.policy_file
        reading = reading if self.loaded is None else self._loaded_reading()
        self._begin()
        self.file = path
        self.choices.policy_file = policy
        self._inspect(task, reading)

    def read_again(self) -> None:
        """Read the file again, as the form says now."""
        self._inspect("inspect", self.choices.reading)

    def _inspect(self, task: str, reading: dict[str, Any]) -> None:
        """Look at the file; until that is done, the form has only what says how it is read."""
        self._stop_looking()
        for name in self.choices.reading:
            del self.choices.values[name]
        self.choices.values |= reading
        self._start(task, {"path": str(self.file), "reading": nested(reading)}, self._opened)

    def load_plan(self, path: Path) -> None:
        """Load a plan, and apply it to the file; to the next one if none is open.

        Raises
        ------
        PlanError, FileError
            It is no plan.
        """
        try:
            plan = Plan.load(path)
            refuse_spark(plan)
            self.loaded, self.loaded_name = plan, path.name
        finally:
            self._remove(path)
        if self.file is not None:
            self._inspect("inspect", self._loaded_reading())
        self.version += 1

    def _loaded_reading(self) -> dict[str, Any]:
        """Return how the loaded plan reads its file."""
        values = {} if self.loaded is None else values_of(self.loaded)
        return {name: value for name, value in values.items() if step_of(name) == "file" and name != "input"}

    @property
    def loaded_for(self) -> str:
        """The name of the file that the loaded plan was made for."""
        return "" if self.loaded is None or self.loaded.input is None else Path(self.loaded.input).name

    def forget_plan(self) -> None:
        """Apply no plan to the next file; what was chosen by it stays."""
        self.loaded, self.loaded_name = None, ""
        self.version += 1

    def take_policy(self, path: Path | None) -> None:
        """Take the limits of an office in place of those before; or none.

        Raises
        ------
        PlanError, FileError
            It is no policy.
        """
        if path is not None:
            try:
                Policy.load(path)
            except ShoalError:
                self._remove(path)
                raise
        self._remove(self.choices.policy_file)
        self.choices.policy_file = path
        self.release = None

    def look(self, column: str) -> Job:
        """Count the values of a column, in a process of its own; what was counted before is kept."""
        known = self.looks.get(column)
        if known is not None and known.state != "failed":
            return known
        task = {
            "path": str(self.file),
            "reading": nested(self.choices.reading),
            "column": column,
            "type_": self.choices.types[column],
            "codes": as_list(self.choices.missing_codes.get(column, "")),
            "values": self.shows_values,
        }

        def finished(job: Job) -> None:
            job.problems = [self._without_folders(problem) for problem in job.problems]

        self.looks[column] = Job("look", task, finished)
        self._line.submit(self.looks[column])
        return self.looks[column]

    def show_values(self, shown: bool) -> None:
        """Allow that rare values are shown in this session, or no longer."""
        self.shows_values = shown
        self._stop_looking()

    def _stop_looking(self) -> None:
        for job in self.looks.values():
            job.cancel()
        self.looks = {}

    def take_rules(self, path: Path | None) -> None:
        """Take a file of rules in place of the one before; or none."""
        if path is not None and self.file is not None and path.name == self.file.name:
            self._remove(path)
            raise FileError("same-file-name", file=path.name)
        self._remove(self.choices.edits_file)
        self.choices.edits_file, self.choices.edits_wanted = path, ""
        self.changed()

    def _remove(self, path: Path | None) -> None:
        """Remove a file that was uploaded, with the folder of its own."""
        if path is not None and path.is_relative_to(self.folder):
            shutil.rmtree(path.parent, ignore_errors=True)

    def _opened(self, found: dict[str, Any]) -> None:
        assert self.file is not None  # noqa: S101 - or nothing would have been opened
        self.records, self.columns = found["records"], found["columns"]
        ending, policy, reading = self.file.suffix.lstrip(".").lower(), self.choices.policy_file, self.choices.reading
        self.choices = Choices.of(found["columns"], found["reading"], ending)
        if self.loaded is not None:
            try:
                plan = self.loaded.updated(csv=None, sheet=None).updated(**nested(reading))  # as the file was read
                self.choices = Choices.of_plan(plan, found["columns"], ending)
            except PlanError as error:
                self.problems = list(error.messages)
                self.loaded = None
        self.choices.policy_file = policy
        self.changed()
        self.step = 1

    def draw_map(self) -> None:
        """Measure what every k would cost and risk."""
        self.map = None
        self._start("map", {"path": str(self.file), "options": self.choices.options()}, self._mapped)

    def _mapped(self, found: dict[str, Any]) -> None:
        self.map = found

    def protect(self) -> None:
        """Protect the file as chosen."""
        self.release = None
        shutil.rmtree(self.folder / "release", ignore_errors=True)
        target = self.target
        target.parent.mkdir(mode=0o700)
        options = {**self.choices.options(), "input": str(self.file), "output": str(target)}
        policy = self.choices.policy_file
        task = {
            "options": options,
            "policy": None if policy is None else str(policy),
            "shared": self._shared,
        }
        self._start("protect", task, self._protected)

    def plan(self) -> Plan:
        """Return the plan that the form makes, with files by their names.

        Raises
        ------
        PlanError
            Naming everything that is wrong.
        """
        files = {"input": self.file, "output": self.target, "edits": self.choices.edits_file}
        named = {field: path.name for field, path in files.items() if path is not None}
        return Plan(**{**self.choices.options(), **named})

    def plan_file(self) -> str:
        """Return the plan as the text of a file, without defaults."""
        usual = {name: each.default for name, each in Plan.model_fields.items()}
        plan = tomllib.loads(self.plan().to_toml())
        return tomli_w.dumps({name: value for name, value in plan.items() if value != usual[name]})

    def _protected(self, found: dict[str, Any]) -> None:
        self.release, self.step = found, 3

    @property
    def target(self) -> Path:
        """The file that the release is written to: it has the name of the original, which may lie beside it."""
        name = "masked" if self.file is None else f"{self.file.stem}-masked"
        return self.folder / "release" / f"{name}.{self.choices.ending}"

    def downloads(self) -> dict[str, Path]:
        """Return the files that may be downloaded, by what they are."""
        files = {} if self.release is None else self.release["files"]
        return {what: self.target.with_name(name) for what, name in files.items()}

    def changed(self) -> None:
        """Note that a choice was changed: what was measured of another is no longer true."""
        self.map, self.release = None, None

    def cancel(self) -> None:
        """Stop what is under way."""
        if self.job is not None:
            self.job.cancel()

    def waiting(self) -> int:
        """Count the jobs ahead of this one in the queue."""
        return 0 if self.job is None else self._line.before(self.job)

    def erase(self) -> None:
        """Stop, and leave nothing behind."""
        self.cancel()
        self._stop_looking()
        folder, self.folder = self.folder, self.folder.with_name(secrets.token_hex(8))
        shutil.rmtree(folder, ignore_errors=True)
        if self.job is not None:  # whose worker may have been writing
            self.job.afterwards(lambda: shutil.rmtree(folder, ignore_errors=True))

    def start_over(self) -> None:
        """Erase all that was opened and made, and start over."""
        self.erase()
        self.folder.mkdir(mode=0o700)
        self.job = None
        self._forget()
        self.version += 1

    def entered_on(self, page: CommandPage) -> Entered:
        """Return what was entered on the page of a command."""
        return self.entered.setdefault(page.path, Entered())

    def take(self, page: CommandPage, option: str, path: Path, *, uploaded: bool = False) -> None:
        """Take a file for an option of a command; all files of a command lie in one folder, under their own names.

        Raises
        ------
        FileError
            Another file of this command has the same name.
        """
        entered = self.entered_on(page)
        asked = next(each for each in page.options if each.name == option)
        before = entered.files.get(option, [])
        kept = before if asked.kind == "files" else []
        if any(path.name == each.name for each in entered.all_files() if each in kept or each not in before):
            self._remove(path if uploaded else None)
            raise FileError("same-file-name", file=path.name)
        for each in before if not kept else []:
            each.unlink(missing_ok=True)
        place = self.folder / page.path / path.name
        place.parent.mkdir(mode=0o700, exist_ok=True)
        _linked(path, place)
        self._remove(path if uploaded else None)
        entered.files[option] = [*kept, place]
        if path == self.file and "sheet" in self.choices.values:
            entered.values["sheet"] = self.choices.values["sheet"]
        entered.found = None
        self.version += 1
        if asked is page.options[0]:
            self.look_for(page)

    def look_for(self, page: CommandPage) -> None:
        """Look at the first file of a command; of a workbook, at the sheet that was entered."""
        entered = self.entered_on(page)
        entered.columns = []
        [path], sheet = entered.files[page.options[0].name], entered.values.get("sheet")
        reading = {"sheet": sheet} if sheet and is_workbook(path) else {}
        task = {"path": str(path), "reading": reading}
        self._start("inspect", task, lambda found: self._seen(page, found), page.path)

    def leave_out(self, page: CommandPage, option: str, path: Path) -> None:
        """Remove a file of a command."""
        entered = self.entered_on(page)
        path.unlink(missing_ok=True)
        entered.files[option] = [each for each in entered.files[option] if each != path]
        entered.found = None
        self.version += 1

    def _seen(self, page: CommandPage, found: dict[str, Any]) -> None:
        """Note the columns of a command's first file, and fill in what follows from their roles."""
        entered = self.entered_on(page)
        entered.columns = [each["column"] for each in found["columns"]]
        for option, role in page.proposed:
            names = [
                each["column"]
                for each in found["columns"]
                if self.choices.roles.get(each["column"], each["role"]) == role
                and not (option in page.categories and each["type"] == "continuous")
            ]
            several = next(each for each in page.options if each.name == option).kind == "columns"
            entered.values[option] = names if several else next(iter(names), None)

    def run(self, page: CommandPage) -> None:
        """Run a command with what was entered on its page.

        Raises
        ------
        PlanError
            Something is missing.
        """
        entered = self.entered_on(page)
        words = arguments(page, entered)
        entered.found, entered.ran = None, command_line(words)
        task = {"words": words, "folder": str(self.folder / page.path)}

        def done(found: dict[str, Any]) -> None:
            entered.found = found

        self._start("command", task, done, page.path)

    def _start(self, name: str, task: dict[str, Any], done: Callable[[dict[str, Any]], None], where: str = "") -> None:
        self.cancel()
        self.where = where
        to = self.entered[where] if where else self
        to.problems = []

        def finished(job: Job) -> None:
            if job is not self.job:
                return
            to.problems = [self._without_folders(problem) for problem in job.problems]
            if job.state == "done":
                done(job.found)
            self.version += 1

        self.job = Job(name, task, finished)
        self._line.submit(self.job)
        self.version += 1

    def _without_folders(self, problem: Message) -> Message:
        """Name files as their owner knows them, without the folders of the session."""
        used = [path for entered in self.entered.values() for path in entered.all_files()]
        paths = (self.file, self.choices.edits_file, self.choices.policy_file, self.target, *used)
        folders = [f"{path.parent}{os.sep}" for path in paths if path is not None]
        return Message.from_json(_without(folders, problem.as_json()))


def _without(folders: list[str], value: Any) -> Any:
    """Remove the names of folders from all texts of a value of JSON."""
    match value:
        case str():
            for folder in folders:
                value = value.replace(folder, "")
            return value
        case dict():
            return {name: _without(folders, each) for name, each in value.items()}
        case list():
            return [_without(folders, each) for each in value]
    return value


def _linked(path: Path, target: Path) -> None:
    """Put a file under another name, without a copy where the system can do without one."""
    for link in (os.link, os.symlink, shutil.copyfile):
        with contextlib.suppress(OSError):
            link(path, target)
            return
    raise FileError("no-room-for-file")


class Store:
    """All sessions, each with a folder of its own that nobody else may look into; `shared` by users with names."""

    def __init__(self, folder: Path, line: Line | None = None, shared: bool = False) -> None:
        self._folder = folder
        self._shared = shared
        self._line = line or Line()
        self._works: dict[str, Work] = {}

    def work(self, session: str) -> Work:
        """Return the data that a session works on."""
        if session not in self._works:
            # The folder's name says nothing of the session.
            folder = self._folder / secrets.token_hex(8)
            folder.mkdir(mode=0o700)
            self._works[session] = Work(folder, self._line, self._shared)
        return self._works[session]

    def prepare(self) -> None:
        """Get ready for the next action of the user."""
        self._line.prepare()

    def forget(self, session: str) -> None:
        """Erase what a session worked on."""
        if (work := self._works.pop(session, None)) is not None:
            work.erase()

    async def close(self) -> None:
        """Erase everything."""
        for session in list(self._works):
            self.forget(session)
        await self._line.close()
