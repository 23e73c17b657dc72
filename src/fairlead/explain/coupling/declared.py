"""Coupling as the sources have it: what is written by the one and read by the other (`control/footprints.py`). Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fairlead.control.authority import AGENT as NODE_AGENT
from fairlead.control.footprints import PEOPLE, footprints, reads_of, writes_of
from fairlead.decision.footprint import ANY, LIFE, Footprint, touches
from fairlead.explain.coupling.contract import (
    ADMISSION,
    AGENT,
    CONTROLLER,
    LABEL_MUTATION,
    OVERLAP,
    PERSON,
    SHARED_CAPACITY,
    SHARED_FIELD,
    Coupling,
)

ADMITS = "admission:"
_NODES = (NODE_AGENT, "hollow")  # real ones, and those that pretend
LABELS = "metadata.labels"
# Room and allowances: what one takes of it another does not have.
CAPACITY: Mapping[str, tuple[str, ...]] = {
    "nodes": ("spec.unschedulable", "spec.taints", "status.allocatable", "status.capacity"),
    "pods": ("spec.nodeName", "status.nominatedNodeName", "status.conditions[fairlead.dev/QuotaGiven]"),
    "placementquotas.fairlead.dev": ("spec.hard", "status.used"),
    "resourcequotas": ("spec.hard", "status.used", "status.hard"),
    "reservations.fairlead.dev": ("status.phase", "status.nodeName", "status.allocatedTo"),
    "poddisruptionbudgets.policy": ("status.disruptionsAllowed", "status.disruptedPods"),
}
Reads = Mapping[str, frozenset[str]]
_NOTHING = Footprint({}, {})


def readers(declared: Mapping[str, Iterable[str]]) -> dict[str, Reads]:
    """Fields by resource, of each controller whose resources are given; of one that no table knows, all of them."""
    known = footprints()
    found: dict[str, Reads] = {}
    for name, resources in declared.items():
        footprint = known.get(name)
        found[name] = {
            each: (reads_of(footprint, each) if footprint is not None else frozenset({ANY}))
            for each in resources
        }
    return found


def sort_of(writer: str) -> str:
    if writer == PEOPLE:
        return PERSON
    if writer in _NODES:
        return AGENT
    return ADMISSION if writer.startswith(ADMITS) else CONTROLLER


def couplings(reader: str, reads: Reads) -> list[Coupling]:
    """Who writes what this one reads, without anybody having looked at a plane."""
    found: list[Coupling] = []
    own = footprints().get(reader, _NOTHING)
    for resource, fields in sorted(reads.items()):
        for writer, footprint in sorted(footprints().items()):
            if writer == reader:
                continue
            written = [
                each
                for each in sorted(writes_of(footprint, resource))
                if each in LIFE or any(touches(each, field) for field in fields)
            ]
            for form, these in _by_form(written, resource, sort_of(writer), writes_of(own, resource)).items():
                found.append(
                    Coupling(
                        form=form,
                        writer=writer,
                        sort=sort_of(writer),
                        resource=resource,
                        fields=tuple(these),
                        reader=reader,
                        declared=True,
                    )
                )
        people = Coupling(
            form=SHARED_FIELD,
            writer=PEOPLE,
            sort=PERSON,
            resource=resource,
            fields=(ANY,),
            reader=reader,
            declared=True,
        )
        found.append(people)
    return found


def form_of(field: str, resource: str, sort: str, own: Iterable[str]) -> str:
    """`own`: what the reader writes of that resource itself."""
    if sort == ADMISSION or field.startswith(LABELS):
        return LABEL_MUTATION
    if any(touches(field, each) for each in CAPACITY.get(resource, ()) if field not in LIFE):
        return SHARED_CAPACITY
    if field not in LIFE and any(touches(field, each) for each in own if each not in LIFE):
        return OVERLAP
    return SHARED_FIELD


def _by_form(written: Iterable[str], resource: str, sort: str, own: frozenset[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for field in written:
        found.setdefault(form_of(field, resource, sort, own), []).append(field)
    return found
