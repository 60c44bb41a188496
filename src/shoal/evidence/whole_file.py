"""Risk of a whole masked file in memory, for `check` and `assess`."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.backends.database import DuckPairs
from shoal.messages import Message
from shoal.pipeline.counting import distinct_column, known_values
from shoal.pipeline.doubts import identifying_profile, may_identify
from shoal.pipeline.units import trails_of
from shoal.pipeline.whole_file import Columns, as_number, as_unchanged, file_risk
from shoal.tables import Table
from shoal.tables.attributes import Codes


def whole_file(
    table: Table,
    k: int,
    masked: Sequence[str],
    roles: Mapping[str, str],
    synthetic: Sequence[str] = (),
    originals: Mapping[str, Codes] | None = None,
    nominal: Collection[str] = (),
    units: Sequence[dict[str, Any]] = (),
    unit: str | None = None,
    units_of: NDArray[np.int64] | None = None,
    *,
    households: bool = False,
    known_unit: bool = False,
) -> dict[str, Any]:
    """Measure the risk of a published table: see `shoal.pipeline.whole_file.file_risk`.

    Parameters
    ----------
    table
        What is published.
    k
        The minimum group size.
    masked, synthetic
        Its quasi-identifiers, and sensitive attributes with new values. All other columns count as released unchanged.
    roles
        The roles of these others where they are known; one without a role may be known to strangers.
    originals
        Original values of changed attributes, in the order of the table's records.
    nominal
        Those of them that are numbers of categories.
    units
        What is known of the units in groups.
    unit
        The column that tells units apart, which k counts; a stranger is presumed not to know it.
    units_of
        The units of the records, where the table has no such column.
    known_unit
        Whether the table has the original numbers of units, which strangers may know as any other column.
    households
        Whether what members of a household share was masked once.
    """
    changed = [*masked, *synthetic]
    others = [name for name in table.names if name not in changed and (known_unit or name != unit)]
    texts = [name for name in others if roles.get(name) == "confidential" and may_identify(table, name)]
    profiles = {name: identifying_profile(table, name) for name in texts}
    unchanged = [as_unchanged(table, name, roles.get(name, "publish"), profiles.get(name)) for name in others]
    keys = {name: f"k{j}" for j, name in enumerate(changed)}
    pairs = {keys[name]: distinct_column(table, name) for name in changed}
    for i, each in enumerate(unchanged):
        pairs[f"u{i}"] = distinct_column(table, each.name)
        if not each.key:
            pairs[f"v{i}"] = known_values(table, each.name)
        if each.number:
            pairs[f"n{i}"] = as_number(table.column(each.name))
    values = originals or {}
    pairs |= {f"x{j}": pa.array(codes, mask=np.isnan(codes)) for j, codes in enumerate(values.values())}
    if unit is not None:
        pairs["i0"] = known_values(table, unit) if units_of is None else pa.array(units_of)
    batch = pa.RecordBatch.from_pydict(pairs)
    columns = Columns(
        k,
        {name: keys[name] for name in masked},
        {name: keys[name] for name in synthetic},
        {name: f"x{j}" for j, name in enumerate(values)},
        unchanged,
        frozenset(nominal),
        unit=None if unit is None else "i0",
        households=households,
        refuses_l="--household" if households else "",
        **({} if originals is not None else {"described": Message("other-columns")}),
    )
    with DuckPairs(lambda: iter([batch])).kept() as database:
        trails = None
        if unit in table.names:
            own = [*columns.masked.values(), *(f"u{i}" for i, each in enumerate(unchanged) if each.key)]
            trails = trails_of(database, "i0", own, k)
        return file_risk(database, columns, units=units, trails=trails)
