"""What controllers are declared to read is what they read, to the field; a read that is not declared is found.

Each decision of a world is made twice: as it is, and with everything changed that its controller does not declare. The
table is `control/footprints.py`; `python -m tests.sim.footprints_table` writes it anew.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from fairlead.control.authority import rows
from fairlead.control.footprints import footprints, reads_of, writes_of
from fairlead.control.roster import default_deciders
from fairlead.decision.contract import Decision, Reading
from fairlead.decision.decider import Decider
from fairlead.decision.effects import ChangeStatus
from fairlead.decision.footprint import Footprint, touches
from fairlead.ledger.authority import CHANGE
from fairlead.model.key import Key
from fairlead.model.views import NODES, PODS, REPLICASETS
from fairlead.sim.faults import CALM
from fairlead.sim.parts import Parts, default_parts
from fairlead.sim.worlds.roster import WORLDS
from tests.sim.footprints import ObservedFootprints, missing
from tests.sim.footprints_table import SHOWING

AGAIN = "run python -m tests.sim.footprints_table"


def _footprint(controller: str) -> Footprint:
    assert controller in footprints(), f"{controller} is not in the table: {AGAIN}"
    return footprints()[controller]


# The large ones show little that the others do not; `make soak` has them as well.
_LARGE = (
    "std20", "clocks", "refused", "rollouts", "sched", "sched-kubernetes", "nodes", "silent-flip", "quota-return",
)  # fmt: skip


@pytest.mark.parametrize(
    "world", [pytest.param(each, marks=pytest.mark.soak if each in _LARGE else ()) for each in SHOWING]
)
def test_what_is_read_and_written_is_declared(world: str) -> None:
    seen = ObservedFootprints(footprints())
    make, faults = WORLDS[world]
    assert seen.observe(make(), faults).violation is None
    assert seen.noted.undeclared() == {}
    for name, footprint in seen.footprints().items():
        known = _footprint(name)
        reads = {each: reads_of(known, each) for each in footprint.reads}
        writes = {each: writes_of(known, each) for each in footprint.writes}
        assert missing(reads, footprint.reads) == {}, f"{name} reads more: {AGAIN}"
        assert missing(writes, footprint.writes) == {}, f"{name} writes more: {AGAIN}"
    swayed = {name: told for name, told in seen.noted.swayed.items() if told}
    assert swayed == {}


def test_every_controller_has_a_footprint() -> None:
    for decider in default_deciders():
        footprint = _footprint(decider.name)
        assert footprint.writes, (
            f"{decider.name} writes nothing in the worlds of SHOWING: say what it writes in DECLARED of control/footprints.py"
        )
        assert any(reads_of(footprint, each.name) for each in decider.reads), decider.name
        declared = {each.name for each in decider.reads}
        assert set(footprint.reads) - {"*"} <= declared, f"{decider.name} declares less than it reads"


def test_who_takes_an_edit_back_writes_that_field() -> None:
    for row in rows():
        if row.verb != CHANGE or row.reads or not row.resource or row.field == "spec.template":
            continue
        if row.field == "metadata.labels":  # it makes another pod in place of the one that it lets go
            assert "create" in writes_of(footprints()[row.controller], row.resource)
            continue
        written = writes_of(footprints()[row.controller], row.resource)
        assert any(touches(each, row.field) for each in written if each != "create"), row


def _with(name: str, decide) -> Parts:  # type: ignore[no-untyped-def]
    parts = default_parts()
    usual = parts["deciders"]

    def planted(inner: Decider) -> Decider:
        return replace(inner, decide=lambda view, key, now: decide(inner, view, key, now))

    parts["deciders"] = lambda: tuple(planted(each) if each.name == name else each for each in usual())
    return parts


def _seen(parts: Parts) -> ObservedFootprints:
    seen = ObservedFootprints(footprints())
    world = WORLDS["flip-flop"][0]()
    seen.observe(replace(world, steps=world.steps[:1], seconds_min=8.0, quiet_seconds=5.0), CALM, parts)
    return seen


def test_a_resource_that_is_not_declared_is_found() -> None:
    def decide(inner: Decider, view: Reading, key: Key, now: float) -> Decision:
        view.list(NODES)
        return inner.decide(view, key, now)

    assert _seen(_with("progress", decide)).noted.undeclared() == {"progress": frozenset({NODES.name})}


def test_a_field_that_is_not_declared_is_found() -> None:
    def decide(inner: Decider, view: Reading, key: Key, now: float) -> Decision:
        for pod in view.list(PODS):
            assert pod.spec.priority >= 0
        return inner.decide(view, key, now)

    found = _seen(_with("replicaset", decide)).footprints()["replicaset"]
    assert missing(footprints()["replicaset"].reads, found.reads) == {PODS.name: ["spec.priority"]}


def test_a_field_that_is_read_without_a_trace_is_found_by_what_it_leads_to() -> None:
    """Encoding a whole spec reads it below what a view can note."""
    import msgspec

    def decide(inner: Decider, view: Reading, key: Key, now: float) -> Decision:
        decision = inner.decide(view, key, now)
        sizes = [len(msgspec.json.encode(pod.spec)) for pod in view.list(PODS)]
        return msgspec.structs.replace(decision, again_at=now + sum(sizes))

    seen = _seen(_with("replicaset", decide))
    assert seen.noted.swayed["replicaset"]
    assert not seen.noted.swayed["deployment"]


def test_a_field_that_is_written_and_not_declared_is_found() -> None:
    def decide(inner: Decider, view: Reading, key: Key, now: float) -> Decision:
        decision = inner.decide(view, key, now)
        found = view.get(REPLICASETS, key.namespace, key.name)
        if decision.effects or found is None or "touched" in found.metadata.labels:
            return decision
        label = ChangeStatus(
            identity="replicaset/label",
            resource=REPLICASETS.name,
            api_version=REPLICASETS.api_version,
            plural="replicasets",
            namespace=key.namespace,
            name=key.name,
            uid=found.metadata.uid,
            revision=found.metadata.revision,
            patch={"status": {"terminatingReplicas": 1}},
        )
        return Decision(effects=(label,)) if found.status.replicas else decision

    found = _seen(_with("replicaset", decide)).footprints()["replicaset"]
    more = missing(footprints()["replicaset"].writes, found.writes)
    assert more == {REPLICASETS.name: ["status.terminatingReplicas"]}
