"""Names by which messages tell rules apart."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from shoal.edits.expressions import Rule


def with_unique_names(rules: Sequence[Rule]) -> list[Rule]:
    """Give numbers to the rules of one name: 'total', 'total (2)', 'total (3)'."""
    taken = {rule.name for rule in rules}
    times: Counter[str] = Counter()
    named = []
    for rule in rules:
        times[rule.name] += 1
        name = rule.name
        while times[rule.name] > 1 and name in taken:  # also where a rule is called 'total (2)' of its own
            name = f"{rule.name} ({times[rule.name]})"
            times[rule.name] += name in taken
        taken.add(name)
        named.append(replace(rule, name=name))
    return named
