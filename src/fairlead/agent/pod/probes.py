"""Probes of one run of a container: when to look, and what the answers add up to.

    startup: holds the other two back until it succeeds once; failing for good ends the run
    readiness: whether the container takes part in service
    liveness: failing for good ends the run

A machine per run, made by `worker.py` when a run is seen and dropped with it. Kubernetes' thresholds:
`failureThreshold` failures in a row count as failed, `successThreshold` successes as passed. Answers to looks at an
earlier run carry numbers that are no longer known here.
"""

from __future__ import annotations

from fairlead.agent.calls import Calls
from fairlead.agent.contract import Probe as Look
from fairlead.agent.views import BoundContainer, ProbeSpec
from fairlead.model.views import Json

STARTUP, READINESS, LIVENESS = "Startup", "Readiness", "Liveness"


class _Kind:
    """One of the three probes."""

    __slots__ = ("bad", "good", "looking", "next_at", "passing", "probe")

    def __init__(self, probe: ProbeSpec, passing: bool, first_at: float) -> None:
        self.probe = probe
        self.passing = passing  # what the answers add up to
        self.good = self.bad = 0  # in a row
        self.next_at = first_at
        self.looking = 0  # the number of the look under way


class ProbeVerdict:
    """What an answer means: `word` for an Event; `ends` the run with that grace if set."""

    __slots__ = ("ends", "grace_seconds", "kind", "message")

    def __init__(self, kind: str, message: str, ends: bool, grace_seconds: int | None) -> None:
        self.kind, self.message, self.ends, self.grace_seconds = kind, message, ends, grace_seconds


class Probes:
    def __init__(
        self, container: BoundContainer, started_at: float, was_started: bool = False, was_ready: bool = False
    ) -> None:
        """`was_*`: what had been told of this very run before this agent began; it stands until a look says else."""
        self._container = container
        self._kinds: dict[str, _Kind] = {}
        for name, probe, passing in (
            (STARTUP, container.startup_probe, was_started),
            (READINESS, container.readiness_probe, was_ready),
            (LIVENESS, container.liveness_probe, True),
        ):
            if probe is not None:
                self._kinds[name] = _Kind(probe, passing, started_at + probe.initial_delay_seconds)

    @property
    def started(self) -> bool:
        startup = self._kinds.get(STARTUP)
        return startup is None or startup.passing

    @property
    def ready(self) -> bool:
        readiness = self._kinds.get(READINESS)
        return self.started and (readiness is None or readiness.passing)

    @property
    def next_at(self) -> float:
        """When to look next; 0: when an answer has come, or never."""
        return min((each.next_at for each in self._due_kinds() if not each.looking), default=0.0)

    def step(self, uid: str, address: str, now: float, calls: Calls) -> tuple[Look, ...]:
        looks = []
        for each in self._due_kinds():
            if each.looking or now < each.next_at:
                continue
            each.looking = calls.number()
            each.next_at = now + (each.probe.period_seconds or 10)
            action = _action(each.probe, self._container, address)
            timeout = float(each.probe.timeout_seconds or 1)
            looks.append(Look(each.looking, uid, self._container.name, action, timeout))
        return tuple(looks)

    def probed(self, number: int, good: bool, message: str) -> ProbeVerdict | None:
        """None: it is nobody's, or nothing to tell of."""
        for name, each in self._kinds.items():
            if each.looking == number:
                each.looking = 0
                return self._judge(name, each, good, message)
        return None

    def _judge(self, name: str, each: _Kind, good: bool, message: str) -> ProbeVerdict | None:
        probe = each.probe
        each.good, each.bad = (each.good + 1, 0) if good else (0, each.bad + 1)
        if good:
            if each.good >= (probe.success_threshold or 1):
                each.passing = True
            return None
        failed = each.bad >= (probe.failure_threshold or 3)
        if failed:
            each.passing = False
        return ProbeVerdict(
            name, message, failed and name != READINESS, probe.termination_grace_period_seconds
        )

    def _due_kinds(self) -> list[_Kind]:
        """The startup probe until it has passed, then the others."""
        startup = self._kinds.get(STARTUP)
        if startup is not None and not startup.passing:
            return [startup]
        return [each for name, each in self._kinds.items() if name != STARTUP]


def _action(probe: ProbeSpec, container: BoundContainer, address: str) -> Json:
    if probe.exec is not None:
        return {"exec": probe.exec}
    field, action = (
        ("httpGet", probe.http_get) if probe.http_get is not None else ("tcpSocket", probe.tcp_socket)
    )
    given = action or {}
    port = _port(given.get("port"), container)
    return {field: {**given, "port": port, "host": given.get("host") or address}}


def _port(port: int | str | None, container: BoundContainer) -> int:
    """A name means one of the container's ports. 0, where nothing answers, for a name that it does not have."""
    if isinstance(port, int):
        return port
    for each in container.ports:
        if each.get("name") == port:
            return int(each.get("containerPort") or 0)
    return int(port) if port and port.isdigit() else 0
