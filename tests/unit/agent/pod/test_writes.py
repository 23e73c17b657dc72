"""A plane that marked a pod as lost is contradicted once for each renewal of the node's lease; after a conflict nothing is
said before the mirror shows what won."""

from __future__ import annotations

import msgspec
import pytest

from fairlead.agent.pace import Pace
from fairlead.agent.pod.shared_by_pods import Means
from fairlead.agent.pod.writes import Writes
from fairlead.agent.views import BoundPod
from fairlead.model.views import Json
from fairlead.port.outcome import Conflict
from tests.unit.agent.room import SETTINGS

READY: Json = {"type": "Ready", "status": "True"}
LOST: Json = {"type": "Ready", "status": "False", "reason": "NodeUnknown"}
MARK: Json = {"type": "fairlead.dev/Released", "status": "False", "reason": "NodeUnknown"}


def pod(*conditions: Json) -> BoundPod:
    metadata = {"name": "web", "namespace": "default", "uid": "u", "resourceVersion": "7"}
    return msgspec.convert({"metadata": metadata, "status": {"conditions": list(conditions)}}, BoundPod)


@pytest.fixture
def means() -> Means:
    return Means(SETTINGS, Pace())


def test_a_mark_is_contradicted_again_after_a_renewal_only(means: Means) -> None:
    writes, marked, patch = Writes(), pod(LOST, MARK), {"conditions": [READY, MARK]}
    assert not writes.contradicts_again(marked, patch, means)
    writes.status(marked, patch, means)
    assert writes.contradicts_again(marked, patch, means)
    means.renewals += 1
    assert not writes.contradicts_again(marked, patch, means)


@pytest.mark.parametrize(
    ("there", "patch"),
    [
        (pod(LOST), {"conditions": [READY], "phase": "Failed"}),
        (pod(LOST), {"conditions": [READY, {"type": "Initialized", "status": "True"}]}),
        (pod({**LOST, "reason": "ContainersNotReady"}), {"conditions": [READY]}),
        (pod(READY, MARK), {"conditions": [READY]}),
    ],
    ids=["more than conditions", "a condition that is new", "nobody's mark", "one condition less"],
)
def test_whatever_else_is_new_is_said_at_once(there: BoundPod, patch: Json, means: Means) -> None:
    writes = Writes()
    writes.status(there, patch, means)
    assert not writes.contradicts_again(there, patch, means)


def test_after_a_conflict_a_status_waits_for_the_version_that_won(means: Means) -> None:
    writes = Writes()
    writes.status(pod(READY), {"phase": "Running"}, means)
    writes.answered(Conflict("Conflict", "the object has been modified", revision=9), means, 0.0)
    means.pods_revision = 8
    assert not writes.free(means, 3600.0), "it would be refused again"
    means.pods_revision = 9
    assert writes.free(means, 0.0)
