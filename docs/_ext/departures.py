"""The directive `departures`: where Shoal differs from a paper, why, and how to get the paper's version.

The table is read by the tests too: every plan in it is run.
"""

from dataclasses import dataclass
from typing import ClassVar

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.typing import ExtensionMetadata

PAPERS = {
    "mic1d": "J. Nin, *Beyond multivariate microaggregation for large record anonymization*",
    "fdm": "R. Mortazavi and S. Jalili (2014), *Fast data-oriented microaggregation algorithm for large numerical "
    "datasets*",
    "mdav": "MDAV-generic: J. Domingo-Ferrer and V. Torra (2005), *Ordinal, continuous and heterogeneous k-anonymity "
    "through microaggregation*",
    "blocking": "J. Domingo-Ferrer (2008), *Blocking methods for microdata protection*; the 2^d-tree of Solanas and "
    "others (2006)",
    "hybrid": "J. Domingo-Ferrer and Ú. González-Nicolás (2009, 2010), *Hybrid microdata using microaggregation*",
    "edits": "V. Torra, I. Cano and G. Navarro-Arribas (2009), *Dealing with edit constraints in microdata protection*",
}


# The first words of lines that only the tests need
EXAMPLE = ("k", "quasi", "confidential", "seed", "edits", "[scale]", "[aggregate]")


@dataclass(frozen=True)
class Departure:
    """One difference between a paper and what Shoal does unless told otherwise."""

    paper: str  # a key of PAPERS
    printed: str  # what the paper has
    ours: str  # what Shoal does
    reason: str
    plan: str = ""  # TOML that gives the paper's version; empty if it is not offered, `reason` saying why
    page: str = ""  # where more is said


DEPARTURES = (
    Departure(
        "mdav",
        "MDAV forms the groups",
        "`auto`: MDAV's groups, improved by a search",
        "never a higher loss, and 10 to 35 % less on the reference sets",
        'method = "mdav"',
        "best.md",
    ),
    Departure(
        "mdav",
        "ordinal: levels apart / number of levels; nominal: 0 or 1",
        "balanced: two random records are as far apart in one attribute as in any other",
        "beside z-scores the printed distances nearly ignore ordinal attributes: 31 % of the demonstration's `educ` "
        "changed, 15 % with balanced distances",
        'method = "mdav"\ndistance = "mdav-generic"',
        "types.md",
    ),
    Departure(
        "mdav",
        "masked attributes are rescaled so that their variances are those of the original",
        "means of groups are published",
        "rescaled values leave the range of their group, break rules, and are not whole numbers",
        'method = "mdav"\nrestore_variance = true\nround = false',
        "mdav.md",
    ),
    Departure(
        "mdav",
        "ordinal: median or convex median",
        "the lower median",
        "the convex median may publish a level that nobody in the group has",
        'method = "mdav"\n\n[aggregate]\nedu = "convex_median"',
        "aggregates.md",
    ),
    Departure(
        "mdav",
        "means as they come",
        "means of integers are whole numbers, means of dates whole days",
        "2.37 children tell a reader that the file is masked, and break programs and rules",
        'method = "mdav"\nround = false',
        "aggregates.md",
    ),
    Departure(
        "mic1d",
        "attributes are masked in blocks of three",
        "one block of all attributes",
        "with several blocks k holds within each block only",
        'method = "mdav"\nblocks = [["a", "b"], ["c", "d"]]\nquasi = ["a", "b", "c", "d"]',
        "attribute-blocks.md",
    ),
    Departure(
        "mic1d",
        "Algorithm 2 leaves the last n mod k records as a group",
        "MDAV-generic, whose last groups have k to 2k - 1 records",
        "not offered: a group below k protects nobody. The paper's own figures have no such group",
        page="mic1d.md",
    ),
    Departure(
        "mic1d",
        "Mic1D for any k from 2",
        "refused if more than half of the values come out unchanged",
        "the least and the largest value of every part return to themselves",
        'method = "mic1d"\nk = 3\nquasi = ["a", "b", "c", "d"]\nallow_unchanged = true',
        "mic1d.md",
    ),
    Departure(
        "mic1d",
        "Zscores is described with the optimal cut, and tabled with groups of equal size",
        "the optimal cut",
        "it never has a higher squared error; `python -m bench.papers` prints both",
        'method = "zscores"\nquasi = ["a", "b", "c", "d"]',
        "zscores.md",
    ),
    Departure(
        "fdm",
        "the tour of the savings heuristic",
        "the same, shortened by 2-opt and Or-opt",
        "a shorter tour has a lower loss at every k of 3 to 10 on most of the reference sets",
        'method = "tour"\ntour = "savings"\nquasi = ["a", "b", "c", "d"]',
        "tour.md",
    ),
    Departure(
        "fdm",
        "orders by nearest point, MDAV and CBFS, cut optimally",
        "not chosen by `auto`",
        "a search loses less",
        'method = "cbfs-mhm"\nquasi = ["a", "b", "c", "d"]',
        "orders.md",
    ),
    Departure(
        "blocking",
        "records are divided by a 2^d-tree",
        "balanced k-d blocks, where a file is too large for one",
        "blocks of equal size: none is fused, and memory is known beforehand",
        'method = "mdav"\nquasi = ["a", "b", "c", "d"]\n\n'
        '[scale]\nblock_size = 20\nblocking = "2^d"\ndimensions = ["a", "b"]',
        "record-blocks.md",
    ),
    Departure(
        "blocking",
        "univariate blocking: n/L equal intervals of one attribute",
        "not chosen by itself",
        "the paper shows that it loses more",
        'method = "mdav"\nquasi = ["a", "b", "c", "d"]\n\n'
        '[scale]\nblock_size = 20\nblocking = "interval"\ndimensions = ["a"]',
        "record-blocks.md",
    ),
    Departure(
        "hybrid",
        "IPSO: noise is made uncorrelated with the confidential attributes as well",
        "noise is independent of them",
        "three releases with fresh noise give the original away, and from small groups one release may",
        'method = "hybrid"\nipso = "orthogonal"\nk = 12\nquasi = ["a", "b"]\nconfidential = ["c", "d"]\nseed = 1',
        "hybrid.md",
    ),
    Departure(
        "hybrid",
        "k of at least |X| + 2|Y| + 1",
        "k of at least |Y| + 1 + max(2|X|, 4)",
        "X and Y are swapped in print; with fewer records some of a group can be solved for. Not offered",
        page="hybrid.md",
    ),
    Departure(
        "hybrid",
        "fresh random numbers in every run",
        "one secret of the keeper's for every release of the same data",
        "releases that differ in their noise can be compared. A `seed` takes its place for experiments",
        'method = "hybrid"\nk = 12\nquasi = ["a", "b"]\nconfidential = ["c", "d"]\nseed = 2',
        "hybrid.md",
    ),
    Departure(
        "hybrid",
        "k = 1 returns the original",
        "shown by `sweep`, never written",
        "not offered: it is no protection",
        page="hybrid.md",
    ),
    Departure(
        "edits",
        "the attributes of each rule form a block, the others blocks of three",
        "one block of all attributes",
        "with several blocks k holds within each block only: an intruder who knows several finds 98 % of the Census "
        "records at k = 5, against 13 %",
        'method = "mdav"\nblocks = "edits"\nedits = ["a <= b"]\nquasi = ["a", "b", "c", "d"]',
        "../edits.md",
    ),
    Departure(
        "edits",
        "a mean keeps a sum",
        "values are rounded so that the sum is exact as written",
        "a mean keeps it but for the last bit, and a validator compares exactly: 264 of 1,080 records failed. Not "
        "offered",
        page="../edits.md",
    ),
    Departure(
        "edits",
        "fuzzy c-means as the partition",
        "crisp groups only",
        "not offered: a fuzzy partition promises no k. See V. Torra (2009), *On the definition of linear constrained "
        "fuzzy c-means*, EUROFUSE",
        page="../edits.md",
    ),
)


def table(paper: str) -> str:
    """Write the departures from one paper as a table, in Markdown."""
    rows = []
    for each in DEPARTURES:
        if each.paper == paper:
            lines = [line for line in each.plan.splitlines() if line and line.split()[0] not in EXAMPLE]
            how = "; ".join(f"`{line}`" for line in lines)
            rows.append(f"| {each.printed} | {each.ours} | {each.reason} | {how or 'no'} | [more]({each.page}) |")
    return "\n".join(["| the paper | Shoal | why | the paper's version | |", "|---|---|---|---|---|", *rows])


class Departures(SphinxDirective):
    """List all departures, paper by paper."""

    option_spec: ClassVar = {}

    def run(self) -> list[nodes.Node]:
        """Read them from the table."""
        parts = [f"**{title}**\n\n{table(paper)}" for paper, title in PAPERS.items()]
        return self.parse_text_to_nodes("\n\n".join(parts))


def setup(app: Sphinx) -> ExtensionMetadata:
    """Make the directive known to Sphinx."""
    app.add_directive("departures", Departures)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
