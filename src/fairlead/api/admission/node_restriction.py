"""A node's credentials write only its own Node and what is bound to it; the rule itself is in `api/access/authz.py`."""

from __future__ import annotations

from fairlead.api.access.node_access import foreign_endpoint, node_restriction
from fairlead.api.admission.step import AdmissionStep
from fairlead.api.attempt import Attempt
from fairlead.core.errors import Forbidden


def _admit(attempt: Attempt) -> None:
    kind = attempt.kind
    problem = node_restriction(
        attempt.context.user, kind.resource, attempt.verb, attempt.key.name, attempt.new, attempt.old
    )
    if problem is None and kind.resource == "nodes":
        stored = (entry.data for entry in attempt.read.list("nodes", ""))
        problem = foreign_endpoint(attempt.context.user, attempt.new, attempt.old, stored)
    if problem is not None:
        raise Forbidden(
            f'{kind.plural} "{attempt.key.name}" is forbidden: {problem}',
            group=kind.group,
            kind=kind.plural,
            name=attempt.key.name,
        )


STEP = AdmissionStep(
    "NodeRestriction",
    _admit,
    frozenset({"create", "update", "patch", "delete"}),
    subresources=True,
    does="a node writes only what is its own",
)
