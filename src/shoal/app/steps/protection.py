"""Step 3: choose k on the risk-utility map, how groups are formed, and all else that a plan can ask for."""

from collections.abc import Callable

from nicegui import ui

from shoal.app.fields import Field, beside
from shoal.app.form import ENDINGS, IN_FRONT, METHODS, panels
from shoal.app.inputs import GRID, Inputs
from shoal.app.steps.risk_map import draw_k
from shoal.app.uploads import upload_button
from shoal.app.view import View
from shoal.errors import PlanError
from shoal.plan import Plan
from shoal.plan.commands import plan_text, protect_command
from shoal.plan.policy import Policy
from shoal.text import counted, quoted

_PLAN = "Plan and command line"
_RULES = "rules"  # the group of the plan's fields that has rules, or a file of them


def show(view: View) -> None:
    """Offer the map, k, the method and what else may be asked for."""
    view.heading(
        "How much protection?",
        "Records are put into groups of at least k similar ones, and each group publishes one representative. A larger "
        "k is safer and costs more.",
    )
    Protection(view).draw()


class Protection:
    """The third step in one window: what is wrong is shown beside the fields as soon as it is typed."""

    def __init__(self, view: View) -> None:
        self.view, self.work, self.choices = view, view.work, view.work.choices
        self.inputs = Inputs(self.choices.values, [each["column"] for each in self.work.columns], self._changed)
        self.panels: dict[str, tuple[ui.expansion, list[Field]]] = {}
        self.wrong = ui.refreshable(self._wrong)
        self.preview = ui.refreshable(self._preview)

    def draw(self) -> None:
        """Draw all fields: those that most people need in front, the others by group, one click away."""
        with ui.column().classes("w-full") as self.place_of_k:
            self._k()
        with ui.element("div").style(GRID):
            for name in IN_FRONT:
                if name != "k":
                    self.inputs.draw(name, METHODS)
        with ui.column().classes("w-full gap-0 shoal-panels"):
            for group, fields in panels().items():
                self._panel(group, fields)
            self._policy()
            with self.view.part(_PLAN) as part:
                self.preview()
            part.on_value_change(self.preview.refresh)
        self.wrong()
        with ui.row().classes("items-center"):
            self.view.action("Protect", lambda: self._begin(self.work.protect))
            ui.select(
                ENDINGS, value=self.choices.ending, label="Write as", on_change=lambda e: self._write_as(e.value)
            ).props("dense outlined").style("min-width: 8rem")  # fmt: skip
            ui.button("Save the plan", on_click=self._save).props("outline no-caps")
        self._check()

    def _panel(self, group: str, fields: list[Field]) -> None:
        panel = self.view.part(group.capitalize()).props("caption-lines=2")
        self.panels[group] = panel, fields
        with panel:
            if group == _RULES:
                self._rules()
            with ui.element("div").style(GRID):
                for field in fields:
                    self.inputs.draw(field)

    def _begin(self, work: Callable[[], None]) -> None:
        """Begin some work, unless the plan itself is wrong."""
        try:
            self.work.plan()
        except PlanError as error:
            self.view.say(*error.messages)
        else:
            work()

    def _changed(self, name: str) -> None:
        """Follow a change: what was measured of another plan is no longer true."""
        self.work.release = None
        if name != "k" and self.work.map is not None:
            self.work.map = None
            self._k()
        self._check()

    def _k(self) -> None:
        self.place_of_k.clear()
        with self.place_of_k:
            number = draw_k(self.view, lambda: self._changed("k"), lambda: self._begin(self.work.draw_map))
            self.inputs.watch("k", number)

    def _write_as(self, ending: str) -> None:
        self.choices.ending = ending
        self.work.release = None
        self.preview.refresh()

    def _check(self) -> None:
        """Show what is wrong with the plan, beside the field where there is one, and what was set in each panel."""
        self.problems: dict[str, str] = {}
        try:
            self.work.plan()
        except PlanError as error:
            self.problems = beside(error, self.inputs.drawn)
        self.inputs.show(self.problems)
        for panel, fields in self.panels.values():
            names = [field.name for field in fields]
            set_, bad = (sum(name in given for name in names) for given in (self.choices.values, self.problems))
            said = [f"{set_} set"] if set_ else []
            said += [counted(bad, "problem")] if bad else []
            panel.props["caption"] = ", ".join(said or [field.label for field in fields])
            panel.props(f"header-class={'text-negative' if bad else ''}")
        self.wrong.refresh()
        self.preview.refresh()

    def _wrong(self) -> None:
        """Say what is wrong and belongs to none of the fields above."""
        problems = getattr(self, "problems", {})
        elsewhere = len(problems) - ("" in problems)
        if "" in problems:
            ui.label(problems[""]).classes("text-negative").props('role="status"')
        if elsewhere:
            ui.label(f"{counted(elsewhere, 'field')} above cannot be used as set.").classes("text-negative")

    def _preview(self) -> None:
        """Show the plan that the form makes, and the command that does the same, once this was unfolded."""
        if _PLAN not in self.view.unfolded:
            return
        try:
            plan = self.work.plan()
        except PlanError:
            ui.label("Correct the fields above to see the plan.")
            return
        ui.label("The same on the command line:").classes("text-secondary")
        self.view.code(self._command(plan), "the command line")
        ui.label("The plan:").classes("text-secondary")
        self.view.code(plan_text(plan), "the plan")

    def _command(self, plan: Plan) -> str:
        """Return the command that does what the plan asks; a seed is for the plan file alone."""
        command = protect_command(plan) if plan.seed is None else None
        return command or quoted(["shoal", "protect", "--plan", self._plan_name()])

    def _plan_name(self) -> str:
        return f"{self.work.target.name}.plan.toml"

    def _save(self) -> None:
        """Download the plan, to load it again here or to run it on the command line."""
        self._begin(lambda: ui.download.content(self.work.plan_file(), self._plan_name()))

    def _policy(self) -> None:
        """Take the limits of an office, against which the release is held."""
        path = self.choices.policy_file
        with self.view.part("Policy of your office"):
            ui.label(
                "A policy file has the limits that a release must meet. A release that fails a limit is not written."
            ).classes("text-secondary")
            if path is None:
                upload_button(self.view, "Load a policy", ".toml", self.work.take_policy)
                return
            policy = Policy.load(path)
            with ui.row().classes("items-center"):
                ui.label(f"{path.name}: {counted(len(policy.limits), 'limit')}")
                ui.button("Remove the policy", on_click=self._without_policy).props("flat no-caps")
            with ui.element("ul"):
                for name, limit in policy.limits.items():
                    with ui.element("li"):
                        ui.label(f"{name} = {limit:g}: {Policy.model_fields[name].description}")

    def _without_policy(self) -> None:
        self.work.take_policy(None)
        self.view.redraw()

    def _rules(self) -> None:
        """Take rules as lines, or as a file."""
        file, wanted = self.choices.edits_file, self.choices.edits_wanted
        if file is None and not wanted:
            self.inputs.draw("edits")
            upload_button(self.view, "Load a file of rules", ".sch,.xml,.txt", self.work.take_rules)
            return
        with ui.row().classes("items-center"):
            said = f"The plan needs the rules in {wanted}." if file is None else f"Rules of {file.name}"
            ui.label(said)
            if file is None:
                upload_button(self.view, f"Load {wanted}", ".sch,.xml,.txt", self.work.take_rules)
            ui.button("Remove the file", on_click=self._without_rules).props("flat no-caps")

    def _without_rules(self) -> None:
        self.work.take_rules(None)
        self.view.redraw()
