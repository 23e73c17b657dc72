"""Every knob of the control plane that a PlaneSettings can turn: its name, what it is without one, and its bounds.

The one table behind the kind's validation, the documentation and what the plane works with (`control/settings.py`).
Durations are plain numbers of seconds, fractions allowed. Sections with names below them (`queues`, `controllers`,
`retries`, `stages`) are read in three layers: built in, the entry `default`, the entry of the name itself.
"""

from __future__ import annotations

from typing import NamedTuple

from fairlead.core.problems import Problems
from fairlead.model.kind import Json
from fairlead.model.names import name_problems
from fairlead.model.reasons import READY
from fairlead.model.stages import STAGES

NAME = "default"  # the only PlaneSettings there is
# Who `queues` and `controllers` may name: the roster, and the hollow nodes. A test compares it with them.
CONTROLLERS = (
    "autoscaler",
    "cronjob",
    "custom-resource-definition",
    "daemonset",
    "deployment",
    "disruption",
    "endpoint-slices",
    "evidence-policy",
    "garbage-collector",
    "hollow",
    "job",
    "job-orphans",
    "namespace",
    "node-health",
    "override-capacity",
    "override-drain",
    "overrides",
    "placement-quota",
    "plane-settings",
    "pod-networks",
    "progress",
    "release",
    "repair",
    "replicaset",
    "reservation",
    "resource-quota",
    "returned",
    "role-aggregation",
    "rollout-outcome",
    "root-certificate",
    "runbook",
    "scheduling-policy",
    "service-account",
    "service-level",
    "stale-disruption",
    "statefulset",
    "taint-eviction",
    "viewer-role",
)
TIMED_STAGES = STAGES[: STAGES.index(READY)]  # those a pod passes on its way
EFFECTS = ("bind", "change", "changeScale", "changeStatus", "create", "delete", "finalize")

Numbers = dict[str, float]
_MONTH = 30 * 86400.0


class Knob(NamedTuple):
    name: str
    default: float  # an int where only whole numbers are allowed
    low: float
    high: float


class Section(NamedTuple):
    """`names`: who may have an entry of their own; none means that the knobs stand in the section itself.
    `ordered`: pairs of which the second must not be less than the first."""

    knobs: tuple[Knob, ...]
    names: tuple[str, ...] = ()
    ordered: tuple[tuple[str, str], ...] = ()


_BACKOFF = (("backoffSeconds", "backoffMaxSeconds"),)
SECTIONS: dict[str, Section] = {
    "queues": Section(
        (
            Knob("backoffSeconds", 0.1, 0.0, 3600.0),
            Knob("backoffMaxSeconds", 30.0, 0.0, 86400.0),
            Knob("backoffJitter", 0.2, 0.0, 1.0),
            Knob("ratePerSecond", 0.0, 0.0, 1e6),
            Knob("rateBurst", 100, 1, 1_000_000),
            Knob("passesMax", 15, 1, 1_000_000),
            Knob("hotTurnsMax", 600, 0, 1_000_000_000),
            Knob("hotWindowSeconds", 60.0, 1.0, 86400.0),
            Knob("quarantineIntervalSeconds", 1.0, 0.001, 3600.0),
            Knob("quarantineSeconds", 30.0, 0.001, 86400.0),
            Knob("keysMax", 1_000_000, 1, 1_000_000_000),
        ),
        CONTROLLERS,
        _BACKOFF,
    ),
    "controllers": Section(
        (Knob("turnsMax", 16, 1, 10_000), Knob("turnSeconds", 5.0, 0.1, 10.0)), CONTROLLERS
    ),
    "retries": Section(
        (
            Knob("attemptsMax", 8, 1, 1000),
            Knob("backoffSeconds", 0.1, 0.001, 3600.0),
            Knob("backoffMaxSeconds", 30.0, 0.001, 86400.0),
            Knob("jitter", 0.2, 0.0, 1.0),
        ),
        EFFECTS,
        _BACKOFF,
    ),
    "retryBudget": Section(
        (Knob("share", 0.2, 0.0, 10.0), Knob("perSecond", 10.0, 0.1, 1e6), Knob("burst", 100, 1, 1_000_000))
    ),
    "breaker": Section(
        (
            Knob("failuresMax", 10, 1, 1_000_000),
            Knob("openSeconds", 0.5, 0.001, 3600.0),
            Knob("openMaxSeconds", 30.0, 0.001, 3600.0),
        ),
        ordered=(("openSeconds", "openMaxSeconds"),),
    ),
    "writeLoops": Section(
        (
            Knob("repeatsMax", 20, 0, 1_000_000),
            Knob("windowSeconds", 60.0, 1.0, 86400.0),
            Knob("turnsMax", 3, 0, 1000),
            Knob("invalidMax", 10, 0, 1_000_000),
            Knob("turnsWindowSeconds", 600.0, 1.0, 86400.0),
        )
    ),
    "monitors": Section((Knob("commitsPerSecondMax", 200, 0, 1_000_000),)),
    "loop": Section(
        (
            Knob("resyncSeconds", 300.0, 1.0, _MONTH),
            Knob("resyncSpreadSeconds", 30.0, 0.0, _MONTH),
            Knob("lookAgainSeconds", 1.0, 0.001, 3600.0),
            Knob("askProgressSeconds", 0.5, 0.001, 3600.0),
            Knob("raisedAttemptsMax", 8, 1, 1000),
        ),
        ordered=(("resyncSpreadSeconds", "resyncSeconds"),),
    ),
    "scheduler": Section(
        (
            Knob("backoffSeconds", 1.0, 0.001, 3600.0),
            Knob("backoffMaxSeconds", 10.0, 0.001, 86400.0),
            Knob("flushSeconds", 300.0, 1.0, _MONTH),
            Knob("batchMax", 64, 1, 10_000),
            Knob("inFlightMax", 256, 1, 100_000),
        ),
        ordered=_BACKOFF,
    ),
    "events": Section(
        (
            Knob("perSecond", 100, 1, 1_000_000),
            Knob("burst", 100.0, 1.0, 1e6),
            Knob("restSeconds", 0.25, 0.001, 3600.0),
            Knob("waitingMax", 1500, 0, 1_000_000),
            Knob("inFlightMax", 4, 1, 10_000),
            Knob("objectBurst", 25, 1, 1_000_000),
            Knob("objectRefillSeconds", 300.0, 0.001, _MONTH),
            Knob("similarMax", 10, 1, 1_000_000),
            Knob("similarSeconds", 600.0, 0.001, _MONTH),
            Knob("rememberedMax", 4096, 1, 1_000_000),
        ),
    ),
    "overrides": Section(
        (
            Knob("secondsMax", 14_400.0, 1.0, 86400.0),
            Knob("activeMax", 50, 1, 1000),
            Knob("nodesShareMax", 0.34, 0.0, 1.0),
            Knob("capacityShareMax", 0.34, 0.0, 1.0),
            Knob("workloadsMax", 20, 0, 1_000_000),
            Knob("priorityMax", 1_000_000, 0, 1_000_000_000),
            Knob("trafficLoadMax", 2.0, 1.0, 1e6),
        ),
    ),
    "autoscaling": Section(
        (
            Knob("syncSeconds", 15.0, 1.0, 3600.0),
            Knob("tolerance", 0.1, 0.0, 10.0),
            Knob("downscaleStabilizationSeconds", 300.0, 0.0, 86400.0),
            Knob("cpuInitializationSeconds", 300.0, 0.0, 86400.0),
            Knob("initialReadinessDelaySeconds", 30.0, 0.0, 86400.0),
            Knob("amplificationMax", 2.0, 1.0, 1e6),
            Knob("amplificationPerWindowMax", 8.0, 1.0, 1e6),
            Knob("amplificationWindowSeconds", 300.0, 0.0, 86400.0),
        ),
    ),
    "repair": Section(
        (
            Knob("automatic", 1, 0, 1),
            Knob("everySeconds", 20.0, 1.0, 86400.0),
            Knob("endedPodsMax", 12_500, 0, 100_000_000),
        ),
    ),
    "stages": Section((Knob("limitSeconds", 60.0, 0.1, _MONTH),), TIMED_STAGES),
    "health": Section(
        (
            Knob("mirrorBehindSeconds", 10.0, 0.1, 86400.0),
            Knob("controllerBehindSeconds", 60.0, 0.1, 86400.0),
        )
    ),
}


def numbers(spec: Json, section: str, name: str = "") -> Numbers:
    """What applies: every knob of a section, for one of its names."""
    found = {knob.name: knob.default for knob in SECTIONS[section].knobs}
    for given in _layers(spec, section, name):
        found.update((each, value) for each, value in given.items() if value is not None)
    return found


def source(spec: Json, section: str, name: str) -> str:
    """The nearest layer that says anything: the name itself, `default`, or "" for what is built in."""
    entries = spec.get(section) or {}
    return next((each for each in (name, NAME) if entries.get(each)), "")


def check(spec: Json, problems: Problems) -> None:
    """Name every value that is out of bounds, every name nobody has, and every pair in the wrong order."""
    policy = spec.get("schedulingPolicy")
    for text in name_problems("subdomain", policy) if policy else ():
        problems.invalid("spec.schedulingPolicy", policy, text)
    for title, section in SECTIONS.items():
        given = spec.get(title) or {}
        if not section.names:
            _check_entry(spec, title, "", given, f"spec.{title}", problems)
            continue
        for name, entry in given.items():
            path = f"spec.{title}[{name}]"
            if name != NAME and name not in section.names:
                problems.unsupported(path, name, (NAME, *section.names))
            else:
                _check_entry(spec, title, name, entry or {}, path, problems)


def _check_entry(spec: Json, title: str, name: str, given: Json, path: str, problems: Problems) -> None:
    section = SECTIONS[title]
    for knob in section.knobs:
        value = given.get(knob.name)
        if value is not None and not knob.low <= value <= knob.high:
            wanted = f"must be between {knob.low:g} and {knob.high:g}; without it, {knob.default:g} applies"
            problems.invalid(f"{path}.{knob.name}", value, wanted)
    applied = numbers(spec, title, name)
    for less, more in section.ordered:
        if applied[more] < applied[less]:
            wrong = more if given.get(more) is not None else less
            rule = f"{more} ({applied[more]:g} here) must not be less than {less} ({applied[less]:g} here)"
            problems.invalid(f"{path}.{wrong}", applied[wrong], rule)


def _layers(spec: Json, section: str, name: str) -> tuple[Json, ...]:
    given = spec.get(section) or {}
    if not SECTIONS[section].names:
        return (given,)
    return tuple(given.get(each) or {} for each in dict.fromkeys((NAME, name)))
