"""The workloads, each with the bars that it is held against."""

from . import bookings, calls, claims, keys
from .alternating import alternating
from .instructions import instructions
from .library import library
from .memory import memory
from .redis import redis
from .sizes import churn, reap, sizes

# Each takes the server and the plan, and answers what it measured.
WORKS = {
    "claim-new": alternating(claims.claim_new),
    "claim-taken": alternating(claims.claim_taken),
    "calls": calls.calls,
    "keys": alternating(keys.keys),
    "booking": alternating(bookings.booking),
    "units": alternating(bookings.units),
    "periods": alternating(bookings.periods),
    "redis": redis,
    "library": library,
    "sizes": sizes,
    "reap": reap,
    "churn": churn,
    "memory": memory,
    "instructions": instructions,
}
