"""What controllers, the scheduler, nodes and admission read and write in worlds, field by field: footprints as
observed.

    seen = ObservedFootprints()
    seen.observe(make_scenario(), faults)     as many worlds as there are
    seen.footprints()                         by controller, as `decision/footprint.py` has them

Reads are noted by the views that Deciders are given (`declared_reads.py`), and by what the scheduler takes in;
writes are taken from commits, by who asked for them. What is observed must be in the table of
`control/footprints.py`, which `tests/sim/test_footprints.py` compares, and writes anew when it is told to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Any

from fairlead.api.access.sign_in import SignIn
from fairlead.api.admission import AdmissionChain
from fairlead.api.admission.step import AdmissionStep
from fairlead.api.attempt import Attempt
from fairlead.api.desk import Desk
from fairlead.api.server import Api
from fairlead.control.authority import AGENT
from fairlead.control.events import WRITER as EVENTS
from fairlead.control.placing import NAME as SCHEDULER
from fairlead.control.placing import Placer
from fairlead.control.roster import default_deciders
from fairlead.core import codec
from fairlead.decision.footprint import ANY, DELETE, Footprint, written_fields
from fairlead.model.catalog import CATALOG
from fairlead.model.views import LEASES, PLANE_SETTINGS, SCHEDULING_POLICIES, View
from fairlead.sim.backup import EMPTY
from fairlead.sim.chance import Chance
from fairlead.sim.checkers.contract import LATE
from fairlead.sim.faults import CALM, Faults
from fairlead.sim.parts import Parts, default_parts
from fairlead.sim.run import before
from fairlead.sim.scenario import Scenario
from fairlead.sim.time import EPOCH
from fairlead.sim.world import Run, World
from fairlead.store.contract import DELETED, CommittedChange
from tests.sim.declared_reads import Fields, NotedReads
from tests.sim.scrambled_views import covers
from tests.sim.traced_views import ReadTracer

ADMISSION = "admission:"  # before the name of a step
_BY_PLANE = " of plane-"
_POLICY = {PLANE_SETTINGS.name: ("spec",), SCHEDULING_POLICIES.name: ("spec",)}
_BESIDE = frozenset({SCHEDULER, AGENT, EVENTS, "hollow"})
# Annotations with which worlds and hollow nodes are told what to play: no plane that serves anybody has them.
_PLAYED_BY_ANY = "[sim.fairlead.dev/"
_PLAYED = (
    "[hollow.fairlead.dev/",
    "[metrics.fairlead.dev/",
    "[operator.fairlead.dev/",
)
_KINDS_MAX = 15  # that a controller names: one that looks at more looks at all
_OF_ANY = frozenset({"metadata.deletionTimestamp", "metadata.finalizers", "metadata.ownerReferences", DELETE})


def missing(known: Mapping[str, frozenset[str]], seen: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    """What was seen, by resource, and no field that is known covers."""
    found: dict[str, list[str]] = {}
    for resource, fields in seen.items():
        declared = known.get(resource, frozenset())
        more = sorted(each for each in fields if not any(covers(other, each) for other in declared))
        if more:
            found[resource] = more
    return found


class ObservedFootprints:
    def __init__(self, footprints: Mapping[str, Footprint] | None = None) -> None:
        """`footprints`: those that are to be true (`NotedReads`)."""
        self.noted = NotedReads(footprints)
        self._written: dict[str, Fields] = {}

    def observe(self, scenario: Scenario, faults: Faults, parts: Parts | None = None, seed: int = 1) -> Run:
        """Also while its standing fleet comes up, which happens once and calmly."""
        usual = parts or default_parts(*scenario.controllers, deciders=scenario.deciders)
        backup = EMPTY
        if scenario.standing:
            epoch = EPOCH - int(scenario.seconds_max)
            first = WatchedWorld(
                self._committed, before(scenario), Chance(0), CALM, self.parts(usual), epoch=epoch
            )
            run = first.run()
            if run.violation is not None:
                return run
            backup = first.server.backup()
        world = WatchedWorld(
            self._committed, scenario, Chance(seed), faults, self.parts(usual), backup=backup
        )
        return world.run()

    def parts(self, parts: Parts) -> Parts:
        found = self.noted.parts(parts)
        api = parts["api"]
        return {
            **found,
            "scheduler": self._placer(parts["scheduler"]),  # type: ignore[arg-type]
            "api": lambda desk, sign_in: self._api(api, desk, sign_in),
        }

    def footprints(self) -> dict[str, Footprint]:
        """Of those that every plane has; some worlds have controllers of their own."""
        known = {each.name for each in default_deciders()} | _BESIDE
        names = [
            each
            for each in {*self.noted.fields, *self._written}
            if each in known or each.startswith(ADMISSION)
        ]
        return {
            each: Footprint(_frozen(self.noted.fields.get(each, {})), _frozen(self._written.get(each, {})))
            for each in sorted(names)
        }

    def admitting(self, step: AdmissionStep) -> AdmissionStep:
        """This step, seen through."""

        def admit(attempt: Attempt) -> None:
            before, operations = deepcopy(attempt.new), len(attempt.operations)
            step.admit(attempt)
            writer = f"{ADMISSION}{step.name}"
            if before is not None and attempt.new is not None:
                self._wrote(writer, attempt.key.resource, written_fields(before, attempt.new))
            for operation in attempt.operations[operations:]:
                entry = attempt.read.get(operation.key)
                data = getattr(operation, "data", None)
                if entry is not None and data is not None and operation.key != attempt.key:
                    old, new = codec.decode(entry.data), codec.decode(data)
                    self._wrote(writer, operation.key.resource, written_fields(old, new))

        return replace(step, admit=admit)

    def _api(self, make: Callable[..., Api], desk: Desk, sign_in: SignIn) -> Api:
        chain = AdmissionChain(tuple(map(self.admitting, desk.chain.steps)))
        return make(replace(desk, chain=chain), sign_in)

    def _placer(self, base: type[Placer]) -> type[Placer]:
        fields = self.noted.fields.setdefault(SCHEDULER, {})
        tracer = ReadTracer(lambda resource, field: fields.setdefault(resource, set()).add(field))

        class NotedPlacer(base):  # type: ignore[valid-type,misc]
            def observe(self, resource: str, before: View | None, after: View | None, now: float) -> None:
                # Which policy is in use is read from the mirrors, where nobody notes.
                fields.setdefault(resource, set()).update(_POLICY.get(resource, ()))
                super().observe(
                    resource, tracer.traced(resource, before), tracer.traced(resource, after), now
                )

        return NotedPlacer

    def _committed(self, changes: tuple[CommittedChange, ...], origins: dict[int, str]) -> None:
        for change in changes:
            origin = origins.get(change.entry.revision, "").removeprefix(LATE)
            writer, by_plane, _ = origin.partition(_BY_PLANE)
            if origin.startswith(AGENT):
                writer, by_plane = AGENT, origin
            if by_plane:
                old = None if change.before is None else codec.decode(change.before.data)
                new = None if change.type == DELETED else codec.decode(change.entry.data)
                self._wrote(writer, change.entry.key.resource, written_fields(old, new))

    def _wrote(self, writer: str, resource: str, fields: frozenset[str]) -> None:
        if fields and resource != LEASES.name:
            self._written.setdefault(writer, {}).setdefault(resource, set()).update(fields)


class WatchedWorld(World):
    """One whose commits are looked at as they are stored."""

    def __init__(
        self,
        look: Callable[[tuple[CommittedChange, ...], dict[int, str]], None],
        *given: Any,
        **named: Any,
    ) -> None:
        self._look = look
        super().__init__(*given, **named)

    def committed(self, changes: tuple[CommittedChange, ...], origins: dict[int, str]) -> None:
        self._look(changes, origins)
        super().committed(changes, origins)


def _frozen(fields: Fields) -> dict[str, frozenset[str]]:
    """Of kinds that every plane has, and without what is only played. Who looks at objects of all kinds looks at
    the same of each."""
    found = {
        resource: frozenset(map(_without_played, these))
        for resource, these in sorted(fields.items())
        if CATALOG.of_resource(resource) is not None
    }
    found = {resource: these - {""} for resource, these in found.items()}
    if len(found) <= _KINDS_MAX:
        return found
    own = {resource: these for resource, these in found.items() if not these <= _OF_ANY}
    return {**own, ANY: _OF_ANY & frozenset[str]().union(*found.values())}


def _without_played(field: str) -> str:
    if _PLAYED_BY_ANY in field:
        return field.partition("[")[0]  # nobody knows this one by its name: all are looked at
    return "" if any(mark in field for mark in _PLAYED) else field
