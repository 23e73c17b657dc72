"""A released pod hands its quota to the pod that takes its place, in the transaction that creates or binds that one.

Called by `charging.py`; what counts when is in `ledger/handover.py`. The released pod is written, at its newest
revision: of two pods that come at once one gets its quota, the other is judged anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from fairlead.api.attempt import Attempt
from fairlead.api.objects import plain, put
from fairlead.ledger import handover
from fairlead.model.kinds.pod import kind as pods
from fairlead.model.marks import RELEASED, REPLACES
from fairlead.model.views import Pod
from fairlead.store.contract import AtRevision, Entry

#: bound: objects | released pods that a refusal for quota names | the others are counted
HOLDERS_TOLD_MAX = 3  # released pods that one refusal names
_MARK = RELEASED.encode()
_decode = msgspec.json.Decoder(Pod).decode


class Giver(NamedTuple):
    entry: Entry  # its newest version
    pod: Pod


def named_giver(attempt: Attempt, pod: Pod, stage: str) -> Giver | None:
    """The released pod that this one says it replaces, if it still holds something."""
    if REPLACES not in pod.metadata.annotations:
        return None
    found = (each for each in _released(attempt, pod, stage) if handover.is_named_by(each.pod, pod))
    return next(found, None)


def any_giver(attempt: Attempt, pod: Pod, stage: str) -> Giver | None:
    """Any released pod of the same controller that still holds something; the first by name."""
    return next(_released(attempt, pod, stage), None)


def hand_over(attempt: Attempt, giver: Giver, stage: str) -> None:
    tree, managed = plain(giver.entry)
    noted = handover.note_handover(tree, attempt.key.name, stage, attempt.context.now)
    key = giver.entry.key
    # A pod that is created with its node is charged twice, and is bound when it is created.
    if any(each.key == key for each in attempt.operations):
        return
    attempt.preconditions.append(AtRevision(key, giver.entry.revision))
    attempt.operations.append(put(pods.KIND, key, noted, managed=managed))


def describe_holders(attempt: Attempt) -> str:
    """Who of the namespace was released and still holds quota, for people: a part of a refusal."""
    space = attempt.key.namespace
    found = (
        _decode(each.data) for each in attempt.read.list(pods.KIND.resource, space) if _MARK in each.data
    )
    held = [
        f"{pod.metadata.name} on {pod.spec.node_name}"
        for pod in found
        if pod.released and not pod.finished and handover.holds_quota(pod)
    ]
    if not held:
        return ""
    more = f" and {len(held) - HOLDERS_TOLD_MAX} more" if len(held) > HOLDERS_TOLD_MAX else ""
    return f"; released, but still holding it: {', '.join(held[:HOLDERS_TOLD_MAX])}{more}"


def _released(attempt: Attempt, to: Pod, stage: str) -> Iterator[Giver]:
    if to.metadata.controller is None:
        return
    owner = to.metadata.controller.uid.encode()
    for durable in attempt.read.list(pods.KIND.resource, attempt.key.namespace):
        if _MARK not in durable.data or owner not in durable.data:
            continue
        entry = attempt.read.newest(durable.key)
        if entry is not None:
            pod = _decode(entry.data)
            if handover.may_give(pod, to, stage):
                yield Giver(entry, pod)
