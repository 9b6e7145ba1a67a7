"""The workloads, each with the bars that it is held against."""

from . import claims
from .alternating import alternating
from .instructions import instructions

# Each takes the server and the plan, and answers what it measured.
WORKS = {
    "claim-new": alternating(claims.claim_new),
    "claim-taken": alternating(claims.claim_taken),
    "instructions": instructions,
}
