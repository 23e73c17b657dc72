"""Nothing is created in a namespace that does not exist or is going away, judged again at commit."""

from __future__ import annotations

from fairlead.api.admission.step import AdmissionStep
from fairlead.api.attempt import Attempt
from fairlead.api.objects import tree
from fairlead.core.errors import Cause, Forbidden, NotFound
from fairlead.model.key import Key
from fairlead.store.contract import AtRevision

NAMESPACES = "namespaces"
# The plane itself lives in these; without them it could not report or elect.
IMMORTAL = frozenset({"default", "kube-system", "kube-public", "kube-node-lease"})


def _admit(attempt: Attempt) -> None:
    kind, key = attempt.kind, attempt.key
    if attempt.verb == "delete":
        if kind.resource == NAMESPACES and key.name in IMMORTAL:
            raise attempt.forbidden("this namespace may not be deleted")
        return
    if not kind.namespaced:
        return
    namespace = Key(NAMESPACES, "", key.namespace)
    entry = attempt.read.get(namespace)
    if entry is None:
        raise NotFound(
            f'namespaces "{key.namespace}" not found; create it with: kubectl create namespace {key.namespace}',
            kind="namespaces",
            name=key.namespace,
        )
    # The bytes are searched before they are decoded: creates are hot, namespaces are hardly ever terminating.
    if b'"deletionTimestamp"' in entry.data and "deletionTimestamp" in tree(entry)["metadata"]:
        raise Forbidden(
            f'{kind.plural} "{key.name}" is forbidden: unable to create new content in namespace {key.namespace} '
            "because it is being terminated",
            causes=(
                Cause(
                    "NamespaceTerminating",
                    f"namespace {key.namespace} is being terminated",
                    "metadata.namespace",
                ),
            ),
            group=kind.group,
            kind=kind.plural,
            name=key.name,
        )
    attempt.preconditions.append(AtRevision(namespace, entry.revision))


STEP = AdmissionStep(
    "NamespaceLifecycle",
    _admit,
    frozenset({"create", "delete"}),
    does="the namespace must exist and not be ending, and is held at its revision until the commit",
)
