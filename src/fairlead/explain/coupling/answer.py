"""`fairlead coupling`: who can change the inputs of a controller's decisions without calling it, on this plane.

What the sources declare (`declared.py`) is joined with what was written here (`observed.py`), the policies that are
stored (`policies.py`), how far the copies lag, the purse that retries are paid from, and timers (`timers.py`). In
pieces: `runtime/server/couplings.py` gives it beside a running server. A tenant is told what the sources say, and
of what was observed only what is about objects that they may get.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import structs

from fairlead.api.access.sight import EVERYTHING, Sight
from fairlead.api.admission.policies.in_force import MUTATING
from fairlead.control.footprints import footprints, writes_of
from fairlead.core import codec
from fairlead.core.errors import NotFound
from fairlead.decision.footprint import ANY, LIFE, Footprint, touches
from fairlead.explain.asking import Asking
from fairlead.explain.coupling.contract import (
    API_BUDGET,
    CACHE_LAG,
    CONTROLLER,
    LABEL_MUTATION,
    PERSON,
    POLICY,
    CopyLag,
    Coupling,
)
from fairlead.explain.coupling.declared import couplings, form_of, readers
from fairlead.explain.coupling.flows import FlowLevels
from fairlead.explain.coupling.observed import (
    COUPLING_OBJECTS_MAX,
    WrittenField,
    WrittenFields,
    audit_pieces,
)
from fairlead.explain.coupling.policies import policy_writes
from fairlead.explain.coupling.timers import aligned
from fairlead.explain.plane_told import PlaneTold
from fairlead.explain.sources import Sources

Json = dict[str, Any]
STORE = "store"
_NOTHING = Footprint({}, {})


def coupled(sources: Sources, controller: str = "", sight: Sight = EVERYTHING) -> Asking[Json]:
    """Of one controller, or of all."""
    plane = sources.told
    declared = plane.reads
    if controller and controller not in declared:
        raise _no_such(controller, declared)
    wanted = {controller: declared[controller]} if controller else declared
    reads = readers(wanted)
    resources = sorted({each for these in reads.values() for each in these})
    flows = FlowLevels(sources.reader)
    written = WrittenFields(sight.sees, flows)
    for piece in audit_pieces(sources.journal):
        written.add(piece)
        yield None
    lags: dict[str, CopyLag] = {}
    for resource in resources:
        entries = sources.reader.list(resource)
        lags[resource] = _lag(plane, resource, [each.revision for each in entries])
        newest = sorted(entries, key=lambda each: each.revision)[-COUPLING_OBJECTS_MAX:]
        written.add_managers(resource, newest)
        yield None
    policies = _policies(sources)
    found: list[Coupling] = []
    for name, fields in reads.items():
        found += _joined(name, fields, written, lags, policies)
        found += _by_plane(plane, name, fields, lags)
        found += flows.couplings(name)
        yield None
    groups = aligned(plane.timers, controller)
    return {
        "controllers": sorted(wanted),
        "couplings": found,
        "mirrors": [lags[each] for each in resources],
        "timers": groups,
        "observed": {"lines": written.lines, "hidden": written.hidden, "since": written.since},
    }


def _no_such(controller: str, declared: Iterable[str]) -> NotFound:
    known = ", ".join(sorted(declared))
    return NotFound(
        f'there is no controller "{controller}": known are {known}', kind="controllers", name=controller
    )


def _joined(
    reader: str,
    reads: Mapping[str, frozenset[str]],
    written: WrittenFields,
    lags: Mapping[str, CopyLag],
    policies: Mapping[str, Mapping[str, frozenset[str]]],
) -> list[Coupling]:
    own = footprints().get(reader, _NOTHING)
    met: set[int] = set()
    found: list[Coupling] = []
    for each in couplings(reader, reads):
        these = [
            one
            for one in written.found.values()
            if one.resource == each.resource and _is_of(one, each, reads[each.resource])
        ]
        met |= {id(one) for one in these}
        found.append(_with(each, these, lags))
    for policy, writes in sorted(policies.items()):
        for resource, fields in reads.items():
            touched = _touched(writes.get(resource) or writes.get(ANY, frozenset()), fields)
            if touched:
                these = [
                    one for one in written.found.values() if one.writer == policy and one.resource == resource
                ]
                met |= {id(one) for one in these}
                made = Coupling(LABEL_MUTATION, policy, POLICY, resource, touched, reader, declared=True)
                found.append(_with(made, these, lags))
    found += _undeclared(
        reader, reads, own, [one for one in written.found.values() if id(one) not in met], lags
    )
    return found


def _undeclared(
    reader: str,
    reads: Mapping[str, frozenset[str]],
    own: Footprint,
    written: Iterable[WrittenField],
    lags: Mapping[str, CopyLag],
) -> list[Coupling]:
    """What was seen and no table has: people by their names, programs, and controllers that do more than is known."""
    groups: dict[tuple[str, str, str, str], list[WrittenField]] = {}
    for one in written:
        fields = reads.get(one.resource)
        if one.writer == reader or fields is None or not _touched((one.field,), fields):
            continue
        form = form_of(one.field, one.resource, one.sort, writes_of(own, one.resource))
        groups.setdefault((form, one.writer, one.sort, one.resource), []).append(one)
    return [
        _with(Coupling(*key, fields=tuple(sorted({one.field for one in these})), reader=reader), these, lags)
        for key, these in sorted(groups.items())
    ]


def _is_of(one: WrittenField, coupling: Coupling, reads: frozenset[str]) -> bool:
    """Whether what was seen is what is declared; people are told by their names, not together."""
    return (
        one.writer == coupling.writer
        and coupling.sort != PERSON
        and any(touches(one.field, field) for field in coupling.fields)
        and bool(_touched((one.field,), reads))
    )


def _touched(written: Iterable[str], reads: frozenset[str]) -> tuple[str, ...]:
    return tuple(
        sorted(each for each in written if each in LIFE or any(touches(each, field) for field in reads))
    )


def _with(coupling: Coupling, written: list[WrittenField], lags: Mapping[str, CopyLag]) -> Coupling:
    lag = lags[coupling.resource].behind if coupling.resource in lags else 0
    if not written:
        return structs.replace(coupling, lag=lag)
    last = max(written, key=lambda each: each.last)
    return structs.replace(
        coupling,
        writes=sum(each.count for each in written),
        per_minute=round(sum(each.per_minute for each in written), 2),
        last=last.last,
        last_user=last.user,
        last_object=last.object,
        lag=lag,
    )


def _by_plane(
    plane: PlaneTold, reader: str, reads: Mapping[str, frozenset[str]], lags: Mapping[str, CopyLag]
) -> list[Coupling]:
    """What controllers of one plane share whatever they read: the purse of retries, and copies that are behind."""
    found = [
        Coupling(API_BUDGET, name, CONTROLLER, "retryBudget", ("retries",), reader, writes=spent)
        for name, spent in plane.retried.items()
        if name != reader
    ]
    if not found:
        found = [Coupling(API_BUDGET, "all controllers", CONTROLLER, "retryBudget", ("retries",), reader)]
    late = [lags[each] for each in sorted(reads) if each in lags and lags[each].behind]
    found += [
        Coupling(CACHE_LAG, STORE, CONTROLLER, each.resource, (ANY,), reader, lag=each.behind)
        for each in late
    ]
    return found


def _lag(plane: PlaneTold, resource: str, revisions: list[int]) -> CopyLag:
    heard, newest = plane.heard.get(resource), max(revisions, default=0)
    if heard is None:
        return CopyLag(resource, 0, newest, 0)
    return CopyLag(resource, heard, newest, sum(each > heard for each in revisions))


def _policies(sources: Sources) -> dict[str, dict[str, frozenset[str]]]:
    """By name: what those that are stored write."""
    found: dict[str, dict[str, frozenset[str]]] = {}
    for entry in sources.reader.list(MUTATING):
        spec = codec.decode(entry.data).get("spec") or {}
        found[f"policy:{entry.key.name}"] = policy_writes(spec)
    return found
