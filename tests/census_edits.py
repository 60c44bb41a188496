"""The five rules of Torra, Cano and Navarro-Arribas as they print them, and the Census data that they are about."""

import numpy as np
import pyarrow as pa
import pyarrow.csv

FIGURE_1 = """<pattern name="EC-LC: V9+V10 = V14" >
  <rule context="Record" >
    <assert test="1.0 * number(V9)
      + 1.0 * number(V10)
      = number(V14)" >
      Linear Constraint
      total_others <value-of select="V9" />
      + total_personal <value-of select="V10" />
      != total_family <value-of select="V14" />
    </assert>
  </rule>
</pattern>
"""

FIGURE_2 = """<pattern name="EC-NLC: V5*V15 = V16" >
  <rule context="Record" >
    <assert test="number(V5)
      * number(V15)
      = number(V16)" >
      Non-linear Constraint
      fed. income tax <value-of select="V5" />
      * inv. state income tax
      <value-of select="V15" />
      != fed./state ratio
      <value-of select="V16" />
    </assert>
  </rule>
</pattern>
"""

FIGURE_3 = """<pattern name="EC-PV: V3 in [0, 7500]">
  <rule context="Record">
    <assert test="0 &lt;= number(V3) and
      number(V3) &lt;= 7500">
      Constraints on possible values
      Employer contribution for health care
      <value-of select="V3"/>
      is not in the interval [0, 7500]
    </assert>
  </rule>
</pattern>
"""

FIGURE_4 = """<pattern name="EC-LC: if V8 &lt; 1115 then
  V13 &lt;= V12">
  <rule context="Record">
    <assert test="not(number(V8) &lt; 1115) or
      (number(V13) &lt;= number(V12))">
      IF total person earnings
      <value-of select="V8"/>
      &lt; 1115 THEN
      total wage and salary
      <value-of select="V13"/>
      &lt;= taxable income
      <value-of select="V12"/>
      does not hold
    </assert>
  </rule>
</pattern>
"""

FIGURE_5 = """<pattern name="Value-domain restriction">
  <rule context="Record">
    <let name="original"
        value="document('microdata.xml')"/>
    <assert test="exists(index-of
                        ($ original //Record/V1, V1))">
      Value <value-of select="V1"/>
      is not in domain of original values for V1
    </assert>
  </rule>
</pattern>
"""

FIGURES = FIGURE_1 + FIGURE_2 + FIGURE_3 + FIGURE_4 + FIGURE_5
# What a plain validator, which knows XPath 1.0 only, can check: all but the last.
ISO = (
    '<schema xmlns="http://purl.oclc.org/dsdl/schematron">'
    + (FIGURE_1 + FIGURE_2 + FIGURE_3 + FIGURE_4).replace("pattern name=", "pattern id=")
    + "</schema>"
)


def census_with_edits(path) -> pa.Table:
    """Read Census with its columns named V1 to V13 in file order, and V14 = V9 + V10, V15 = 1 / V11, V16 = V5 V15."""
    census = pyarrow.csv.read_csv(path)
    columns = {f"V{j + 1}": census.column(j).combine_chunks() for j in range(census.num_columns)}
    number = {name: column.to_numpy().astype(np.float64) for name, column in columns.items()}
    columns["V14"] = pa.array((number["V9"] + number["V10"]).astype(np.int64))
    columns["V15"] = pa.array(1 / number["V11"])
    columns["V16"] = pa.array(number["V5"] * (1 / number["V11"]))
    return pa.table(columns)
