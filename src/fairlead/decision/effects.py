"""The closed set of things a Decider can ask for, each with an identity that makes doing it twice doing it once.

    Create        a child under a name that follows from its owner and occasion; if it exists, it is done
    Change        a merge patch of one object, bound to the uid and revision it was decided on
    ChangeStatus  the same of its status subresource
    ChangeScale   the same of its scale subresource: the number of replicas of anything that has one
    Delete        of this very object: uid and revision are preconditions; of a pod also as an eviction
    Bind          a pod to a node, once
    Finalize      what is left of a namespace's spec.finalizers, once it is empty

`identity` is (controller, object uid, intent, occasion) as text (laws.md 4): stable over retries, restarts and leaders.
`premises` are other objects at the revisions it was decided on (`premise_of`): the write commits only while all of them
are still so. Whoever makes or removes children for an owner gives the owner.
`control/requests.py` turns an effect into a Request; after an unknown outcome `control/turn.py` asks `is_done` of what
a fresh read shows.
"""

from __future__ import annotations

from typing import Any, get_args

import msgspec

from fairlead.decision.retry import RetryPolicy
from fairlead.model.key import Key
from fairlead.model.premise import Premise, Premises
from fairlead.model.views import Meta, Resource

Json = dict[str, Any]

# Every child says which action made it: how an action is recognised after its answer was lost.
OPERATION = "fairlead.dev/operation"


def identity(controller: str, uid: str, intent: str, occasion: str = "") -> str:
    return "/".join(filter(None, (controller, uid, intent, occasion)))


class _Effect(msgspec.Struct, frozen=True, tag=True):
    identity: str
    resource: str  # group-resource
    api_version: str
    plural: str
    namespace: str
    name: str

    @property
    def key(self) -> Key:
        return Key(self.resource, self.namespace, self.name)


class Create(_Effect, frozen=True, tag=True):
    """`body` is the whole object; metadata.name is `name`."""

    body: Json
    premises: Premises = ()

    def is_done(self, found: Json | None) -> bool:
        """Whether what a fresh read found is what this effect would have made."""
        return found is not None and _operation(found) == self.identity


class Change(_Effect, frozen=True, tag=True):
    uid: str
    revision: int
    patch: Json  # merge patch, without metadata.uid and resourceVersion
    premises: Premises = ()

    subresource = ""

    def is_done(self, found: Json | None) -> bool:
        """Gone, replaced or changed since: whoever decides again sees what happened."""
        return found is None or _uid(found) != self.uid or _revision(found) > self.revision


class ChangeStatus(Change, frozen=True, tag=True):
    subresource = "status"


class ChangeScale(Change, frozen=True, tag=True):
    subresource = "scale"


class Finalize(Change, frozen=True, tag=True):
    subresource = "finalize"


class Delete(_Effect, frozen=True, tag=True):
    uid: str
    revision: int
    policy: str = "Background"  # "": the finalizers it has say what becomes of its dependents
    # None: as long as the object asks for; 0: at once, what a node does in the end.
    grace_seconds: int | None = None
    premises: Premises = ()
    evicts: bool = False  # of a pod: within the budgets of its disruption

    def is_done(self, found: Json | None) -> bool:
        if found is None or _uid(found) != self.uid:
            return True
        metadata = found["metadata"]
        if "deletionTimestamp" not in metadata:
            return False
        return (
            self.grace_seconds is None or metadata.get("deletionGracePeriodSeconds", 0) <= self.grace_seconds
        )


class Bind(_Effect, frozen=True, tag=True):
    uid: str
    node: str
    reservation: str = ""  # that it uses, marked as used in the same transaction

    def is_done(self, found: Json | None) -> bool:
        """Bound anywhere: the question is answered, by us or by another."""
        return found is None or _uid(found) != self.uid or bool(found.get("spec", {}).get("nodeName"))


Effect = Create | Change | ChangeStatus | ChangeScale | Finalize | Delete | Bind

# How each effect is tried again. Made from the union, so that no effect is without a row.
RETRY: dict[type, RetryPolicy] = dict.fromkeys(get_args(Effect), RetryPolicy())


def premise_of(resource: Resource[Any], meta: Meta) -> Premise:
    """This object as it is now."""
    return Premise(Key(resource.name, meta.namespace, meta.name), meta.revision)


def plural_of(resource: Resource[Any]) -> str:
    return resource.name.partition(".")[0]


def create_object(
    label: str, resource: Resource[Any], namespace: str, name: str, body: Json, premises: Premises = ()
) -> Create:
    """The creation of `body`, which is whole: with its kind, its name and the operation's identity."""
    return Create(
        identity=label, resource=resource.name, api_version=resource.api_version, plural=plural_of(resource),
        namespace=namespace, name=name, body=body, premises=premises,
    )  # fmt: skip


def change_object(
    label: str, resource: Resource[Any], meta: Meta, patch: Json, premises: Premises = ()
) -> Change:
    """A merge patch of an object as it was looked at."""
    return Change(
        identity=label, resource=resource.name, api_version=resource.api_version, plural=plural_of(resource),
        namespace=meta.namespace, name=meta.name, uid=meta.uid, revision=meta.revision, patch=patch,
        premises=premises,
    )  # fmt: skip


def change_status(label: str, resource: Resource[Any], meta: Meta, status: Json) -> ChangeStatus:
    """A merge patch of the status of an object as it was looked at."""
    return ChangeStatus(
        identity=label, resource=resource.name, api_version=resource.api_version, plural=plural_of(resource),
        namespace=meta.namespace, name=meta.name, uid=meta.uid, revision=meta.revision, patch={"status": status},
    )  # fmt: skip


def delete_object(
    label: str,
    resource: Resource[Any],
    meta: Meta,
    *,
    policy: str = "Background",
    grace_seconds: int | None = None,
    premises: Premises = (),
    evicts: bool = False,
) -> Delete:
    """The deletion of an object as it was looked at."""
    return Delete(
        identity=label,
        resource=resource.name,
        api_version=resource.api_version,
        plural=plural_of(resource),
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        revision=meta.revision,
        policy=policy,
        grace_seconds=grace_seconds,
        premises=premises,
        evicts=evicts,
    )


def _uid(found: Json) -> str:
    return str(found["metadata"].get("uid", ""))


def _revision(found: Json) -> int:
    return int(found["metadata"]["resourceVersion"])


def _operation(found: Json) -> str:
    return str(found["metadata"].get("annotations", {}).get(OPERATION, ""))
