"""Viewers read custom objects too: each definition that is established has a ClusterRole which says so.

The role carries the label by which `fairlead:viewer` gathers its rules (`role_aggregation.py`), and the definition owns
it, so that it is collected with it. Whoever does not want viewers to see a kind empties the rules of its role or takes
the label off: what exists is left as it is.
"""

from __future__ import annotations

from fairlead.decision.contract import NOTHING, Decision, Reading
from fairlead.decision.decider import Decider, Wake, WatchEvent
from fairlead.decision.effects import Json
from fairlead.decision.ensure import ensure_child
from fairlead.decision.predicates import GONE, PRESENT
from fairlead.decision.wakes import itself
from fairlead.model.custom.definition import DEFINITIONS, ESTABLISHED, decode_brief, is_true
from fairlead.model.key import Key
from fairlead.model.kinds.customresourcedefinition import KIND
from fairlead.model.kinds.role import TO_VIEWER, VIEWER
from fairlead.model.views import Resource, Stored
from fairlead.reconcile.role_aggregation import CLUSTER_ROLES

NAME = "viewer-role"
_PREFIX = f"{VIEWER}:"
_DEFINITIONS: Resource[Stored] = Resource(DEFINITIONS, KIND.api_version, KIND.kind, Stored)


def viewer_role_decider() -> Decider:
    return Decider(
        name=NAME,
        reads=(_DEFINITIONS, CLUSTER_ROLES),
        wakes=(
            Wake(_DEFINITIONS, itself, when=PRESENT),
            Wake(CLUSTER_ROLES, _definition_of, when=GONE),
        ),
        decide=_decide,
    )


def _definition_of(event: WatchEvent[Stored]) -> tuple[Key, ...]:
    """Of a role of ours, the definition that it is about."""
    name = event.key.name
    return (Key(DEFINITIONS, "", name.removeprefix(_PREFIX)),) if name.startswith(_PREFIX) else ()


def _decide(view: Reading, key: Key, now: float) -> Decision:
    found = view.get(_DEFINITIONS, "", key.name)
    if found is None or found.metadata.deletion_timestamp:
        return NOTHING
    definition = decode_brief(found.data)
    if not is_true(definition, ESTABLISHED):
        return NOTHING
    group, plural = definition["spec"]["group"], definition["spec"]["names"].get("plural") or ""
    name = f"{_PREFIX}{key.name}"
    owner = {"apiVersion": KIND.api_version, "kind": KIND.kind, "name": key.name, "uid": found.uid}
    body: Json = {
        "metadata": {"name": name, "labels": {TO_VIEWER: "true"}, "ownerReferences": [owner]},
        "rules": [
            {
                "apiGroups": [group],
                "resources": [plural, f"{plural}/status", f"{plural}/scale"],
                "verbs": ["get", "list", "watch"],
            }
        ],
    }
    there = view.get(CLUSTER_ROLES, "", name)
    child = ensure_child(NAME, found.metadata, CLUSTER_ROLES, there, body, name)
    return NOTHING if child is None else Decision(effects=(child,))
