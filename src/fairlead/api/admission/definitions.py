"""CustomResourceDefinitions and their objects, judged in the transaction of the write.

A definition's status (accepted names, established) is settled with each write of it, so that whoever made one finds it
established in the answer. Its deletion waits for its objects behind a finalizer; from then on none is created, which
is judged again at commit: the create carries the definition's revision.
"""

from __future__ import annotations

from fairlead.api.admission.namespace_lifecycle import NAMESPACES
from fairlead.api.admission.step import AdmissionStep
from fairlead.api.attempt import Attempt
from fairlead.api.objects import put, tree
from fairlead.core.errors import Conflict, MethodNotAllowed
from fairlead.model.catalog import CATALOG
from fairlead.model.custom.definition import (
    DEFINITIONS,
    ESTABLISHED,
    FINALIZER,
    NAMES_ACCEPTED,
    TERMINATING,
    decode_brief,
)
from fairlead.model.custom.naming import put_condition, settled_status, taken_by
from fairlead.model.key import Key
from fairlead.model.kind import Json
from fairlead.model.kinds import namespace
from fairlead.store.contract import AtRevision

#: bound: objects | CustomResourceDefinitions | 403
DEFINITIONS_MAX = 1_000
_SETTLED = (NAMES_ACCEPTED, ESTABLISHED)


def _settle(attempt: Attempt) -> None:
    new, old = attempt.new, attempt.old
    assert new is not None
    entries = attempt.read.list(DEFINITIONS)
    if old is None and len(entries) >= DEFINITIONS_MAX:
        raise attempt.forbidden(f"this server takes at most {DEFINITIONS_MAX} definitions")
    spec = new.get("spec") or {}
    if not isinstance(spec.get("names"), dict) or not spec["names"].get("kind"):
        return  # validation names what is missing
    if old is not None:
        _keep_settled(new, old)
        _check_emptied(attempt, new, old)
    group = spec.get("group") or ""
    mark = f'"group":"{group}"'.encode()
    others = [
        decode_brief(entry.data) for entry in entries if entry.key != attempt.key and mark in entry.data
    ]
    taken = taken_by(CATALOG, others, group, attempt.key.name)
    if old is None or old["spec"].get("names") != spec["names"]:
        _one_after_another(attempt)
    new["status"] = settled_status(new, taken, attempt.context.now)


def _one_after_another(attempt: Attempt) -> None:
    """If two definitions claim names at the same moment, the second must see the first: both write this object."""
    key = Key(NAMESPACES, "", "kube-system")
    entry = attempt.read.get(key)
    if entry is not None:
        attempt.preconditions.append(AtRevision(key, entry.revision))
        attempt.operations.append(put(namespace.KIND, key, tree(entry)))


def _keep_settled(new: Json, old: Json) -> None:
    """Names and the conditions that speak of them are the server's to write, whoever writes the rest of a status."""
    status, before = dict(new.get("status") or {}), old.get("status") or {}
    status.pop("acceptedNames", None)
    if "acceptedNames" in before:
        status["acceptedNames"] = before["acceptedNames"]
    given = [each for each in status.get("conditions") or () if each.get("type") not in _SETTLED]
    kept = [each for each in before.get("conditions") or () if each.get("type") in _SETTLED]
    status["conditions"] = [*kept, *given]
    new["status"] = status


def _check_emptied(attempt: Attempt, new: Json, old: Json) -> None:
    """Its finalizer may go only when its objects have gone: nobody could find them afterwards."""
    before, after = old["metadata"].get("finalizers") or (), new["metadata"].get("finalizers") or ()
    if FINALIZER in before and FINALIZER not in after and attempt.read.list(attempt.key.name):
        raise Conflict(
            f'Operation cannot be fulfilled on {DEFINITIONS} "{attempt.key.name}": there are objects of this kind; '
            "delete those first, or take their finalizers off",
            group=attempt.kind.group,
            kind=attempt.kind.plural,
            name=attempt.key.name,
        )


def _terminate(attempt: Attempt) -> None:
    new, old = attempt.new, attempt.old
    assert new is not None
    assert old is not None
    if "deletionTimestamp" in old["metadata"]:
        return
    finalizers = new["metadata"].setdefault("finalizers", [])
    if FINALIZER not in finalizers:
        finalizers.append(FINALIZER)
    text = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
    put_condition(new, TERMINATING, "True", "InstanceDeletionPending", text, attempt.context.now)


def _hold_definition(attempt: Attempt) -> None:
    """What is written follows from the schema of now: with another it is decided again."""
    name = attempt.kind.definition
    if not name:
        return
    key = Key(DEFINITIONS, "", name)
    entry = attempt.read.get(key)
    ends = entry is None or (
        b'"deletionTimestamp"' in entry.data and "deletionTimestamp" in decode_brief(entry.data)["metadata"]
    )
    if attempt.verb == "create" and ends:
        raise MethodNotAllowed(
            "create not allowed while custom resource definition is terminating",
            group=attempt.kind.group,
            kind=attempt.kind.plural,
            name=attempt.key.name,
        )
    if entry is not None:
        attempt.preconditions.append(AtRevision(key, entry.revision))


STEPS = (
    AdmissionStep(
        "CustomResourceNames",
        _settle,
        frozenset({"create", "update", "patch"}),
        frozenset({DEFINITIONS}),
        subresources=True,
        does="settles which names of a definition are accepted, and whether it is established",
    ),
    AdmissionStep(
        "CustomResourceCleanup",
        _terminate,
        frozenset({"delete"}),
        frozenset({DEFINITIONS}),
        does="a definition waits for its objects behind a finalizer",
    ),
    AdmissionStep(
        "CustomResourceLifecycle",
        _hold_definition,
        frozenset({"create", "update", "patch"}),
        subresources=True,
        does="holds an object's definition at its revision; none is created while that ends",
    ),
)
