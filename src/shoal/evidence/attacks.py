"""Attacks on the three criteria of the Article 29 Working Party: singling out, linkability, inference.

Each is tried on people in the file, without looking at the file (baseline), and on people who are not in it (control):
what succeeds on these as well is knowledge about the population, not about the people in the file.

References
----------
Article 29 Data Protection Working Party (2014), Opinion 05/2014 on anonymisation techniques, WP216. Giomi, Boenisch,
Wehmeyer & Tasnádi (2022), A unified framework for quantifying privacy risk in synthetic data, Proceedings on Privacy
Enhancing Technologies 2023 (2), 312-328.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import DataError, PlanError
from shoal.kernels.encoded import EncodedMatrix
from shoal.measures.attack_rates import Rate, measured, rate
from shoal.measures.distance_linkage import some_records
from shoal.measures.equivalence_classes import published_classes
from shoal.measures.inference import best_guess, guesses_from_nearest, right_guesses
from shoal.measures.linkability import halves, linkable
from shoal.measures.singling_out import Predicate, at_random, read_off, singled_out
from shoal.pipeline.linkage_spaces import balanced_spaces
from shoal.plan import Plan
from shoal.tables import Table
from shoal.tables.attributes import CATEGORIES, Attribute, Codes, encode, without_declared

# Attacks of a kind, and how many of these times the records whether conditions hold.
MOST_ATTACKS = 5_000
MOST_CONDITIONS = 200_000_000
FEWEST_ATTACKS = 200

Pair = tuple[Attribute, Codes]  # an attribute of the original, and what the masked table has for it


@dataclass(frozen=True)
class Victims:
    """The file that is attacked, and people who are not in it."""

    known: Sequence[Pair]  # the quasi-identifiers, which the intruder knows
    sensitive: Sequence[Pair]
    control: dict[str, Codes] | None  # of both, by attribute
    plan: Plan
    tolerance: float

    @property
    def records(self) -> int:
        """How many people are in the file."""
        return len(self.known[0][1])

    @property
    def seed(self) -> int:
        """Of all that is drawn."""
        return self.plan.seed or 0

    def matrix(self, which: int) -> NDArray[np.float64]:
        """Return the known attributes as codes: of the original (0), of the masked table (1), of the control (2)."""
        return np.column_stack([_columns(pair, self.control)[which] for pair in self.known])

    def spaces(self) -> list[EncodedMatrix]:
        """Return the known attributes by the distance that masks: original, masked and, where there is one, control."""
        attributes = [attribute for attribute, _ in self.known]
        others = [[masked for _, masked in self.known]]
        if self.control is not None:
            others.append([self.control[attribute.name] for attribute in attributes])
        return balanced_spaces(attributes, others, self.plan)


def _columns(pair: Pair, control: dict[str, Codes] | None) -> list[Codes]:
    attribute, masked = pair
    return [attribute.codes, masked] + ([] if control is None else [control[attribute.name]])


def attacks(victims: Victims) -> dict[str, Any]:
    """Try all three attacks.

    Returns
    -------
    dict
        ``singling_out`` and ``linkability`` (None where there is one attribute), and ``inference`` by sensitive
        attribute (`shoal.assess` has None for one without values). Each has the ``attributes`` that the intruder knows,
        and as rates in ``percent`` with their 95 % ``interval``: ``main``, the attack; ``baseline``, the same without
        the file; ``gain``, what the attack does of what the baseline leaves undone; ``control``, the attack on people
        who are not in the file; ``risk``, what the attack does of what the control leaves undone. The last two are None
        without a control set. ``sampled`` is whether people were drawn. Singling out has ``main_like_control`` where
        the control set has fewer records than the original: the attack on as many records.
    """
    spaces = victims.spaces()
    return {
        "singling_out": {**_head(victims), **_singling_out(victims)},
        "linkability": _linkability(victims, spaces),
        "inference": {
            pair[0].name: {**_head(victims), **_inference(victims, pair, spaces)} for pair in victims.sensitive
        },
    }


def _head(victims: Victims) -> dict[str, Any]:
    return {"attributes": [attribute.name for attribute, _ in victims.known]}


def _singling_out(victims: Victims) -> dict[str, Any]:
    original, masked = victims.matrix(0), victims.matrix(1)
    nominal = np.array([attribute.type in CATEGORIES for attribute, _ in victims.known])
    count = min(MOST_ATTACKS, max(FEWEST_ATTACKS, MOST_CONDITIONS // len(original)))
    rng = np.random.default_rng(victims.seed)
    conditions = read_off(masked, nominal, count, rng)
    main = _alone(original, conditions)
    baseline = _alone(original, at_random(masked, nominal, count, rng))
    control = like = None
    if victims.control is not None:
        people = victims.matrix(2)
        size = min(len(people), len(original))
        control = _alone(people[some_records(len(people), size, victims.seed)], conditions)
        if size < len(original):
            like = _alone(original[some_records(len(original), size, victims.seed)], conditions)
    return {**measured(main, baseline, control, like), "sampled": True}


def _alone(people: NDArray[np.float64], conditions: list[Predicate]) -> Rate:
    found = singled_out(people, conditions)
    return rate(found.conditions, len(conditions), found.variance)


def _linkability(victims: Victims, spaces: list[EncodedMatrix]) -> dict[str, Any] | None:
    splits = halves(len(victims.known), victims.seed)
    if not splits:
        return None
    targets = _drawn(np.arange(victims.records), victims.seed)
    main = _linked(spaces[0].rows(targets), spaces[1], splits)
    guessed = 100 / victims.records
    baseline = {"percent": guessed, "interval": [guessed, guessed], "attacks": main["attacks"]}
    control = None
    if victims.control is not None:
        people = _drawn(np.arange(len(spaces[2].values)), victims.seed)
        control = _linked(spaces[2].rows(people), spaces[1], splits)
    names = _head(victims)["attributes"]
    return {
        "attributes": names,
        "sources": [[[names[j] for j in source] for source in split] for split in splits],
        **measured(main, baseline, control),
        "sampled": len(targets) < victims.records,
    }


def _linked(targets: EncodedMatrix, published: EncodedMatrix, splits: list[tuple[list[int], list[int]]]) -> Rate:
    found = linkable(targets, published, splits)
    return rate(float(found.sum()), len(found))


def _inference(victims: Victims, pair: Pair, spaces: list[EncodedMatrix]) -> dict[str, Any]:
    attribute, published = pair
    tolerance = victims.tolerance if attribute.type == "continuous" else 0.0
    everybody = np.flatnonzero(~attribute.missing)
    targets = _drawn(everybody, victims.seed)
    true = attribute.codes[targets]
    main = _guessed(spaces[0].rows(targets), spaces[1], published, true, tolerance)
    guess = best_guess(published, tolerance)
    baseline = rate(int(right_guesses(guess, true, tolerance).sum()), len(true))
    control = None
    if victims.control is not None:
        secrets = victims.control[attribute.name]
        people = _drawn(np.flatnonzero(~np.isnan(secrets)), victims.seed)
        control = _guessed(spaces[2].rows(people), spaces[1], published, secrets[people], tolerance)
    return {
        **measured(main, baseline, control),
        "tolerance": tolerance,
        "sampled": len(targets) < len(everybody),
    }


def _guessed(targets: EncodedMatrix, published: EncodedMatrix, sensitive: Codes, true: Codes, tolerance: float) -> Rate:
    guesses = guesses_from_nearest(targets, published, sensitive, tolerance)
    return rate(int(right_guesses(guesses, true, tolerance).sum()), len(true))


def _drawn(people: NDArray[np.int64], seed: int) -> NDArray[np.int64]:
    return people[some_records(len(people), MOST_ATTACKS, seed)]


def control_of(table: Table, attributes: Sequence[Attribute]) -> dict[str, Codes]:
    """Read people who are not in the file: the columns of the original that are compared, and the sensitive ones."""
    if absent := [each.name for each in attributes if each.name not in table.names]:
        raise PlanError("control-lacks-columns", field="control", columns=absent)
    found = {}
    for each in attributes:
        if each.type == "continuous":
            found[each.name] = encode(table, each.name, "continuous").codes
            continue
        codes = each.read(without_declared(table, each.name))
        if each.levels is not None and each.type in CATEGORIES:
            codes[np.isinf(codes)] = len(each.levels) - 1  # a category that the original has not
        if np.isinf(codes).any():
            record = int(np.argmax(np.isinf(codes))) + 1
            raise DataError("value-not-comparable", column=each.name, record=record)
        found[each.name] = codes
    return found


def overlap(attributes: Sequence[Attribute], control: dict[str, Codes]) -> dict[str, Any]:
    """Refuse a control set with people of the file, and return what was looked for.

    Different people may be alike in all columns. Of people who are not in the file, about as many are like one who is
    as people in the file are like another one there. And as many are like a record that is unique in the file as there
    are records in pairs there (Good 1953). More than chance makes of one of these is an overlap.

    Returns
    -------
    dict
        The columns that were ``compared``, sensitive ones too; the ``records`` of the control set; how many of these
        are ``alike`` with a record of the file, and how many by chance (``by_chance``).

    References
    ----------
    Good (1953), The population frequencies of species and the estimation of population parameters, Biometrika 40.
    """
    original = np.column_stack([each.codes for each in attributes])
    people = np.column_stack([control[each.name] for each in attributes])
    classes = published_classes(np.concatenate([original, people]))
    n, m = len(original), len(people)
    inside = np.bincount(classes.labels[:n], minlength=len(classes.size))
    met, own = inside[classes.labels[n:]], inside[classes.labels[:n]]
    compared = [each.name for each in attributes]
    for alike, twins in ((met > 0, own > 1), (met == 1, own == 2)):
        count, chance = int(alike.sum()), float(twins.mean())
        if count > chance * m + 3 * np.sqrt(chance * (1 - chance) * m) + (3 if chance else 0):
            found: dict[str, Any] = {"alike": count, "records": m, "chance": round(chance * m)}
            raise DataError("control-of-same-people", **found, columns=compared)
    return {"compared": compared, "records": m, "alike": int((met > 0).sum()), "by_chance": float((own > 1).mean() * m)}


def refuse_same(name: str, own: set[Any], others: set[Any]) -> None:
    """Refuse a control set with people whom a column of identifiers, which both files have, tells to be in the file."""
    if both := len((own & others) - {None}):
        raise DataError("control-of-same-identifiers", values=both, column=name)
