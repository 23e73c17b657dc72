"""How much each log of a store keeps. The audit log keeps its lines by number (`store/bounded_logs.py`). Used by
`directory.py`.
"""

from __future__ import annotations

from types import MappingProxyType

from fairlead.control.instructions import DECISIONS, DELIVERIES, TURNS
from fairlead.store.retention import LogBound

#: bound: store | bytes of recorded decisions | the oldest go
DECISIONS_BYTES_MAX = 768 * 1024 * 1024  # a million records of usual size
#: bound: store | seconds for which a decision is kept | the oldest go
DECISIONS_SECONDS_MAX = 7 * 24 * 3600.0
#: bound: store | turns that found nothing to do | the oldest go
TURNS_MAX = 100_000
#: bound: store | bytes of what planes were told, for a closed replay | the oldest go
DELIVERIES_BYTES_MAX = 64 * 1024 * 1024

LOGS = MappingProxyType(
    {
        DECISIONS: LogBound(bytes_max=DECISIONS_BYTES_MAX, seconds=DECISIONS_SECONDS_MAX),
        TURNS: LogBound(lines_max=TURNS_MAX),
        DELIVERIES: LogBound(bytes_max=DELIVERIES_BYTES_MAX, seconds=DECISIONS_SECONDS_MAX),
    }
)
