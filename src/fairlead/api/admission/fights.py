"""Warns whoever writes by hand of the controllers that the write will meet: whose field it is, and what they will do.

The table (`ledger/authority.py`) is handed in where a server is put together. Nothing is refused. Controllers, nodes
and service accounts are not warned: theirs is what they write. A write past the controls is marked in its audit line
(PAST), with the controllers and fields, so that it is found afterwards with who made it.
"""

from __future__ import annotations

from fairlead.api.admission.step import AdmissionStep
from fairlead.api.attempt import Attempt
from fairlead.core import codec
from fairlead.ledger.authority import AuthorityTable, Fight, autoscaler_of
from fairlead.model.diff import changed_fields

NAME = "FightForecast"
PAST = (
    "fairlead.dev/past"  # annotation of the audit line: controllers whose field or object was written by hand
)
_AUTOSCALERS = "horizontalpodautoscalers.autoscaling"
_SYSTEM = "system:"  # how the names of all begin that are no people
_VERBS = frozenset({"update", "patch", "delete", "deletecollection"})
_QUIET = ("metadata.managedFields", "metadata.resourceVersion", "metadata.generation")
_LEFT_OUT = frozenset({"events", "events.events.k8s.io", "leases.coordination.k8s.io"})


def step(table: AuthorityTable) -> AdmissionStep:
    """To be put at the end of the chain: it looks at the write as it will be."""

    def admit(attempt: Attempt) -> None:
        user = attempt.context.user
        if user.name.startswith(_SYSTEM) or attempt.old is None or attempt.new is None:
            return
        if attempt.kind.resource in _LEFT_OUT or attempt.subresource in ("eviction", "binding"):
            return
        met = [each for each in _met(table, attempt) if not each.reads]
        if met:
            attempt.warnings += [_told(attempt, each) for each in met]
            marks = ", ".join(dict.fromkeys(f"{each.controller} {each.field}".strip() for each in met))
            attempt.annotations = {**attempt.annotations, PAST: marks}

    return AdmissionStep(
        NAME,
        admit,
        _VERBS,
        None,
        subresources=True,
        does="people are warned of the controllers that the write will meet, and the audit line names them",
    )


def _met(table: AuthorityTable, attempt: Attempt) -> list[Fight]:
    kind, old, new = attempt.kind, attempt.old, attempt.new
    assert old is not None
    assert new is not None
    if attempt.verb in ("delete", "deletecollection"):
        if "deletionTimestamp" in old["metadata"]:
            return []
        return table.of_deletion(kind.resource, old)
    if not table.concerns(kind.resource):
        return []
    fields = [each for each in changed_fields(old, new) if not each.startswith(_QUIET)]
    if attempt.subresource != "status":
        fields = [each for each in fields if each != "status" and not each.startswith("status.")]
    if not fields:
        return []
    autoscaler = None
    if table.scales(kind.resource, fields):
        found = attempt.read.list(_AUTOSCALERS, attempt.key.namespace)
        autoscaler = autoscaler_of(kind.kind, attempt.key.name, (codec.decode(each.data) for each in found))
    return table.of_change(kind.resource, old, new, fields, autoscaler)


def _told(attempt: Attempt, fight: Fight) -> str:
    what = fight.field or f"{attempt.verb} {attempt.kind.singular_name}/{attempt.key.name}"
    return f"{what} meets {fight.controller}, which {fight.does}"
