"""Seam repair: the loss falls, groups keep their sizes; and the cost of blocks is measured honestly."""

from types import SimpleNamespace

import numpy as np
import pytest
from bench.samples import distributed
from gathers import in_memory
from hypothesis import given
from hypothesis import strategies as st

import naive
from samples import loss, matrices
from shoal.blocking import block_records, cost_of_blocks, kd_blocks, partition_blocks, repair_seams
from shoal.blocking.cost import sse
from shoal.kernels.kd_nearest import nearest_points
from shoal.kernels.standardize import standardize
from shoal.partitioning.mdav import mdav
from shoal.pipeline import block_cost as estimate
from shoal.plan import Plan


@given(X=matrices(), m=st.integers(1, 20))
def test_the_nearest_points_are_those_of_a_sort_by_distance_and_index(X, m):
    Z = standardize(X)
    found = nearest_points(Z, Z, np.arange(len(Z)), min(m, len(Z)), np.zeros(2, np.int64))
    for i in range(len(Z)):
        by_distance = sorted(range(len(Z)), key=lambda j: (naive.squared_distance(Z[j], Z[i]), j))
        assert found[i].tolist() == by_distance[: min(m, len(Z))]


@given(X=matrices(most=400), data=st.data())
def test_repair_lowers_the_loss_and_keeps_groups_of_k_to_2k_less_1(X, data):
    Z = standardize(X)
    k = data.draw(st.integers(2, 5))
    if len(Z) < k:
        return
    blocks = kd_blocks(in_memory(Z), k, data.draw(st.integers(2 * k, 50))).assign(Z)
    labels = partition_blocks(Z, k, mdav, blocks)
    repaired = repair_seams(Z, k, labels)
    sizes = np.bincount(repaired)
    assert sizes.min() >= k
    assert sizes.max() < 2 * k
    assert loss(Z, repaired) <= loss(Z, labels) * (1 + 1e-9) + 1e-12


def test_records_on_either_side_of_a_border_come_together():
    x = np.array([0.0, 1, 10, 2, 11, 12])[:, None]
    labels = np.array([0, 0, 0, 1, 1, 1])
    assert repair_seams(x, 3, labels).tolist() == [0, 0, 1, 0, 1, 1]


@pytest.mark.parametrize("kind", ["uniform", "clustered"])
def test_small_blocks_with_repair_cost_less_than_5_percent(kind):
    Z = standardize(distributed(kind, 50_000, 2))
    blocks = kd_blocks(in_memory(Z), 3, 500).assign(Z)
    labels = repair_seams(Z, 3, partition_blocks(Z, 3, mdav, blocks))
    assert sse(Z, labels) <= 1.05 * sse(Z, mdav(Z, 3))


def test_the_cost_of_few_records_is_measured_on_all():
    Z = standardize(distributed("clustered", 5_000, 3))
    blocks = kd_blocks(in_memory(Z), 3, 500).assign(Z)
    cost = cost_of_blocks(Z, 3, mdav, blocks)
    assert cost.records == 5_000
    assert cost.blocked == pytest.approx(loss(Z, partition_blocks(Z, 3, mdav, blocks)))
    assert cost.whole == pytest.approx(loss(Z, mdav(Z, 3)))


def estimated(Z, blocks, seams=False):
    """What `block_cost` makes of numbers in these blocks."""
    plan = Plan(k=3, quasi=["x", "y"], method="mdav", scale={"block_size": 1_000, "seams": seams})
    place = blocks.assign(Z)
    masker = SimpleNamespace(
        plan=plan, sizes=blocks.sizes, blocks=blocks, plain=True, space=lambda rows: SimpleNamespace(values=rows)
    )
    return estimate.block_cost(lambda block: Z[place == block], masker, lambda *_: None)


@pytest.mark.parametrize("most", [500, 20_000])
def test_the_cost_of_many_records_is_estimated_on_as_many_as_allowed(most, monkeypatch):
    monkeypatch.setattr(estimate, "_SAMPLE", 12_000)
    Z = standardize(distributed("uniform", 60_000, 2))
    blocks = kd_blocks(in_memory(Z), 3, most)
    true = sse(Z, partition_blocks(Z, 3, mdav, blocks.assign(Z))) / sse(Z, mdav(Z, 3))
    cost = estimated(Z, blocks)
    assert 10_000 < cost.records <= 12_100
    assert cost.ratio == pytest.approx(true, abs=0.05)


def test_records_of_a_small_file_count_once():
    Z = standardize(distributed("uniform", 6_000, 2))
    blocks = kd_blocks(in_memory(Z), 3, 1_000)
    true = sse(Z, partition_blocks(Z, 3, mdav, blocks.assign(Z))) / sse(Z, mdav(Z, 3))
    cost = estimated(Z, blocks)
    assert cost.records == 6_000
    assert cost.ratio == pytest.approx(true)


def test_the_cost_of_repaired_blocks_is_lower(monkeypatch):
    monkeypatch.setattr(estimate, "_SAMPLE", 12_000)
    Z = standardize(distributed("clustered", 60_000, 2))
    blocks = kd_blocks(in_memory(Z), 3, 1_000)
    assert estimated(Z, blocks, seams=True).ratio < estimated(Z, blocks).ratio


@pytest.mark.slow
@pytest.mark.parametrize("d", [2, 5])
@pytest.mark.parametrize("kind", ["uniform", "clustered"])
def test_two_million_records_lose_little_by_blocks(kind, d):
    Z = standardize(distributed(kind, 2_000_000, d))
    whole = sse(Z, mdav(Z, 3))
    blocks = kd_blocks(in_memory(Z), 3, 2_000).assign(Z)
    assert sse(Z, repair_seams(Z, 3, partition_blocks(Z, 3, mdav, blocks))) <= 1.05 * whole
    blocks = kd_blocks(in_memory(Z), 3, block_records(10**9, d, len(Z), workers=2)).assign(Z)
    assert sse(Z, partition_blocks(Z, 3, mdav, blocks)) <= 1.01 * whole
