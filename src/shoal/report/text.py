"""The sentences of a report: the verdict, what the figures mean, and what a release does not promise."""

from collections.abc import Collection
from typing import Any

from shoal.partitioning.methods import choose
from shoal.plan import Plan
from shoal.tables.attributes import NUMBERS
from shoal.text import RISKS, UNIT_RISKS, counted

Summary = dict[str, Any]

_RISK_WORDS = {
    "uniques": "No other record has their combination of values; lower is safer.",
    "smallest": "The worst case: an intruder cannot tell these apart; higher is safer.",
    "real_k": "Records that share their values; higher is safer.",
    "reidentification": "For an intruder who knows these values as published and guesses within the group: 100 / k'; "
    "lower is safer.",
}
_UNIT_WORDS = {
    **_RISK_WORDS,
    "uniques": "All their records are of one person or firm; lower is safer.",
    "real_k": "Different units that share their values; higher is safer.",
}


def risk_rows(plan: Plan) -> dict[str, tuple[str, str]]:
    """Return the figures of a risk, each with what it says; where k counts units, in units."""
    figures, words = (RISKS, _RISK_WORDS) if plan.unit is None else (UNIT_RISKS, _UNIT_WORDS)
    return {name: (said[0].upper() + said[1:], words[name]) for name, said in figures.items()}


LOSS_WORDS = {
    "IL": "SSE / SST, the squared differences to the original over those to the mean: 0 % changes nothing, at 100 % "
    "every record publishes the mean; lower is better.",
    "Mean moved": "in standard deviations of the original; 0 is best.",
    "Variance kept": "the variance published over that of the original; 100 % is best. Averages within groups lower "
    "it.",
    "Correlation moved": "the most that the correlation with another attribute changed; 0 is best.",
    "Changed": "records that publish another level or category than theirs; lower is better.",
}
_OF_NUMBERS = ("Mean moved", "Variance kept", "Correlation moved")
SWEEP_WORDS = {
    "Loss (IL)": LOSS_WORDS["IL"],
    "Linked": "records linked to the right person by an intruder who knows all original quasi-identifiers and "
    "takes the nearest published record, by the distance used for masking; measured on at most 2,000 "
    "records.",
    "Unique": "records that no other equals in all released columns except the sensitive ones.",
    "Risk": "the higher of the two; lower is safer.",
}


_NOT_PRIVATE = (
    "What many people have in common can be learned: it holds for each of them, whether in the file or not.",
    "The number of records, the names and types of the attributes, k, epsilon and the bounds are not secret.",
    "Several releases of the same people: their epsilons add up. So do those of people with several records each.",
)


def loss_words(types: Collection[str]) -> dict[str, str]:
    """Explain the measures of loss that attributes of these types have."""
    numbers, others = [each in NUMBERS for each in types], [each not in NUMBERS for each in types]
    left_out = [*([] if any(numbers) else _OF_NUMBERS), *([] if any(others) else ["Changed"])]
    return {word: meaning for word, meaning in LOSS_WORDS.items() if word not in left_out}


def verdict(plan: Plan, summary: Summary) -> str:
    """Summarize in one sentence what holds for the masked attributes, and what it costs."""
    records = counted(summary["records"], "record")
    if plan.draws:
        return _hybrid_verdict(plan, summary, records)
    after = summary["risk"]["after"]
    units = "" if plan.unit is None else " units"
    sizes = f"{counted(after['groups'], 'group')} of {_from_to(after['smallest'], after['largest'])}{units}"
    what = "the masked attribute" if len(plan.masked) == 1 else f"the {len(plan.masked)} masked attributes"
    held = f"k = {plan.k:,}{units} holds for {what}: {records} are published in {sizes}"
    if plan.epsilon is not None:
        return f"{held}, with differential privacy of epsilon = {plan.epsilon:g}."
    il = summary["loss"]["IL"]
    cost = "with nothing to lose" if il is None else f"at a loss of {il:.2f} % (IL)"
    if plan.method == "mic1d":
        return (
            f"No k is promised: {records} are published with {counted(len(plan.masked), 'attribute')} masked by mic1d, "
            f"{cost}; records that happen to be alike form {sizes}."
        )
    if plan.given_blocks:
        return (
            f"k = {plan.k:,} holds within each of {counted(len(plan.given_blocks), 'attribute block')}: {records} are "
            f"published {cost}; over all blocks together k is not promised, and the smallest group has "
            f"{after['smallest']:,}."
        )
    return f"{held}, {cost}."


def _hybrid_verdict(plan: Plan, summary: Summary, records: str) -> str:
    made = counted(len(plan.confidential), "confidential attribute")
    if plan.mask_quasi:
        kept = f"k = {plan.k:,} holds for the quasi-identifiers"
    else:
        kept = "no k is promised, because quasi-identifiers are released unchanged"
    return f"{records} are published with new values of {made}, made by {plan.method}; {kept}."


def _from_to(smallest: int, largest: int) -> str:
    return f"{smallest:,}" if smallest == largest else f"{smallest:,} to {largest:,}"


def not_promised(plan: Plan, others: list[str]) -> list[str]:
    """List what the method does not promise."""
    if plan.epsilon is not None:
        return list(_NOT_PRIVATE)
    found = []
    if plan.method == "mic1d":
        found.append("Groups: k counts values in a part of the whole table, and records may be unique.")
    if plan.draws and not plan.mask_quasi:
        found.append(
            "Protection from re-identification: quasi-identifiers are released unchanged. The confidential values that "
            "an intruder then finds are synthetic, except for means and covariances."
        )
    if plan.given_blocks:
        found.append("k over all attribute blocks together: an intruder who knows several blocks finds fewer.")
    if plan.strata and not plan.draws:
        found.append("k where the strata are known too, if strata had to be merged.")
    if plan.confidential and not plan.draws:
        if plan.l is None and plan.t is None:
            found.append(
                "Diversity within groups: confidential attributes are released unchanged. Where all members of a group "
                "have the same value, it is disclosed for each of them (see l-diversity and t-closeness)."
            )
        else:
            found.append("Protection of confidential values beyond the l or t that was requested.")
    if others:
        found.append(
            "Protection of the attributes in `publish`: they are released unchanged, and an intruder who knows one of "
            "them may re-identify a person by it."
        )
    return [
        *found,
        "Protection from intruders who know more than the quasi-identifiers named here.",
        "Several releases of the same people: two may disclose together what each of them hides.",
        "Differential privacy: a release may show whether a person is in the file, and what many have in common.",
    ]


def why_chosen(plan: Plan, records: int, *, plain: bool) -> str:
    """Explain the method, where it is the one that Shoal would choose."""
    if plan.epsilon is not None:
        return f"{plan.method}, because epsilon is given: one record changes little in its groups."
    if plan.method in ("mic1d", "hybrid", "ms"):
        parts = "" if plan.partition is None else f", with the partition '{plan.partition}'"
        return f"{plan.method}{parts}, as requested."
    widest = max(len(block) for block in plan.in_blocks)
    n = 0 if plan.scale is not None else records
    limited = plan.l is not None or plan.t is not None
    choice = choose("auto", widest, n, plain=plain, limited=limited, budget=plan.budget is not None)
    if choice.method == plan.method:
        return f"{plan.method}: {choice.why}. It is what 'auto' chooses here."
    return f"{plan.method}, as requested; 'auto' would choose {choice.method} here."


def on_repeating(plan: Plan) -> str:
    """State whether the plan reproduces the release, and what became of a seed."""
    if plan.epsilon is not None:
        return (
            "The noise came from the cryptographic generator of the operating system, and there is no seed: the same "
            "plan gives other bytes each time. Every further release spends its epsilon again."
        )
    if plan.draws:
        return (
            "Random numbers came from a secret that is in no published file and not in this report, because anyone who "
            "has it can remove the noise; with it, the same plan and table give the same values again."
        )
    if (plan.grouping == "best" or plan.refine is not False) and plan.effort.seconds is not None:
        return "The search had a time budget: the same plan may find other groups. No secret seed is involved."
    return "No secret seed is involved: the same plan, table and version give the same bytes again."
