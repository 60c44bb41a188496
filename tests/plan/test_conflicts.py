"""Fields of a plan that are wrong by themselves, and those that contradict others: each has a code and a field."""

import pytest
from tests.expect import codes, refused

from hybrid_samples import HYBRID, MS
from shoal import Plan, PlanError
from shoal.messages import Message

BOUNDS = {"age": [0, 120], "income": [0, 200_000]}
PRIVATE = {"k": 20, "identifiers": ["name"], "epsilon": 1, "bounds": BOUNDS}
K = {"k": 3}
QUASI = {"k": 3, "quasi": ["a", "b"]}
BEST = {**QUASI, "method": "best"}
MDAV = {**QUASI, "method": "mdav"}
MIC1D = {**QUASI, "method": "mic1d"}
UNIT = {**QUASI, "unit": "u"}
HOUSE = {**QUASI, "household": "h"}
ONLY = {**QUASI, "only": "at_risk"}
RULES = {**QUASI, "edits": ["a <= b"]}
SENSITIVE = {**QUASI, "confidential": ["c"]}
WEIGHTED = {**QUASI, "weights": "w", "preserve": "weighted_mean"}
TOTALS = {**QUASI, "keep_totals": ["d"]}
SHARES = {**QUASI, "p_percent": 10}
SEAMS, DIVIDED, MEASURED = {"block_size": 50, "seams": True}, {"block_size": 50}, {"block_size": "auto"}
TO_METHOD = {"kind": "method"}


@pytest.mark.parametrize(
    ("base", "options", "field", "code", "data"),
    [
        # What a field cannot be
        (K, {"k": 1}, "k", "too-small", {"limit": 2}),
        (K, {"k": "many"}, "k", "not-whole", {}),
        (K, {"k": 2.7}, "k", "not-whole", {}),
        (K, {"k": True}, "k", "not-whole", {}),
        (K, {"metod": "mdav"}, "metod", "unknown-field", {"near": "method"}),
        (K, {"zzz": 1}, "zzz", "unknown-field", {"near": ""}),
        (K, {"scale": {"blocksize": 9}}, "scale.blocksize", "unknown-field", {"near": "block_size"}),
        (K, {"scale": {"engine": "spark"}}, "scale.engine", "field-in-wrong-table", {"table": "scale"}),
        (K, {"scale": 5}, "scale", "not-a-table", {"item": ""}),
        (K, {"types": 5}, "types", "not-a-table", {"item": "attribute"}),
        (K, {"engine": "local"}, "engine", "not-a-choice", {"choices": ["memory", "file", "spark"]}),
        (K, {"method": "mdva"}, "method", "not-a-choice", {"value": "mdva", "near": "mdav"}),
        (K, {"only": "everyone"}, "only", "not-a-choice", {"only": "at_risk"}),
        (QUASI, {"types": {"a": "number"}}, "types.a", "not-a-choice", {}),
        (QUASI, {"aggregate": {"a": "most"}}, "aggregate.a", "not-a-choice", {}),
        (K, {"missing": "drop"}, "missing", "not-a-choice", {}),
        (K, {"blocks": "other"}, "blocks", "not-a-choice", {}),
        (K, {"method": "tour", "tour": "shortest"}, "tour", "not-a-choice", {}),
        (HYBRID, {"ipso": "literal"}, "ipso", "not-a-choice", {"choices": ["independent", "orthogonal"]}),
        (HYBRID, {"partition": "ward"}, "partition", "not-a-choice", {}),
        (HYBRID, {"constraints": {"income": "even"}}, "constraints.income", "not-a-choice", {}),
        (K, {"seed": "x"}, "seed", "not-whole", {}),
        (K, {"bound": "perhaps"}, "bound", "not-true-or-false", {}),
        (K, {"sheet": 5}, "sheet", "not-text", {}),
        (K, {"csv": {"delimiter": ";;"}}, "csv.delimiter", "not-one-character", {}),
        (K, {"csv": {"quote": 5}}, "csv.quote", "not-text", {}),
        (K, {"input": "a\0b.csv"}, "input", "not-a-path", {}),
        (K, {"quasi": 5}, "quasi", "not-names", {}),
        (K, {"quasi": []}, "quasi", "empty", {"example": ""}),
        (K, {"blocks": [["a"], []]}, "blocks", "empty", {}),
        (K, {"keep_totals": []}, "keep_totals", "empty", {}),
        (K, {"edits": []}, "edits", "empty", {}),
        (K, {"edits": 5}, "edits", "not-rules", {}),
        (QUASI, {"levels": {"a": []}}, "levels.a", "empty", {"example": "--levels=size=S,M,L"}),
        (QUASI, {"missing_codes": {"a": []}}, "missing_codes.a", "empty", {}),
        (QUASI, {"attribute_weights": {"a": 0}}, "attribute_weights.a", "too-small", {"limit": 0, "open": True}),
        (K, {"method": "vmdav", "gain": -1}, "gain", "too-small", {"limit": 0}),
        (SENSITIVE, {"t": 0.0}, "t", "too-small", {"limit": 0, "open": True}),
        (SENSITIVE, {"l": 1}, "l", "not-a-number-of-values", {}),
        (SENSITIVE, {"l": True, "l_form": "entropy"}, "l", "not-a-number-of-values", {}),
        (SENSITIVE, {"l": 1.0, "l_form": "entropy"}, "l", "not-a-number-of-values", {}),
        (SENSITIVE, {"l": 2, "l_form": "recursive", "c": 0}, "c", "too-small", {"limit": 0, "open": True}),
        (QUASI, {"aggregate": "order_statistic", "rank": 1.5}, "rank", "not-a-rank", {}),
        (K, {"budget": 0}, "budget", "not-a-budget", {}),
        (K, {"budget": "-5s"}, "budget", "not-a-budget", {}),
        (K, {"budget": "soon"}, "budget", "not-a-budget", {}),
        (K, {"budget": True}, "budget", "not-whole", {}),
        (MDAV, {"refine": 0.0}, "refine", "not-a-refinement", {}),
        (SHARES, {"p_percent": -1}, "p_percent", "too-small", {"limit": 0, "open": True}),
        (SHARES, {"p_percent": 101}, "p_percent", "too-large", {"limit": 100}),
        (SHARES, {"p_percent": True}, "p_percent", "not-a-number", {}),
        (K, {"dominance": [0, 60]}, "dominance", "not-a-dominance-rule", {"example": "--dominance=1,60"}),
        (K, {"dominance": [1, 100]}, "dominance", "not-a-dominance-rule", {}),
        (K, {"dominance": "1"}, "dominance", "not-a-dominance-rule", {}),
        (K, {"scale": {"block_size": "some"}}, "scale.block_size", "not-a-block-size", {}),
        (K, {"scale": {"block_size": True}}, "scale.block_size", "not-a-block-size", {}),
        (K, {"scale": {"block_size": 2.5}}, "scale.block_size", "not-a-block-size", {}),
        (K, {"scale": {"memory": "much"}}, "scale.memory", "not-a-memory-size", {}),
        (K, {"scale": {"memory": "1kB"}}, "scale.memory", "memory-too-small", {}),
        (PRIVATE, {"epsilon": 0}, "epsilon", "too-small", {"limit": 0, "open": True}),
        (PRIVATE, {"epsilon": float("inf")}, "epsilon", "not-a-number", {}),
        (PRIVATE, {"epsilon": "little"}, "epsilon", "not-a-number", {}),
        (PRIVATE, {"bounds": {**BOUNDS, "age": [0]}}, "bounds.age", "not-bounds", {}),
        # Recoding
        (QUASI, {"recode": {"a": [30, 18]}}, "recode.a", "cut-points-unordered", {}),
        (QUASI, {"recode": {"a": [18, 18]}}, "recode.a", "cut-points-unordered", {}),
        (QUASI, {"recode": {"a": [18, "2000-01-01"]}}, "recode.a", "cut-points-of-two-kinds", {}),
        (QUASI, {"recode": {"a": ["old"]}}, "recode.a", "not-a-cut-point", {}),
        (QUASI, {"recode": {"a": True}}, "recode.a", "not-a-recoding", {}),
        (QUASI, {"recode": {"a": [18, float("inf")]}}, "recode.a", "cut-point-not-finite", {}),
        (QUASI, {"recode": {"a": []}}, "recode.a", "empty", {"example": "--recode=age=18,30,45,65"}),
        (QUASI, {"recode": {"a": {}}}, "recode.a", "empty", {}),
        (QUASI, {"recode": {"a": {"north": []}}}, "recode.a", "new-level-of-none", {}),
        (QUASI, {"recode": {"a": {"n": ["A"], "s": ["B", "A"]}}}, "recode.a", "old-level-twice", {}),
        (QUASI, {"recode": {"a": {"n": [None]}}}, "recode.a", "not-an-old-level", {}),
        (QUASI, {"recode": {"a": {" ": ["A"]}}}, "recode.a", "empty-new-level", {}),
        (
            QUASI,
            {"recode": {"a": [18]}, "types": {"a": "continuous"}},
            "types",
            "type-not-of-recoding",
            {"column": "a", "type": "continuous", "made": ["ordinal"]},
        ),
        (
            QUASI,
            {"recode": {"a": {"n": ["A"]}}, "types": {"a": "date"}},
            "types",
            "type-not-of-recoding",
            {"column": "a", "type": "date", "made": ["nominal", "ordinal"]},
        ),
        (QUASI, {"recode": {"a": [18]}, "levels": {"a": [1, 2]}}, "levels", "levels-of-classes", {"column": "a"}),
        *(
            (QUASI, {"recode": {"w": [18]}, role: name}, "recode", "role-not-recoded", {"column": "w", "role": role})
            for role, name in {"weights": "w", "unit": "w", "household": "w", "identifiers": ["w"]}.items()
        ),
        # Roles, types and levels
        (QUASI, {"quasi": ["a", "a"]}, "quasi", "names-twice", {"column": "a"}),
        (QUASI, {"strata": ["a"]}, "strata", "two-roles", {"column": "a", "other": "quasi"}),
        (QUASI, {"publish": ["a"]}, "publish", "two-roles", {"column": "a", "other": "quasi"}),
        (QUASI, {"unit": "a"}, "unit", "two-roles", {"column": "a", "other": "quasi"}),
        (UNIT, {"identifiers": ["u"]}, "unit", "two-roles", {"column": "u", "other": "identifiers"}),
        (K, {"weights": "w", "quasi": ["w"]}, "weights", "two-roles", {"column": "w"}),
        (HYBRID, {"confidential": ["income", "age"]}, "confidential", "two-roles", {"column": "age"}),
        (QUASI, {"blocks": [["a"]]}, "blocks", "leaves-out", {"column": "b", "option": "--block"}),
        (QUASI, {"blocks": [["a"], ["b", "c"]]}, "blocks", "not-masked", {"column": "c"}),
        (K, {"blocks": [["a"], ["a"]]}, "blocks", "names-twice", {"column": "a"}),
        (QUASI, {"types": {"x": "nominal"}}, "types", "neither-masked-nor-sensitive", {"column": "x"}),
        (QUASI, {"missing_codes": {"x": [-9]}}, "missing_codes", "neither-masked-nor-sensitive", {"column": "x"}),
        (SENSITIVE, {"types": {"c": "nominal"}}, "types", "type-of-sensitive", {"column": "c"}),
        (SENSITIVE, {"levels": {"c": ["x", "y"]}}, "levels", "type-of-sensitive", {"column": "c"}),
        (QUASI, {"levels": {"x": ["y", "z"]}}, "levels", "not-masked", {"column": "x"}),
        (
            QUASI,
            {"levels": {"a": ["x", "y"]}, "types": {"a": "nominal"}},
            "levels",
            "levels-not-ordinal",
            {"column": "a", "type": "nominal"},
        ),
        (QUASI, {"levels": {"a": ["x", "x"]}}, "levels", "level-twice", {"column": "a"}),
        (QUASI, {"levels": {"a": ["x", ""]}}, "levels", "empty-level", {"column": "a"}),
        (QUASI, {"attribute_weights": {"x": 2}}, "attribute_weights", "not-masked", {"column": "x"}),
        (QUASI, {"aggregate": {"x": "mode"}}, "aggregate", "not-masked", {"column": "x"}),
        # Methods and aggregates
        (QUASI, {"method": "univariate"}, "method", "one-attribute-only", {}),
        (K, {"method": "univariate", "blocks": [["a", "b"]]}, "method", "one-attribute-only", {}),
        (QUASI, {"trim": 1}, "trim", "applies-only-with", {"needed": "--aggregate=trimmed_mean"}),
        ({"k": 4}, {"aggregate": "trimmed_mean", "trim": 2}, "trim", "trim-too-large", {"k": 4}),
        (QUASI, {"rank": 2}, "rank", "applies-only-with", {"needed": "--aggregate=order_statistic"}),
        (QUASI, {"aggregate": "order_statistic", "rank": 4}, "rank", "rank-above-k", {"k": 3}),
        (QUASI, {"gain": 0.2}, "gain", "not-for-method", {"method": "auto", "instead": "--method=vmdav"}),
        (QUASI, {"tour": "savings"}, "tour", "not-for-method", {"method": "auto", "instead": "--method=tour"}),
        (QUASI, {"method": "npn-mhm", "tour": "refined"}, "tour", "not-for-method", {"method": "npn-mhm"}),
        (
            QUASI,
            {"distance": "balanced", "standardize": "minmax"},
            "distance",
            "does-not-apply-with",
            {"value": "balanced", "other": "--standardize=minmax"},
        ),
        (MDAV, {"budget": "5s"}, "budget", "not-for-method", {"method": "mdav", **TO_METHOD}),
        (BEST, {"refine": True}, "refine", "not-for-method", {"method": "best", "instead": "--budget"}),
        (
            K,
            {"quasi": ["a"], "method": "univariate", "refine": True},
            "refine",
            "not-for-method",
            {"method": "univariate", "why": Message("already-optimal")},
        ),
        (MDAV, {"refine": 5, "budget": 10}, "budget", "does-not-apply-with", {"other": "--refine"}),
        (QUASI, {"weights": "w", "bound": True}, "bound", "does-not-apply-with", {"other": "--weights"}),
        (QUASI, {"block_size": 2}, "block_size", "applies-only-with", {}),
        (QUASI, {"blocks": "edits", "quasi": None}, "blocks", "does-not-apply-without", {"value": "edits"}),
        (MDAV, {"allow_unchanged": True}, "allow_unchanged", "not-for-method", {"instead": "--method=mic1d"}),
        (MDAV, {"partition": "optimal"}, "partition", "not-for-method", {"instead": "--method=mic1d"}),
        (MDAV, {"partition": "best"}, "partition", "not-for-method", {"instead": "--method=best, or --method=hybrid"}),
        (MIC1D, {"partition": "mdav"}, "partition", "not-for-method", {"value": "mdav"}),
        *(
            (MIC1D, {field: value}, field, "not-for-method", {"method": "mic1d", **TO_METHOD})
            for field, value in {
                "strata": ["s"],
                "aggregate": "median",
                "standardize": "minmax",
                "distance": "mdav-generic",
                "weights": "w",
                "edits": ["a <= b"],
                "bound": True,
                "p_percent": 10,
                "keep_totals": ["d"],
                "unit": "u",
                "household": "h",
                "only": "at_risk",
            }.items()
        ),
        (MIC1D, {"missing": "group"}, "missing", "not-for-method", {"value": "group"}),
        (MIC1D, {"scale": {"blocking": "2^d"}}, "scale.blocking", "not-for-method", {"method": "mic1d"}),
        # Record blocks
        (QUASI, {"scale": {"block_size": 2}}, "scale.block_size", "block-below-k", {"k": 3}),
        (QUASI, {"scale": {"blocking": "interval"}}, "scale.dimensions", "one-dimension-only", {"number": 0}),
        (
            QUASI,
            {"scale": {"blocking": "sorted", "dimensions": ["a", "b"]}},
            "scale.dimensions",
            "one-dimension-only",
            {"number": 2, "blocking": "sorted"},
        ),
        (QUASI, {"scale": {"blocking": "2^d", "dimensions": ["a", "a"]}}, "scale.dimensions", "names-twice", {}),
        (QUASI, {"scale": {"blocking": "2^d", "dimensions": ["x"]}}, "scale.dimensions", "not-masked", {"column": "x"}),
        (QUASI, {"scale": {"dimensions": ["a"]}}, "scale.dimensions", "applies-only-with", {}),
        (QUASI, {"scale": {"master": "local[2]"}}, "scale.master", "applies-only-with", {"needed": "--engine=spark"}),
        (QUASI, {"method": "pca", "scale": SEAMS}, "scale.seams", "not-for-method", {"instead": "--method=mdav"}),
        (HYBRID, {"scale": SEAMS}, "scale.seams", "not-for-method", {"method": "hybrid"}),
        (MS, {"scale": {"seams": True}}, "scale.seams", "not-for-method", {"method": "ms"}),
        (MS, {"scale": {"blocking": "2^d"}}, "scale.blocking", "not-for-method", {"method": "ms"}),
        (HYBRID, {"scale": MEASURED}, "scale.block_size", "not-for-method", {"value": "auto"}),
        (HYBRID, {"scale": {"block_size": 9}}, "scale.block_size", "block-below-k", {"k": 10}),
        (K, {"blocks": [["a"], ["b"]], "scale": SEAMS}, "scale.seams", "does-not-apply-with", {"other": "--blocks"}),
        (
            QUASI,
            {"missing": "group", "scale": SEAMS},
            "scale.seams",
            "does-not-apply-with",
            {"other": "--missing=group"},
        ),
        (QUASI, {"refine": True, "scale": SEAMS}, "refine", "does-not-apply-with", {"other": "--seams"}),
        (SENSITIVE, {"l": 2, "scale": SEAMS}, "scale.seams", "does-not-apply-with", {"other": "-l"}),
        (SENSITIVE, {"t": 0.2, "scale": SEAMS}, "scale.seams", "does-not-apply-with", {"other": "-t"}),
        # Weights, strata, units and households
        (QUASI, {"small_strata": "merge"}, "small_strata", "does-not-apply-without", {"option": "--strata"}),
        (QUASI, {"preserve": "weighted_mean"}, "preserve", "does-not-apply-without", {"option": "--weights"}),
        (WEIGHTED, {"missing": "group"}, "preserve", "does-not-apply-with", {"other": "--missing=group"}),
        (WEIGHTED, {"round": True}, "round", "does-not-apply-with", {"other": "--preserve"}),
        (WEIGHTED, {"restore_variance": True}, "restore_variance", "does-not-apply-with", {"other": "--preserve"}),
        (
            WEIGHTED,
            {"aggregate": "trimmed_mean"},
            "aggregate",
            "does-not-apply-with",
            {"value": "trimmed_mean", "other": "--weights", "instead": "--aggregate=mean or median"},
        ),
        (
            WEIGHTED,
            {"aggregate": "order_statistic"},
            "aggregate",
            "does-not-apply-with",
            {"value": "order_statistic", "instead": "--aggregate=median"},
        ),
        (QUASI, {"unit_as": "pseudonym"}, "unit_as", "does-not-apply-without", {"option": "--unit"}),
        (UNIT, {"method": "hybrid", "confidential": ["c"]}, "unit", "not-for-method", {"method": "hybrid"}),
        (UNIT, {"method": "insensitive"}, "unit", "not-for-method", {"method": "insensitive"}),
        (UNIT, {"scale": SEAMS}, "scale.seams", "does-not-apply-with", {"other": "--unit"}),
        (QUASI, {"household_as": "pseudonym"}, "household_as", "does-not-apply-without", {"option": "--household"}),
        (HOUSE, {"household_attributes": ["x"]}, "household_attributes", "not-masked", {"column": "x"}),
        (HOUSE, {"household_attributes": ["a", "a"]}, "household_attributes", "names-twice", {"column": "a"}),
        (HOUSE, {"blocks": [["a"], ["b"]]}, "blocks", "does-not-apply-with", {"instead": "--household-attributes"}),
        *(
            (HOUSE, {field: value}, field, "does-not-apply-with", {"other": "--household"})
            for field, value in {
                "edits": ["a >= 0"],
                "restore_variance": True,
                "bound": True,
                "unit": "u",
                "p_percent": 10,
                "keep_totals": ["d"],
            }.items()
        ),
        ({**HOUSE, "confidential": ["c"]}, {"l": 2}, "l", "does-not-apply-with", {"other": "--household"}),
        (HOUSE, {"method": "mic1d"}, "household", "not-for-method", {"instead": "--method=auto"}),
        (HOUSE, {"scale": MEASURED}, "scale.block_size", "does-not-apply-with", {"value": "auto"}),
        (HOUSE, {"scale": {"blocking": "2^d"}}, "scale.blocking", "does-not-apply-with", {"other": "--household"}),
        (HOUSE, {"scale": SEAMS}, "scale.seams", "does-not-apply-with", {"other": "--household"}),
        # Only records at risk
        *(
            (ONLY, {field: value}, field, "does-not-apply-with", {"other": "--only"})
            for field, value in {
                "blocks": [["a"], ["b"]],
                "edits": ["a >= 0"],
                "restore_variance": True,
                "bound": True,
                "p_percent": 10,
            }.items()
        ),
        ({**ONLY, "confidential": ["c"]}, {"l": 2}, "l", "does-not-apply-with", {"other": "--only"}),
        ({**WEIGHTED, "only": "at_risk"}, {}, "preserve", "does-not-apply-with", {"other": "--only"}),
        (ONLY, {"method": "mic1d"}, "only", "not-for-method", {"method": "mic1d"}),
        (
            ONLY,
            {"strata": ["s"], "small_strata": "merge"},
            "small_strata",
            "does-not-apply-with",
            {"value": "merge", "instead": "--small-strata=suppress"},
        ),
        (ONLY, {"scale": SEAMS}, "scale.seams", "does-not-apply-with", {"other": "--only"}),
        (ONLY, {"scale": MEASURED}, "scale.block_size", "does-not-apply-with", {"value": "auto"}),
        # Sensitive attributes
        (QUASI, {"l_form": "entropy"}, "l_form", "does-not-apply-without", {"option": "-l"}),
        (QUASI, {"l": 3}, "l", "does-not-apply-without", {"option": "--confidential"}),
        (QUASI, {"t": 0.1}, "t", "does-not-apply-without", {"option": "--confidential"}),
        (SENSITIVE, {"l": 2.5}, "l", "fraction-without-entropy", {}),
        (SENSITIVE, {"l": 2, "c": 3}, "c", "applies-only-with", {"needed": "--l-form=recursive"}),
        (SENSITIVE, {"l": 2, "l_form": "recursive"}, "c", "not-set", {"reason": "--l-form=recursive"}),
        (SENSITIVE, {"l": 2, "blocks": [["a"], ["b"]]}, "l", "does-not-apply-with", {"other": "--blocks"}),
        # Dominance and totals
        (
            QUASI,
            {"magnitudes": ["a"]},
            "magnitudes",
            "does-not-apply-without",
            {"option": "--p-percent or --dominance"},
        ),
        (SHARES, {"magnitudes": ["a", "a"]}, "magnitudes", "names-twice", {"column": "a"}),
        (SHARES, {"restore_variance": True}, "p_percent", "does-not-apply-with", {"other": "--restore-variance"}),
        (SHARES, {"scale": SEAMS}, "scale.seams", "does-not-apply-with", {"other": "--p-percent"}),
        (TOTALS, {"edits": ["a <= b"]}, "keep_totals", "does-not-apply-with", {"other": "--edits"}),
        (TOTALS, {"round": True}, "round", "does-not-apply-with", {"other": "--keep-totals"}),
        (TOTALS, {"restore_variance": True}, "restore_variance", "does-not-apply-with", {"other": "--keep-totals"}),
        ({**WEIGHTED, **TOTALS}, {}, "preserve", "does-not-apply-with", {"other": "--keep-totals"}),
        (TOTALS, {"missing": "group"}, "keep_totals", "does-not-apply-with", {"instead": "--missing=suppress"}),
        (TOTALS, {"scale": SEAMS}, "scale.seams", "does-not-apply-with", {"other": "--keep-totals"}),
        # Rules
        *(
            (QUASI, {field: value}, field, "does-not-apply-without", {"option": "--edits or --edit"})
            for field, value in {"edits_original": "keep", "recompute": "a", "adjust": ["a"]}.items()
        ),
        (RULES, {"recompute": ["x"]}, "recompute", "not-masked", {"column": "x"}),
        (RULES, {"restore_variance": True}, "restore_variance", "does-not-apply-with", {"other": "--edits"}),
        *(
            ({**HYBRID, "edits": ["age > 0"]}, {field: value}, field, "not-for-method", {"method": "hybrid"})
            for field, value in {"recompute": ["income"], "adjust": ["income"], "edits_original": "keep"}.items()
        ),
        # Hybrid data
        (MDAV, {"ipso": "orthogonal"}, "ipso", "not-for-method", {"instead": "--method=hybrid"}),
        (MDAV, {"mask_quasi": True}, "mask_quasi", "not-for-method", {"instead": "--method=hybrid"}),
        (
            MDAV,
            {"constraints": {"a": "integer"}},
            "constraints",
            "not-for-method",
            {"instead": "--method=hybrid or ms"},
        ),
        (MDAV, {"alpha": 0.3}, "alpha", "not-for-method", {"instead": "--method=ms"}),
        (HYBRID, {"alpha": 0.3}, "alpha", "not-for-method", {"method": "hybrid", "instead": "--method=ms"}),
        (HYBRID, {"partition": "optimal"}, "partition", "not-for-method", {"instead": "--partition=best"}),
        (
            HYBRID,
            {"partition": "best", "refine": True},
            "refine",
            "not-for-method",
            {"kind": "partition", "method": "best"},
        ),
        (HYBRID, {"gain": 0.5}, "gain", "not-for-method", {"kind": "partition", "instead": "--partition=vmdav"}),
        (HYBRID, {"budget": 10}, "budget", "not-for-method", {"instead": "--partition=best or --refine"}),
        (HYBRID, {"confidential": []}, "confidential", "not-set", {"reason": "--method=hybrid"}),
        (HYBRID, {"constraints": {"age": "integer"}}, "constraints", "not-sensitive", {"column": "age"}),
        (HYBRID, {"missing": "group"}, "missing", "not-for-method", {"value": "group"}),
        (HYBRID, {"mask_quasi": True, "quasi": None}, "mask_quasi", "does-not-apply-without", {"option": "--quasi"}),
        *(
            (HYBRID, {field: value}, field, "not-for-method", {"method": "hybrid", **TO_METHOD})
            for field, value in {
                "bound": True,
                "blocks": [["age"], ["height"]],
                "weights": "debt",
                "l": 2,
                "t": 0.2,
                "restore_variance": True,
            }.items()
        ),
        (HYBRID, {"aggregate": "median"}, "aggregate", "does-not-apply-without", {"option": "--mask-quasi"}),
        (HYBRID, {"round": True}, "round", "does-not-apply-without", {"option": "--mask-quasi"}),
        (MS, {"k": 3}, "k", "not-for-method", {"method": "ms"}),
        (MS, {"strata": ["town"]}, "strata", "not-for-method", {"method": "ms"}),
        (MS, {"alpha": None}, "alpha", "not-set", {"example": "--alpha=0.3"}),
        (MS, {"alpha": 1.0}, "alpha", "alpha-out-of-range", {}),
        (MS, {"alpha": [0.5, -0.1]}, "alpha", "alpha-out-of-range", {}),
        (MS, {"alpha": [0.5]}, "alpha", "alpha-shape", {"number": 2}),
        (MS, {"alpha": {"income": 0.5}}, "alpha", "leaves-out", {"column": "debt", "option": "--alpha"}),
        (MS, {"alpha": {"income": 0.5, "debt": 0, "x": 0}}, "alpha", "not-sensitive", {"column": "x"}),
        (MS, {"alpha": "much"}, "alpha", "not-a-number", {}),
        (MS, {"alpha": float("nan")}, "alpha", "not-a-number", {}),
        # Differential privacy
        (PRIVATE, {"epsilon": None}, "epsilon", "not-set", {"reason": "--bounds"}),
        (
            PRIVATE,
            {"epsilon": None, "bounds": {}, "method": "insensitive"},
            "epsilon",
            "not-set",
            {"reason": "--method=insensitive"},
        ),
        (PRIVATE, {"method": "mdav"}, "method", "does-not-apply-with", {"value": "mdav", "other": "--epsilon"}),
        (PRIVATE, {"method": "ms", "confidential": ["age"]}, "method", "does-not-apply-with", {"value": "ms"}),
        (
            PRIVATE,
            {"bounds": {"age": [0, 120]}, "quasi": ["age", "income"]},
            "bounds",
            "leaves-out",
            {"column": "income", "option": "--bounds"},
        ),
        (
            PRIVATE,
            {"bounds": {**BOUNDS, "name": [0, 1]}, "quasi": ["age", "income"]},
            "bounds",
            "not-masked",
            {"column": "name"},
        ),
        (PRIVATE, {"bounds": {}}, "bounds", "not-set", {"example": "--bounds=age=0,120"}),
        (PRIVATE, {"bounds": {"age": [120, 0]}}, "bounds.age", "bounds-not-apart", {}),
        (PRIVATE, {"bounds": {"age": [-1.7e308, 1.7e308]}}, "bounds.age", "bounds-not-apart", {}),
        (PRIVATE, {"bounds": {"age": [30.2, 30.8]}, "round": True}, "bounds.age", "bounds-without-whole", {}),
        (PRIVATE, {"bounds": {"age": [0, 1e16]}, "round": True}, "bounds.age", "bounds-without-whole", {}),
        *(
            (PRIVATE, {field: value}, field, "does-not-apply-with", {"other": "--epsilon"})
            for field, value in {
                "seed": 1,
                "missing_codes": {"age": [99]},
                "confidential": ["income"],
                "strata": ["age"],
                "weights": "age",
                "publish": "rest",
                "edits": ["age > 0"],
                "blocks": [["age"], ["income"]],
                "l": 2,
                "t": 0.2,
                "standardize": "minmax",
                "attribute_weights": {"age": 2},
                "budget": "1s",
                "refine": True,
                "bound": True,
                "restore_variance": True,
                "missing": "suppress",
                "recode": {"age": [18]},
                "p_percent": 10,
                "keep_totals": ["d"],
                "unit": "u",
                "household": "h",
                "only": "at_risk",
            }.items()
        ),
        (PRIVATE, {"aggregate": "median"}, "aggregate", "does-not-apply-with", {"instead": "--aggregate=mean"}),
        (PRIVATE, {"aggregate": {"age": "median"}}, "aggregate", "does-not-apply-with", {"other": "--epsilon"}),
        (PRIVATE, {"scale": DIVIDED}, "scale.block_size", "does-not-apply-with", {"other": "--epsilon"}),
    ],
    ids=str,
)
def test_a_mistake_has_its_code_and_its_field(base, options, field, code, data):
    with refused(PlanError, code, field, **data):
        Plan(**{**base, **options})


def test_all_mistakes_are_reported_together_each_naming_its_field():
    wrong = {"identifiers": ["b"], "metod": "mdav", "aggregate": "average", "small_strata": "merge"}
    with pytest.raises(PlanError) as caught:
        Plan(k=1, quasi=["a", "a"], confidential=["b"], **wrong)
    found = {each.field: each.code for each in caught.value.messages}
    assert found == {
        "k": "too-small",
        "aggregate": "not-a-choice",
        "metod": "unknown-field",
        "quasi": "names-twice",
        "identifiers": "two-roles",
        "small_strata": "does-not-apply-without",
    }


@pytest.mark.parametrize("rule", [{"p_percent": -1}, {"p_percent": True}, {"dominance": [0, 60]}], ids=str)
def test_a_rule_that_is_wrong_is_not_missed_by_magnitudes_too(rule):
    with pytest.raises(PlanError) as caught:
        Plan(k=3, quasi=["sales"], magnitudes=["sales"], **rule)
    assert [each.field for each in caught.value.messages] == [*rule]


def test_only_a_method_without_groups_needs_no_k():
    with refused(PlanError, "not-set", "k", name="k") as caught:
        Plan(quasi=["a"])
    assert codes(caught.value.messages) == ["not-set"]
    assert Plan(method="ms", confidential=["a"], alpha=0.3).k is None
