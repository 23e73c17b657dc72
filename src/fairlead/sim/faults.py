"""Which faults a run has and how often: probabilities as data. `CALM` has none, `DEFAULT` is what `std20` is run with.

Labels of what fires are the field names and the names of incidents, so that a count per kind can be read next to this
table. What each of them does is said in `MEANING`, which `docs/generate.py` turns into the guide's table.
"""

from __future__ import annotations

from dataclasses import dataclass, field

CLOCK_DRIFT = 0.02  # of a plane's clock, by `clock_drift`


@dataclass(frozen=True, slots=True)
class Faults:
    # Per call of a process.
    request_lost: float = 0.0
    request_late: float = 0.0
    reply_lost: float = 0.0
    request_slow: float = 0.0
    request_twice: float = 0.0
    throttled: float = 0.0
    racing_write: float = 0.0
    person_unheard: float = 0.0  # of a person's request
    # Per write of a plane, and per step of a process.
    crash_at_write: float = 0.0
    crash_after_write: float = 0.0
    crash_mid_step: float = 0.0
    queue_reordered: float = 0.0  # per turn
    # Per append of the journal.
    sync_slow: float = 0.0
    sync_failed: float = 0.0
    # Per list, per delivery of a watch, and per connection of either.
    list_lost: float = 0.0
    list_stale: float = 0.0
    list_reordered: float = 0.0
    watch_lag: float = 0.0
    watch_broken: float = 0.0
    watch_expired: float = 0.0
    watch_repeated: float = 0.0
    older_server: float = 0.0
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
    # Per start of a process.
    clock_skew: float = 0.0
    clock_drift: float = 0.0
    server_clock_skew: float = 0.0


@dataclass(frozen=True, slots=True)
class NodeFaults(Faults):
    """Where agents run as well: their faults besides those of the calls they make."""

    agent_crash_at_write: float = 0.0
    driver_failed: float = 0.0
    status_late: float = 0.0
    status_again: float = 0.0


CALM = Faults()
DEFAULT = Faults(
    request_lost=0.01,
    request_late=0.01,
    reply_lost=0.02,
    request_slow=0.01,
    request_twice=0.01,
    throttled=0.005,
    racing_write=0.01,
    person_unheard=0.02,
    crash_at_write=0.002,
    crash_after_write=0.002,
    crash_mid_step=0.0005,
    queue_reordered=0.05,
    sync_slow=0.02,
    sync_failed=0.002,
    list_lost=0.05,
    list_stale=0.05,
    list_reordered=0.2,
    watch_lag=0.02,
    watch_broken=0.004,
    watch_expired=0.002,
    watch_repeated=0.02,
    incident=0.25,
    incidents=(
        *Faults().incidents,
        ("plane_slow", 2),
        ("server_clock_set", 1),
        ("disk_full", 1),
        ("partition_of_requests", 1),
    ),
    clock_skew=0.5,
    clock_drift=0.3,
    server_clock_skew=0.5,
)

# What each does, for the guide: (where it strikes, what happens).
MEANING: dict[str, tuple[str, str]] = {
    "request_lost": ("a call", "never arrives; the caller times out"),
    "request_late": ("a call", "arrives after the caller has given up"),
    "reply_lost": ("a call", "is carried out, and the caller times out"),
    "request_slow": ("a call", "takes seconds, and is answered in time"),
    "request_twice": (
        "a call",
        "arrives twice, up to eight seconds apart; either answer is the one that is heard",
    ),
    "throttled": ("a call", "is not carried out: 429, with a Retry-After"),
    "racing_write": (
        "a write",
        "somebody else changes the object just before it arrives, or, of a create, what it rests on",
    ),
    "person_unheard": ("a person's request", "is lost, or its answer is; ten seconds later it is made again"),
    "crash_at_write": ("a plane's write", "the plane dies as the write leaves, which is sent or is not"),
    "crash_after_write": ("a plane's write", "it is committed, and the plane dies as it is told so"),
    "crash_mid_step": ("a step of a process", "the process dies between two of its instructions"),
    "queue_reordered": ("a turn", "another ready key of the same controller comes first"),
    "sync_slow": ("an append of the journal", "takes up to two seconds"),
    "sync_failed": ("an append of the journal", "reports an error; it was written or was not"),
    "list_lost": ("a list of a mirror", "is not answered"),
    "list_stale": (
        "a list of a mirror",
        "shows the state of up to twenty seconds ago, as from a replica that lags",
    ),
    "list_reordered": ("a list of a mirror", "comes in any other order"),
    "watch_lag": ("a delivery of a watch", "comes up to twelve seconds later"),
    "watch_broken": ("a delivery of a watch", "the connection breaks; the mirror goes on from where it was"),
    "watch_expired": ("a delivery of a watch", "410 for this kind alone; the mirror lists again"),
    "watch_repeated": ("a delivery of a watch", "what was delivered before comes once more"),
    "older_server": (
        "a list or watch of a mirror",
        "is made to a second API server that is up to 15 s behind: it shows what that one knows, as it learns of it",
    ),
    "clock_skew": (
        "a start of a process",
        "its clock is wrong by up to half a minute, of an agent by a minute",
    ),
    "clock_drift": ("a start of a plane", "its clock goes up to two percent too fast or too slow"),
    "server_clock_skew": ("a start of the server", "its clock is wrong by up to half a minute, and drifts"),
    "agent_crash_at_write": (
        "an agent's write",
        "the agent dies as the write leaves, which is sent or is not",
    ),
    "driver_failed": ("an instruction to a machine", "cannot be carried out"),
    "status_late": ("an agent's report of a status", "is under way for up to nine seconds"),
    "status_again": (
        "an agent's report of a status",
        "the one before of the same object arrives once more after it",
    ),
    "plane_crash": ("incident", "a plane dies, and is started again with an empty memory"),
    "plane_pause": ("incident", "a plane stops for up to 46 s, longer than its lease"),
    "plane_slow": ("incident", "all that a plane hears comes to it up to four seconds late, for up to 40 s"),
    "plane_clock_set": ("incident", "the wall clock of a plane is set an hour back, ahead, or right"),
    "server_crash": ("incident", "the server dies; what was being synced is durable or is not"),
    "server_clock_set": ("incident", "the server's clock jumps by up to half a minute"),
    "disk_full": ("incident", "for up to 20 s the server's disk has room for leases and deletions only"),
    "partition": ("incident", "nothing passes between a plane and the server"),
    "partition_of_replies": ("incident", "what a plane says arrives, what it is told does not"),
    "partition_of_requests": (
        "incident",
        "a plane's watches bring what there is; its calls, lists and new watches do not arrive",
    ),
    "watches_expire": ("incident", "history is compacted, and a plane's watches break"),
    "watches_cut": ("incident", "all watches of a plane break"),
    "agent_crash": ("incident", "an agent dies; its pods go on"),
    "agent_pause": ("incident", "an agent stops, often for longer than its lease"),
    "agent_slow": ("incident", "all that an agent hears comes to it up to four seconds late"),
    "agent_cut": ("incident", "nothing passes between a node and the server"),
    "agent_deaf": ("incident", "what a node says arrives, what it is told does not"),
    "agent_mute": ("incident", "a node's watches bring what there is, what it says does not arrive"),
    "agent_clock_set": ("incident", "the wall clock of a machine is set an hour back, ahead, or right"),
    "zone_cut": ("incident", "a whole zone is cut off"),
    "node_flaps": ("incident", "a node is cut off and joined again, several times"),
    "node_lies": ("incident", "a process ends, and for up to a minute its agent goes on saying that it runs"),
    "power_loss": ("incident", "a machine goes dark, and comes back"),
    "process_crash": ("incident", "a process ends by itself"),
    "plane_away": ("incident", "no node reaches the server, and neither does any plane"),
    "monitor_cut": ("incident", "the plane that leads is cut off, or deaf"),
    "heartbeats_unheard": ("incident", "the plane that leads hears of everything but leases"),
    "row_rots": ("mishap of the disk", "the row of an object decays"),
    "log_lost": ("mishap of the disk", "the newest changes are gone: a torn log, or a sync that lied"),
}
