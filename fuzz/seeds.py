"""Small inputs that are right, made by the package itself: where mutation starts."""

import io
import zipfile
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.parquet as pq

from fuzz.oracle import SECRET, SECRET_NUMBER, file_of
from shoal.tables import open_table, write_table

_TABLE = pa.table(
    {
        "age": [31, 72, 33, 70, 55, 42],
        "income": [1000.5, SECRET_NUMBER + 0.5, 1e308, -0.0, 5e-324, None],
        "town": [SECRET, "b", "b", None, "c d", SECRET],
        "born": pa.array([0, 1, 2, 3, 4, 20000], pa.date32()),
        "kept": [True, False, True, True, None, False],
    }
)
CSV = [
    f"age,income,town\n31,1000.5,{SECRET}\n72,{SECRET_NUMBER},b\n33,,b\n70,-0.0,\n",
    f'"a";"b"\r\n"1,5";"{SECRET}"\r\n"2,25";"x""y"\r\n3;z\r\n',
    f"a\tb\n2020-01-01\t{SECRET_NUMBER}\n2021-02-03\t9007199254740993\n1999-12-31\t1e308\n",
    "'a','b'\n'1','2'\n'3','it''s'\n",
    f"x\n{SECRET_NUMBER}\n\n3\ntrue\n",
]
XML = [
    f"<Records><Record><V1>1</V1><V2>{SECRET}</V2></Record><Record><V1>2.5</V1><V2/></Record></Records>",
    f'<?xml version="1.0" encoding="ISO-8859-1"?>\n<a><!-- c --><b><x>{SECRET_NUMBER}</x></b><b><x>&#233;</x></b></a>',
]
SCHEMATRON = [
    """<schema xmlns="http://purl.oclc.org/dsdl/schematron"><let name="o" value="document('a.xml')"/>
<pattern name="a"><rule context="Record[number(V8) &lt; 1115]"><assert test="V1 = $o//V1">&amp;</assert></rule>
<rule context="//Record"><report test="V2 = 1"><value-of select="V2"/></report></rule></pattern></schema>""",
    """<pattern id="p"><rule context="V1"><assert id="i" test="number(.) &gt;= 0">x</assert></rule></pattern>
<pattern><rule abstract="true" id="r"><assert test="V1 != ''"/></rule></pattern>""",
]
XPATH = [
    "1.0 * number(V9) + 1.0 * number(V10) = number(V14)",
    "not(number(V8) < 1115) or (number(V13) <= number(V12))",
    "exists(index-of($o//Record/V1, V1)) and V1 = ('a', 'b')",
    "if (V1 = '') then round(V2 div 3) mod 2 eq -1 else true()",
    "abs(floor(V1) - ceiling(-V2)) >= string(V3) or empty(V4/text()) and document('a')//V1 = .",
]
RULES = [
    "total: V9 + V10 == V14  # sums\n0 <= V3 <= 7500\n",
    "if V8 < 1115 then V13 <= V12 else `family income` is not missing",
    "town in original and sex in {1, 'b', -2.5e3} or not (abs(-x) % 2 != .5)\r\nx is integer",
]
PLANS = [
    'k = 5\nquasi = ["age", "income"]\nmethod = "best"\nbudget = "60s"\nmissing = "group"\n[types]\nage = "ordinal"\n',
    'k = 3\nblocks = [["a"], ["b", "c"]]\nweights = "w"\npreserve = "weighted_mean"\n[csv]\ndelimiter = ";"\n'
    '[scale]\nblock_size = 200_000\nmemory = "4GB"\n',
    'method = "ms"\nconfidential = ["x", "y"]\nalpha = [[0.5, 0.0], [0.0, 0.5]]\nseed = 7\n'
    '[constraints]\nx = "integer"\n',
    'k = 4\nl = 2\nt = 0.3\nstrata = "s"\nedits = ["a <= b"]\nadjust = ["a"]\n[levels]\nq = ["S", "M", 3, 4.5]\n'
    '[aggregate]\na = "median"\n[attribute_weights]\na = 2.5\n',
]


def texts(*given: str) -> list[bytes]:
    """Give texts as bytes, the first in UTF-16 and Windows-1252 too."""
    return [*(text.encode() for text in given), given[0].encode("utf-16"), given[0].encode("cp1252", "replace")]


def parquet() -> Iterator[bytes]:
    """Make Parquet files without checksums and compression, so that mutation gets to their inside."""
    for version, dictionary in (("1.0", False), ("2.6", True)):
        sink = io.BytesIO()
        pq.write_table(_TABLE, sink, compression="none", version=version, use_dictionary=dictionary)
        yield sink.getvalue()


def arrow() -> Iterator[bytes]:
    """Make an Arrow file and streams, of many types."""
    columns = [("d", pa.array(["a", SECRET, "a"]).dictionary_encode()), ("l", pa.array([[1], [], None]))]
    columns += [("n", pa.nulls(3)), ("e", pa.array([1.5, 2.5, None]).cast(pa.decimal128(9, 2)))]
    for table in (_TABLE, pa.table(dict(columns))):
        sink = io.BytesIO()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        yield sink.getvalue()
    sink = io.BytesIO()
    with pa.ipc.new_file(sink, _TABLE.schema) as file:
        file.write_table(_TABLE)
    yield sink.getvalue()


def workbook() -> dict[str, bytes]:
    """Make an Excel workbook, as its parts by name."""
    path = file_of(b"", "seed.xlsx")
    write_table(open_table(_TABLE.drop_columns(["kept"])), path, "excel")
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    path.unlink()
    return parts
