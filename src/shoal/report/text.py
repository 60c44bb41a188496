"""The sentences of a report: the verdict, what figures mean, and what nobody should read into a release."""

from typing import Any

from shoal.partitioning.methods import choose
from shoal.plan import Plan
from shoal.text import RISKS, counted

Summary = dict[str, Any]

_RISK_WORDS = {
    "uniques": "Nobody else has their combination of quasi-identifiers; 0 is safe.",
    "smallest": "The worst case: an intruder cannot tell these apart; at least k is safe.",
    "real_k": "Records that share their quasi-identifiers; higher is safer.",
    "reidentification": "Of one who knows all quasi-identifiers of somebody as they are published: 100 / k'; lower is "
    "safer.",
}
RISK_ROWS = {name: (said[0].upper() + said[1:], _RISK_WORDS[name]) for name, said in RISKS.items()}
LOSS_WORDS = {
    "IL": "SSE / SST, the squared differences to the original over those to the mean: 0 % changes nothing, at 100 % "
    "every record publishes the mean; lower is better.",
    "Mean moved": "in standard deviations of the original; 0 is best.",
    "Variance kept": "the variance published over that of the original; 100 % is best. Averages within groups lower "
    "it.",
    "Correlation moved": "the most that the correlation with another attribute changed; 0 is best.",
    "Changed": "records that publish another level or category than theirs; lower is better.",
}
SWEEP_WORDS = {
    "Loss (IL)": LOSS_WORDS["IL"],
    "Found as published": "records that an intruder links to the right person on average, who knows all "
    "quasi-identifiers as they are published; lower is safer.",
    "Found by distance": "the same for one who knows them as they were, and takes the nearest record; measured on at "
    "most 2,000 records, and for numbers without gaps only; lower is safer.",
    "Knee": "the row with the least loss and risk together, each counted from 0 at its best to 1 at its worst.",
}


_NOT_PRIVATE = (
    "That what many have in common cannot be learned: what is told of a group of people holds for its members too, "
    "whether they are in the file or not.",
    "That the number of records, the names and types of the attributes, k, epsilon and the bounds are secret.",
    "Several releases of the same people: their epsilons add up. So do those of people with several records each.",
    "Anything of this report: its figures before masking and of the loss have no noise; it is for the keeper of the "
    "original alone.",
)


def verdict(plan: Plan, summary: Summary, others: list[str]) -> str:
    """Summarize a release in one sentence: what holds, what it costs, what is not promised."""
    records = counted(summary["records"], "record")
    il = summary["loss"]["IL"]
    cost = "with nothing that could be lost" if il is None else f"at a loss of {il:.2f} % (IL)"
    if plan.draws:
        return _hybrid_verdict(plan, summary, records)
    after = summary["risk"]["after"]
    sizes = f"{counted(after['groups'], 'group')} of {_from_to(after['smallest'], after['largest'])}"
    if plan.method == "mic1d":
        return (
            f"No k is promised: {records} are published with {counted(len(plan.masked), 'attribute')} masked by mic1d, "
            f"{cost}; records that happen to be alike form {sizes}."
        )
    if plan.given_blocks:
        return (
            f"k = {plan.k:,} holds within each of {counted(len(plan.given_blocks), 'attribute block')}: {records} are "
            f"published {cost}; over all blocks together it is not promised, and the smallest group has "
            f"{after['smallest']:,}."
        )
    promised = "" if plan.epsilon is None else f", with differential privacy of epsilon = {plan.epsilon:g}"
    alike = f"share {'the masked attribute' if len(plan.masked) == 1 else f'all {len(plan.masked)} masked attributes'}"
    groups = f"{sizes} that {alike}{promised}"
    return f"k = {plan.k:,} holds: {records} are published in {groups}, {cost}; {_but(plan, others)}."


def _hybrid_verdict(plan: Plan, summary: Summary, records: str) -> str:
    made = counted(len(plan.confidential), "confidential attribute")
    if plan.mask_quasi:
        kept = f"k = {plan.k:,} holds for the quasi-identifiers"
    else:
        kept = "no k is promised, for quasi-identifiers are published as they are"
    return f"{records} are published with new values of {made}, made by {plan.method}; {kept}."


def _from_to(smallest: int, largest: int) -> str:
    return f"{smallest:,}" if smallest == largest else f"{smallest:,} to {largest:,}"


def _but(plan: Plan, others: list[str]) -> str:
    """Name the first thing that is not promised."""
    if plan.confidential and plan.l is None and plan.t is None:
        return "that the members of a group differ in what is confidential is not promised"
    if plan.epsilon is not None:
        return "that many releases together tell no more is not promised, for their epsilons add up"
    if others:
        return "attributes without a role are published as they are, and not protected"
    return "that nobody can tell whether somebody is in the file is not promised"


def not_promised(plan: Plan, others: list[str]) -> list[str]:
    """List what the method does not promise."""
    if plan.epsilon is not None:
        return list(_NOT_PRIVATE)
    found = []
    if plan.method == "mic1d":
        found.append("Groups: k counts values in a part of the whole table, and records may be unlike any other.")
    if plan.draws and not plan.mask_quasi:
        found.append(
            "That nobody is found: quasi-identifiers are published as they are. What an intruder then reads of "
            "somebody is made up, but for means and covariances."
        )
    if plan.given_blocks:
        found.append("k over all attribute blocks together: whoever knows attributes of several blocks finds fewer.")
    if plan.strata and not plan.draws:
        found.append("k where the strata are known too, if strata had to be merged.")
    if plan.confidential and not plan.draws:
        if plan.l is None and plan.t is None:
            found.append(
                "Differences within groups: confidential attributes are published as they are, and where all members "
                "of a group have the same value, it is known of each of them (see l-diversity and t-closeness)."
            )
        else:
            found.append("Protection from what confidential values are like, beyond the l or t that was asked for.")
    if others:
        found.append(
            "Protection of attributes without a role: they are published as they are, and whoever knows one of them "
            "may find somebody by it."
        )
    return [
        *found,
        "Protection from those who know more than the quasi-identifiers named here.",
        "Several releases of the same people: what each hides, two may show together.",
        "Differential privacy: that somebody is in the file, and what many have in common, can be learned from it.",
    ]


def why_chosen(plan: Plan, records: int, *, plain: bool) -> str:
    """Explain the method, where it is the one that Shoal would choose."""
    if plan.epsilon is not None:
        return f"{plan.method}, for epsilon is given: one record changes little in its groups."
    if plan.method in ("mic1d", "hybrid", "ms"):
        return f"{plan.method}, as asked for."
    widest = max(len(block) for block in plan.in_blocks)
    n = 0 if plan.scale is not None else records
    choice = choose("auto", widest, n, plain=plain, budget=plan.budget is not None)
    if choice.method == plan.method:
        return f"{plan.method}: {choice.why}. It is what 'auto' chooses here."
    return f"{plan.method}, as asked for; 'auto' would choose {choice.method} here."


def on_repeating(plan: Plan) -> str:
    """State whether the plan reproduces the release, and what became of a seed."""
    if plan.epsilon is not None:
        return (
            "The noise came from the cryptographic generator of the operating system, and there is no seed: the same "
            "plan gives other bytes each time. Every release made with it takes its epsilon anew."
        )
    if plan.draws:
        return (
            "Random numbers were drawn. Their seed is in no file and not in this report, for whoever has it can take "
            "the noise off again; the plan gives other values each time."
        )
    if (plan.method == "best" or plan.refine is not False) and plan.effort.seconds is not None:
        return "The search had a budget of time: the same plan may find other groups. No secret seed is involved."
    return "No secret seed is involved: the same plan, table and version give the same bytes again."


def sweep_verdict(rows: list[dict[str, Any]], knee: dict[str, Any] | None) -> str:
    """State in one sentence where the knee is."""
    if knee is None:
        return f"{counted(len(rows), 'choice')} compared; there is no knee, for loss and risk do not part them."
    several = len({row["method"] for row in rows}) > 1
    how = f" with {knee['method']}" if several else ""
    return (
        f"The knee is at k = {knee['k']:,}{how}: a loss of {knee['IL']:.2f} % (IL), and "
        f"{knee['reidentification']:.1f} % of the records found by whoever knows their quasi-identifiers as published; "
        "a larger k costs more than it protects."
    )
