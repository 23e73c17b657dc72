"""What every object has: names, labels, annotations, owners and finalizers, checked with Kubernetes' words.

`api/` calls `validate_metadata` before a kind's `validate`, and `validate_metadata_update` before its
`validate_update`. Kinds that embed labels (templates, services) use the smaller functions.
Pure: who owns whom, and whether owners exist, is the garbage collector's business.
"""

from __future__ import annotations

from fairlead.core.problems import Problems
from fairlead.model.kind import Json, Kind
from fairlead.model.names import name_problems
from fairlead.model.verdicts import label_key_problems, label_value_problems
from fairlead.model.verdicts import name_problems as repeated_name_problems

#: bound: objects | annotations of one object | 422
ANNOTATIONS_BYTES_MAX = 256 * 1024
ORPHAN = "orphan"
FOREGROUND = "foregroundDeletion"
DAMAGED = "fairlead.dev/damaged"  # the annotation of a stand-in: `store/damage.py`


def validate_metadata(kind: Kind, obj: Json, problems: Problems) -> None:
    """An object's whole metadata, for a create or an update."""
    metadata = obj.get("metadata") or {}
    name = metadata.get("name")
    prefix = metadata.get("generateName")
    if prefix:
        for text in name_problems(kind.name_rule, prefix, prefix=True):
            problems.invalid("metadata.generateName", prefix, text)
    if name:
        for text in name_problems(kind.name_rule, name):
            problems.invalid("metadata.name", name, text)
    elif not prefix:
        problems.required("metadata.name", "name or generateName is required")
    _validate_namespace(kind, metadata.get("namespace"), problems)
    labels = metadata.get("labels")
    if labels:
        validate_labels(labels, "metadata.labels", problems)
    annotations = metadata.get("annotations")
    if annotations:
        validate_annotations(annotations, "metadata.annotations", problems)
        if DAMAGED in annotations:
            problems.forbidden(f"metadata.annotations[{DAMAGED}]", "only the server says so; leave it out")
    owners = metadata.get("ownerReferences")
    if owners:
        _validate_owners(owners, problems)
    finalizers = metadata.get("finalizers")
    if finalizers:
        _validate_finalizers(finalizers, problems)


def _validate_namespace(kind: Kind, namespace: str | None, problems: Problems) -> None:
    if kind.namespaced:
        if not namespace:
            problems.required("metadata.namespace")
            return
        for text in repeated_name_problems("label", namespace):
            problems.invalid("metadata.namespace", namespace, text)
    elif namespace:
        problems.forbidden("metadata.namespace", "not allowed on this type")


def validate_listed_name(name: str | None, path: str, taken: set[str], problems: Problems) -> None:
    """The name of an item of a list (a container, a volume), which no other item may have; it is `taken` after this."""
    if not name:
        problems.required(path)
        return
    for text in repeated_name_problems("label", name):
        problems.invalid(path, name, text)
    if name in taken:
        problems.duplicate(path, name)
    taken.add(name)


def validate_labels(labels: Json | None, path: str, problems: Problems) -> None:
    """Keys and values of a map of labels."""
    if not labels:
        return
    for key, value in labels.items():
        for text in label_key_problems(key):
            problems.invalid(path, key, text)
        if value:
            for text in label_value_problems(value):
                problems.invalid(path, value, text)


def validate_annotations(annotations: Json | None, path: str, problems: Problems) -> None:
    """Keys are qualified names in any case; values are free, but together they are bounded."""
    if not annotations:
        return
    size = 0
    for key, value in annotations.items():
        for text in label_key_problems(key.lower()):
            problems.invalid(path, key, text)
        size += _bytes(key) + _bytes(value or "")
    if size > ANNOTATIONS_BYTES_MAX:
        problems.too_long(path, ANNOTATIONS_BYTES_MAX)


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def _validate_owners(owners: list[Json], problems: Problems) -> None:
    path = "metadata.ownerReferences"
    controllers: list[str] = []
    for index, owner in enumerate(owners):
        version = owner.get("apiVersion") or ""
        if not version.rpartition("/")[2]:
            problems.invalid(f"{path}[{index}].apiVersion", version, "version must not be empty")
        for field in ("kind", "name", "uid"):
            if not owner.get(field):
                problems.invalid(f"{path}[{index}].{field}", owner.get(field) or "", "must not be empty")
        if version == "v1" and owner.get("kind") == "Event":
            text = "/v1, Kind=Event is disallowed from being an owner"
            problems.invalid(f"{path}[{index}]", owner, text)
        if owner.get("controller"):
            controllers.append(owner.get("name") or "")
    if len(controllers) > 1:
        text = (
            "Only one reference can have Controller set to true. "
            f'Found "true" in references for {controllers[0]} and {controllers[1]}'
        )
        problems.invalid(path, owners, text)


def _validate_finalizers(finalizers: list[str], problems: Problems) -> None:
    for finalizer in finalizers:
        for text in label_key_problems(finalizer):
            problems.invalid("metadata.finalizers", finalizer, text)
    if ORPHAN in finalizers and FOREGROUND in finalizers:
        text = f"finalizer {ORPHAN} and {FOREGROUND} cannot be both set"
        problems.invalid("metadata.finalizers", finalizers, text)


def validate_metadata_update(new: Json, old: Json, problems: Problems) -> None:
    """What an update may not touch. A field that `new` leaves out is taken from `old` by `api/` before."""
    after: Json = new.get("metadata") or {}
    before: Json = old.get("metadata") or {}
    for field in ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp"):
        if after.get(field) != before.get(field):
            problems.invalid(f"metadata.{field}", after.get(field), "field is immutable")
    grace = after.get("deletionGracePeriodSeconds")
    if grace != before.get("deletionGracePeriodSeconds"):
        text = "field is immutable; may only be changed via deletion"
        problems.invalid("metadata.deletionGracePeriodSeconds", grace, text)
    if before.get("deletionTimestamp"):
        known = before.get("finalizers") or ()
        added = [finalizer for finalizer in after.get("finalizers") or () if finalizer not in known]
        if added:
            listed = ", ".join(f'"{finalizer}"' for finalizer in added)
            text = "no new finalizers can be added if the object is being deleted, found new finalizers "
            problems.forbidden("metadata.finalizers", f"{text}[]string{{{listed}}}")


def is_observed(obj: Json) -> bool:
    """Whether the status is of the spec as it is now."""
    observed = (obj.get("status") or {}).get("observedGeneration", 0)
    return bool(observed >= obj["metadata"].get("generation", 1))


def metadata_warnings(obj: Json) -> list[str]:
    """Accepted, but likely to clash: finalizers without a domain."""
    return [
        f'metadata.finalizers: "{finalizer}": prefer a domain-qualified finalizer name including a path (/) '
        "to avoid accidental conflicts with other finalizer writers"
        for finalizer in (obj.get("metadata") or {}).get("finalizers") or ()
        if "/" not in finalizer and finalizer not in (ORPHAN, FOREGROUND)
    ]


def validate_immutable(new: object, old: object, path: str, problems: Problems) -> None:
    """A field that may not change."""
    if new != old:
        problems.invalid(path, new, "field is immutable")
