"""ClusterRoles with an aggregationRule: their rules are those of the ClusterRoles that it selects.

In order of the roles' names and without repetitions, as Kubernetes has them; what somebody writes into such a role by
hand is replaced. A role that one gathers may itself gather: each takes what the other shows, and follows when that
changes.
"""

from __future__ import annotations

from fairlead.core import codec
from fairlead.decision.contract import NOTHING, Decision, Reading
from fairlead.decision.decider import Decider, Wake
from fairlead.decision.ensure import ensure_field
from fairlead.decision.predicates import PRESENT
from fairlead.decision.wakes import each_of, itself_if
from fairlead.model.aggregation import gather_rules
from fairlead.model.key import Key
from fairlead.model.kind import Json
from fairlead.model.kinds.role import CLUSTER_ROLE
from fairlead.model.views import Resource, Stored

NAME = "role-aggregation"
CLUSTER_ROLES: Resource[Stored] = Resource(
    CLUSTER_ROLE.resource, CLUSTER_ROLE.api_version, CLUSTER_ROLE.kind, Stored
)


def role_aggregation_decider() -> Decider:
    return Decider(
        name=NAME,
        reads=(CLUSTER_ROLES,),
        wakes=(
            Wake(CLUSTER_ROLES, itself_if(_gathers), when=PRESENT),
            Wake(CLUSTER_ROLES, each_of(CLUSTER_ROLES, _gathers)),
        ),
        decide=_decide,
    )


def _gathers(role: Stored) -> bool:
    return b'"aggregationRule"' in role.data


def _decide(view: Reading, key: Key, now: float) -> Decision:
    found = view.get(CLUSTER_ROLES, "", key.name)
    if found is None or not _gathers(found) or found.metadata.deletion_timestamp:
        return NOTHING
    role: Json = codec.decode(found.data)
    if role.get("aggregationRule") is None:
        return NOTHING
    wanted = gather_rules(role, (codec.decode(each.data) for each in view.list(CLUSTER_ROLES)))
    change = ensure_field(
        NAME, found.metadata, CLUSTER_ROLES, found, ("rules",), role.get("rules") or [], wanted
    )
    return NOTHING if change is None else Decision(effects=(change,))
