"""kubectl's annotation of client-side apply, for those who go over to server-side apply.

What the annotation says was applied, and still is as it says, kubectl may take over without a conflict; and while the
annotation is there it is kept up, so that going back is possible too. Used by `api/verbs/apply.py`.
"""

from __future__ import annotations

from fairlead.core import codec
from fairlead.core.errors import BadRequest
from fairlead.model.apply.rules import MergeRule
from fairlead.model.apply.sets import NOTHING, FieldSet, minus
from fairlead.model.apply.trees import collect_fields, compare
from fairlead.model.kind import Json, Kind
from fairlead.model.metadata import ANNOTATIONS_BYTES_MAX

ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"


def allowed_by(rule: MergeRule, kind: Kind, live: Json) -> FieldSet:
    """The fields that were applied by the client and are as it left them."""
    text = (live["metadata"].get("annotations") or {}).get(ANNOTATION)
    if not text:
        return NOTHING
    try:
        last = codec.decode(text.encode())
    except BadRequest:
        return NOTHING
    if not isinstance(last, dict) or last.get("apiVersion") != kind.api_version:
        return NOTHING
    found = compare(rule, last, live)
    return minus(minus(collect_fields(rule, last), found.changed), found.removed)


def with_last_applied(new: Json, config: Json) -> Json:
    """The object with the annotation telling of this configuration, or without if that would be too large."""
    metadata = new["metadata"]
    given = config.get("metadata") or {}
    others = {name: value for name, value in (given.get("annotations") or {}).items() if name != ANNOTATION}
    told = {**config, "metadata": {**given, "annotations": others}}
    if not others:
        del told["metadata"]["annotations"]
    annotations = {**(metadata.get("annotations") or {}), ANNOTATION: codec.encode(told).decode() + "\n"}
    if (
        sum(len(name.encode()) + len(value.encode()) for name, value in annotations.items())
        > ANNOTATIONS_BYTES_MAX
    ):
        del annotations[ANNOTATION]
    return {**new, "metadata": {**metadata, "annotations": annotations}}
