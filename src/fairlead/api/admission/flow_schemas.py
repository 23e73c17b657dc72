"""The status of FlowSchemas: whether their priority level exists. Settled with each write of either, by nobody else.

A schema whose level does not exist matches nothing (`api/flow/in_force.py`): a level that is made or removed says so in
the schemas that name it, in the same transaction.
"""

from __future__ import annotations

from fairlead.api.admission.step import AdmissionStep
from fairlead.api.attempt import Attempt
from fairlead.api.objects import plain, put
from fairlead.core.times import timestamp
from fairlead.model.key import Key
from fairlead.model.kind import Json
from fairlead.model.kinds import flowschema, prioritylevelconfiguration
from fairlead.model.kinds.flowschema import DANGLING
from fairlead.store.contract import Absent, AtRevision, HasUid
from fairlead.store.damage import is_stand_in

_SCHEMAS, _LEVELS = flowschema.KIND.resource, prioritylevelconfiguration.KIND.resource
#: bound: objects | FlowSchemas told at once that their level came or went | the rest learn with their next write
SCHEMAS_TOLD_MAX = 256


def _settle(attempt: Attempt) -> None:
    assert attempt.new is not None
    key = Key(_LEVELS, "", _level_of(attempt.new))
    level = attempt.read.get(key)
    attempt.preconditions.append(Absent(key) if level is None else HasUid(key, level.uid))
    before = ((attempt.old or {}).get("status") or {}).get("conditions") or ()
    attempt.new["status"] = _status(key.name, level is not None, before, attempt.context.now)


def _tell_schemas(attempt: Attempt) -> None:
    assert attempt.new is not None
    if attempt.verb == "delete" and attempt.new["metadata"].get("finalizers"):
        return  # it is still there, and works
    told = 0
    for entry in attempt.read.list(_SCHEMAS):
        if told == SCHEMAS_TOLD_MAX or is_stand_in(entry.data):
            continue
        schema, managed = plain(entry)
        if _level_of(schema) != attempt.key.name:
            continue
        before = (schema.get("status") or {}).get("conditions") or ()
        status = _status(attempt.key.name, attempt.verb == "create", before, attempt.context.now)
        if status != schema.get("status"):
            told += 1
            attempt.preconditions.append(AtRevision(entry.key, entry.revision))
            changed = {**schema, "status": status}
            attempt.operations.append(put(flowschema.KIND, entry.key, changed, managed=managed))


def _level_of(schema: Json) -> str:
    return str(((schema.get("spec") or {}).get("priorityLevelConfiguration") or {}).get("name") or "")


def _status(level: str, exists: bool, before: list[Json] | tuple[()], now: float) -> Json:
    told = "exists" if exists else "does not exist: no request is matched"
    condition: Json = {
        "type": DANGLING,
        "status": "False" if exists else "True",
        "reason": "Found" if exists else "NotFound",
        "message": f'the PriorityLevelConfiguration "{level}" {told}',
    }
    known: Json = next((each for each in before if each.get("type") == DANGLING), {})
    same = known.get("status") == condition["status"] and known.get("lastTransitionTime")
    condition["lastTransitionTime"] = same or timestamp(now)
    return {"conditions": [condition]}


STEPS = (
    AdmissionStep(
        "FlowSchemaStatus",
        _settle,
        frozenset({"create", "update", "patch"}),
        frozenset({_SCHEMAS}),
        subresources=True,
        does="says in the status whether the schema's priority level exists",
    ),
    AdmissionStep(
        "PriorityLevelReferences",
        _tell_schemas,
        frozenset({"create", "delete"}),
        frozenset({_LEVELS}),
        does="a level that comes or goes is told in the status of the schemas that name it",
    ),
)
