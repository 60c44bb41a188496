"""Parts of a plan with fields of their own: the tables `csv` and `scale` of a plan file, and what a budget means."""

from typing import Annotated, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from shoal.plan.fields import BlockRecords, Character, Each, Names, SomeNames, option


class Effort(NamedTuple):
    """How long a search may take: so many steps, so many seconds, or as long as suits the table."""

    steps: int | None = None
    seconds: float | None = None

    def of(self, share: float) -> "Effort":
        """Return a share of it."""
        steps = None if self.steps is None else max(1, round(self.steps * share))
        return Effort(steps, None if self.seconds is None else self.seconds * share)


class Csv(BaseModel):
    """The format of a CSV file. Whatever is left out is detected."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    delimiter: Character | None = option(
        None,
        "files",
        "delimiter of a CSV file, if not detected correctly",
        metavar="C",
        title="Delimiter",
    )
    quote: Character | None = option(
        None,
        "files",
        "quote character of a CSV file, if not detected correctly",
        metavar="C",
        title="Quote character",
    )
    decimal: Literal[".", ","] | None = option(
        None,
        "files",
        "decimal character of a CSV file (`.` or `,`), if not detected correctly",
        metavar="C",
        title="Decimal character",
    )
    encoding: str | None = option(
        None,
        "files",
        "encoding of a CSV file, such as utf-8, cp1252 or latin-1, if not detected correctly",
        metavar="NAME",
        title="Encoding",
    )
    missing: Names = option(
        [],
        "files",
        "words that mean a missing value in a CSV file, such as NA or ?",
        each=Each("--missing-word", "WORD", "a word that means a missing value in a CSV file; once for each word"),
        title="Words for missing values",
    )


class Scale(BaseModel):
    """How a table is divided into record blocks, and what the work may use."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    block_size: BlockRecords | None = option(
        None,
        "scale",
        "maximum number of records in a record block, at least `k`; `auto` measures on a sample which loses little; as "
        "many as memory allows if left out",
        "--block-records",
        metavar="N",
        public=True,
        title="Records per block",
    )
    blocking: Literal["kd", "2^d", "interval", "sorted"] = option(
        "kd",
        "scale",
        "record blocks: halves of equal size (`kd`), the cells of a 2^d-tree (`2^d`), or by one attribute, in equal "
        "intervals (`interval`) or equal numbers of records (`sorted`)",
        public=True,
        title="How blocks are formed",
    )
    dimensions: SomeNames | None = option(
        None,
        "scale",
        "with `2^d`: attributes whose ranges are halved, all masked ones if left out; with `interval` and `sorted`: "
        "the attribute to divide by",
        public=True,
        title="Attributes to divide by",
    )
    seams: bool = option(
        False,
        "scale",
        "let records move across the borders of record blocks afterwards",
        public=True,
        title="Mend the seams",
    )
    memory: Annotated[str, Field(pattern=r"^\s*\d+(\.\d+)?\s*[KMGTkmgt][iI]?[bB]?\s*$")] | None = option(
        None,
        "scale",
        "maximum memory, such as 4GB; what the machine has free if left out",
        metavar="SIZE",
        title="Memory",
    )
    master: str | None = option(
        None,
        "scale",
        "with `engine` spark: address of the cluster, such as local[2]",
        metavar="URL",
        title="Spark cluster",
    )

    @property
    def most(self) -> int | None:
        """The maximum number of records in a block; None where it is left open, or to the data."""
        return self.block_size if isinstance(self.block_size, int) else None

    @property
    def memory_bytes(self) -> int | None:
        """The memory in bytes: GB are thousands of thousands of thousands, GiB powers of two."""
        if self.memory is None:
            return None
        text = self.memory.strip().upper().rstrip("B")
        base = 1024 if text.endswith("I") else 1000
        number, unit = text.rstrip("I")[:-1], text.rstrip("I")[-1]
        return int(float(number) * base ** ("KMGT".index(unit) + 1))
