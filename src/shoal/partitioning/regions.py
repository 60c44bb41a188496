"""Cutting many records into regions of whole groups, so that each can be refined by itself."""

import numpy as np
import numpy.typing as npt


def regions(
    X: npt.NDArray[np.float64], labels: npt.NDArray[np.int64], most: int, share: float
) -> list[npt.NDArray[np.int64]]:
    """Cut records into compact regions of at most `most` records; no group is divided.

    The centroids of the groups are cut across their widest attribute, the parts again, and so on, as for a k-d tree;
    each time, this share of the groups is on one side. Another share makes other borders.

    Returns
    -------
    list of arrays
        The records of each region by their index, in ascending order.
    """
    size = np.bincount(labels)
    centroids = np.stack([np.bincount(labels, x) / size for x in X.T], axis=1)
    order = np.argsort(labels, kind="stable")
    starts = np.concatenate([[0], np.cumsum(size)])
    found = []
    waiting = [np.arange(len(size))]
    while waiting:
        groups = waiting.pop()
        if len(groups) == 1 or size[groups].sum() <= most:
            found.append(np.sort(np.concatenate([order[starts[g] : starts[g + 1]] for g in groups])))
            continue
        inside = centroids[groups]
        widest = int(np.argmax(np.ptp(inside, axis=0)))
        at = min(max(int(share * len(groups)), 1), len(groups) - 1)
        cut = np.argpartition(inside[:, widest], at)
        waiting += [groups[cut[:at]], groups[cut[at:]]]
    return found


def within(records: npt.NDArray[np.int64], near: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """Return the neighbour lists of some records, by their place among these; the record itself for any other."""
    place = np.full(len(near), -1, np.int32)
    place[records] = np.arange(len(records), dtype=np.int32)
    lists = place[near[records]]
    return np.where(lists < 0, np.arange(len(records), dtype=np.int32)[:, None], lists)
