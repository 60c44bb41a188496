"""Loss and risk: pure functions of arrays.

In all modules, original and masked are (n, d) matrices of the same records in the same order, in the units of the data;
classes are one integer a record, the same for records that are published alike.
"""

from shoal.measures.assignment import assignment
from shoal.measures.certainty_penalty import gcp
from shoal.measures.distance_linkage import distance_linkage, distance_linkage_average, linkage
from shoal.measures.diversity import closeness_to, l_diversity, t_closeness
from shoal.measures.dominance import dominance
from shoal.measures.equivalence_classes import published_classes, real_k, real_k_by_subset, scenarios_of_blocks
from shoal.measures.fellegi_sunter import probabilistic_linkage
from shoal.measures.hybrid import preservation, subdomains
from shoal.measures.interval_disclosure import interval_disclosure_rank, interval_disclosure_sd
from shoal.measures.loss import loss, own_range_sse
from shoal.measures.loss_book import in_bounds, loss_book
from shoal.measures.pil import pil
from shoal.measures.pmse import pmse
from shoal.measures.risk import MOST_RECORDS, disclosure_risk, diversity_book, exposure, risk_book, score
from shoal.measures.subdomains import subdomain_loss
from shoal.measures.variations import eigenvalue_loss, il1s, variations

__all__ = [
    "MOST_RECORDS",
    "assignment",
    "closeness_to",
    "disclosure_risk",
    "distance_linkage",
    "distance_linkage_average",
    "diversity_book",
    "dominance",
    "eigenvalue_loss",
    "exposure",
    "gcp",
    "il1s",
    "in_bounds",
    "interval_disclosure_rank",
    "interval_disclosure_sd",
    "l_diversity",
    "linkage",
    "loss",
    "loss_book",
    "own_range_sse",
    "pil",
    "pmse",
    "preservation",
    "probabilistic_linkage",
    "published_classes",
    "real_k",
    "real_k_by_subset",
    "risk_book",
    "scenarios_of_blocks",
    "score",
    "subdomain_loss",
    "subdomains",
    "t_closeness",
    "variations",
]
