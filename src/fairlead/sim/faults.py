"""Which faults a run has and how often: probabilities as data. `CALM` has none, `DEFAULT` is what `std20` is run with.

Labels of what fires are the field names, so that a count per kind can be read next to this table.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Faults:
    # Per call of a plane.
    request_lost: float = 0.0  # never arrives; the caller times out
    request_late: float = 0.0  # arrives after the caller has given up
    reply_lost: float = 0.0  # committed, but the caller times out
    crash_at_write: float = 0.0  # the plane dies as the write leaves
    # Per append of the journal.
    sync_slow: float = 0.0
    sync_failed: float = 0.0
    # Per list and per delivery of a watch.
    list_lost: float = 0.0
    watch_lag: float = 0.0
    watch_broken: float = 0.0
    # Every few seconds one incident may begin; weights of which.
    incident: float = 0.0
    incidents: tuple[tuple[str, int], ...] = field(
        default=(
            ("plane_crash", 3),
            ("plane_pause", 4),
            ("server_crash", 2),
            ("partition", 3),
            ("partition_of_replies", 2),
            ("watches_expire", 3),
            ("watches_cut", 2),
        )
    )
    clock_skew: float = 0.0  # per start of a plane


@dataclass(frozen=True, slots=True)
class NodeFaults(Faults):
    """Where agents run as well: their faults besides those of the calls they make."""

    agent_crash_at_write: float = 0.0  # the agent dies as the write leaves
    driver_failed: float = 0.0  # per instruction to a machine: it cannot be carried out


CALM = Faults()
DEFAULT = Faults(
    request_lost=0.01,
    request_late=0.01,
    reply_lost=0.02,
    crash_at_write=0.002,
    sync_slow=0.02,
    sync_failed=0.002,
    list_lost=0.05,
    watch_lag=0.02,
    watch_broken=0.004,
    incident=0.25,
    clock_skew=0.5,
)
