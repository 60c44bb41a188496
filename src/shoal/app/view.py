"""One browser window onto what a session works on."""

import html
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

from nicegui import ui

from shoal.app.commands import CommandPage
from shoal.app.fields import on_page
from shoal.app.jobs import Job
from shoal.app.listing import Listing
from shoal.app.sessions import Work
from shoal.messages import Message
from shoal.parallel import STEPS
from shoal.text import counted, duration

_STEPS = STEPS | {"": "starting", "look": "drawing pictures"}
_FOCUS = "setTimeout(() => document.getElementById('step')?.focus(), 50)"


class View:
    """What the steps of the page share.

    Attributes
    ----------
    work : Work
        What the session works on.
    limit : int
        The most bytes of an upload.
    files : list of paths
        Files that may be opened without an upload.
    seen : int
        The version of the work that is on the screen.
    unfolded : set of str
        Which parts of a step were unfolded.
    place_of_k : element
        What holds the choice of k, and the map.
    listing : Listing
        Which of the attributes the second step shows.
    """

    def __init__(self, work: Work, limit: int, files: Sequence[Path]) -> None:
        self.work = work
        self.limit = limit
        self.files = files
        self.seen = -1
        self.listing = Listing()
        self.unfolded: set[str] = set()
        self.place_of_k: ui.element  # set when the third step is drawn
        self._step = work.step

    def is_old(self) -> bool:
        """Return whether there is something new to show."""
        return self.seen != self.work.version

    def redraw(self) -> None:
        """Show what has changed, in every window of the session."""
        self.work.version += 1

    def go(self, step: int) -> None:
        """Turn to a step, and tell those who do not see it."""
        self.work.step, self.work.problems, self.work.job = step, [], None
        self.redraw()

    def say(self, *problems: Message) -> None:
        """Show what went wrong."""
        self.work.problems = list(problems)
        self.redraw()

    def turn_to_step(self) -> None:
        """Move the focus to the heading of a step that is new here, so that the keyboard goes on from there.

        The browser's history gets an entry for every step, so that its buttons lead back and forth.
        """
        if self._step != self.work.step:
            self._step = self.work.step
            ui.run_javascript(
                f"{_FOCUS}; if (history.state?.shoalStep !== {self._step})"
                f" history.pushState({{...history.state, shoalStep: {self._step}}}, '', location.pathname)"
            )

    def follow_history(self) -> None:
        """Turn to the step of the entry that the browser's back and forward buttons lead to."""

        def turn(step: object) -> None:
            busy = self.work.job is not None and self.work.job.active
            if isinstance(step, int) and step != self.work.step and 0 <= step <= self.furthest() and not busy:
                self._step = step  # the history knows it
                self.go(step)
                ui.run_javascript(_FOCUS)

        ui.on("shoal_step", lambda event: turn(event.args))
        ui.run_javascript(
            f"history.replaceState({{...history.state, shoalStep: {self.work.step}}}, '', location.pathname);"
            "window.addEventListener('popstate', event => emitEvent('shoal_step', event.state?.shoalStep ?? 0))"
        )

    def furthest(self) -> int:
        """Return the last step that may be opened."""
        if self.work.release is not None:
            return 3
        return 2 if self.work.columns else 0

    def heading(self, title: str, explanation: str, *, file: bool = True) -> None:
        """Begin a step, with the file that it is about; or another page."""
        if file and self.work.columns:
            many = f"{counted(self.work.records, 'record')}, {counted(len(self.work.columns), 'attribute')}"
            ui.label(f"{Path(self.work.file or '').name}: {many}").classes("text-weight-medium shoal-file")
        with ui.element("h2").props('tabindex="-1" id="step"'):
            ui.html(title, sanitize=False, tag="span")
        ui.label(explanation).classes("text-secondary")

    def action(self, label: str, work: Callable[[], None], *, main: bool = True) -> ui.button:
        """Create a button that starts some work."""
        return ui.button(label, on_click=lambda: work()).props("no-caps" + ("" if main else " outline"))

    def part(self, title: str) -> ui.expansion:
        """Create a part of a step that few need; it stays unfolded when the step is drawn again."""

        def folded(unfolded: bool) -> None:
            (self.unfolded.add if unfolded else self.unfolded.discard)(title)

        part = ui.expansion(title, value=title in self.unfolded, on_value_change=lambda e: folded(e.value))
        return part.classes("w-full")

    def code(self, text: str, what: str) -> None:
        """Show lines to copy: they break where the window ends, and a button copies them as they are."""
        with ui.element("div").classes("shoal-code"):
            ui.html(f"<pre><code>{html.escape(text)}</code></pre>", sanitize=False)
            copy = ui.button("Copy", on_click=lambda: ui.clipboard.write(text)).props("flat dense no-caps")
            copy.props["aria-label"] = f"Copy {what}"

    def outcome(self, page: CommandPage | None = None) -> None:
        """Show what became of the last piece of work that was started on a page, unless the page shows it already."""
        where = "" if page is None else page.path
        job, problems = self.work.job, self.work.entered[where].problems if where else self.work.problems
        if job is not None and job.state == "cancelled" and self.work.where == where:
            ui.label("Cancelled; there is no result.").props('role="status"')
        for problem in problems:
            title = None if page is None else page.title_of(problem.field or "")
            text = problem.text("page", title) if title else on_page(problem)
            ui.label(text).classes("text-negative").props('role="alert"')
        if problems:
            ui.run_javascript("setTimeout(() => document.querySelector('[role=alert]')?.scrollIntoView(), 50)")

    def progress(self) -> None:
        """Show how the work goes, with an estimate and a way to stop it."""
        job = cast("Job", self.work.job)
        with ui.row().classes("w-full items-center no-wrap"):
            bar = ui.linear_progress(show_value=False, size="10px").classes("col").props("aria-label=Progress")
            ui.button("Cancel", on_click=self.work.cancel).props("outline no-caps")
        said = ui.label().props('role="status" aria-live="polite"')

        def update() -> None:
            said.set_text(_sentence(job, self.work.waiting()))
            known = job.state == "running" and job.total > 1
            bar.props("" if known else "indeterminate", remove="indeterminate" if known else "")
            bar.set_value(job.done / job.total if known else 0)

        update()
        ui.timer(0.3, update)


def _sentence(job: Job, before: int) -> str:
    """Describe the state of a job."""
    if job.state == "waiting":
        return f"In line, {counted(before, 'other')} before you." if before else "Next in line."
    step = _STEPS.get(job.step, job.step).capitalize()
    if job.total <= 1:
        return f"{step} … {duration(job.passed)} so far"
    share = f"{step}: {100 * job.done / job.total:.0f} %"
    return share if job.left is None else f"{share}, about {duration(job.left)} left"
