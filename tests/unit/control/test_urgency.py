"""Whose turn goes first: who lost a pod that served."""

from __future__ import annotations

import pytest
from msgspec import structs

from fairlead.control.urgency import urgency
from fairlead.model.key import Key
from fairlead.model.marks import RELEASED
from fairlead.model.views import Condition, Meta, Pod, PodSpec, PodStatus
from fairlead.queue.entry import Priority

RUNNING = Pod(metadata=Meta(name="web-0", uid="u", resource_version="1"), status=PodStatus(phase="Running"))
FAILED = Pod(metadata=Meta(name="web-0", uid="u", resource_version="1"), status=PodStatus(phase="Failed"))
ANNOUNCED = Pod(
    metadata=Meta(name="web-0", uid="u", resource_version="1"),
    status=PodStatus(phase="Running", conditions=(Condition(RELEASED, "False"),)),
)
GIVEN_UP = Pod(
    metadata=Meta(name="web-0", uid="u", resource_version="1"),
    status=PodStatus(phase="Running", conditions=(Condition(RELEASED, "True"),)),
)


def of(pod: Pod, priority: int) -> Pod:
    return structs.replace(pod, spec=PodSpec(priority=priority))


@pytest.mark.parametrize(
    ("resource", "before", "after", "expected"),
    [
        ("replicasets.apps", RUNNING, None, Priority.HIGH),
        ("replicasets.apps", RUNNING, FAILED, Priority.HIGH),
        ("statefulsets.apps", RUNNING, GIVEN_UP, Priority.HIGH),
        ("replicasets.apps", RUNNING, ANNOUNCED, Priority.NORMAL),
        ("replicasets.apps", ANNOUNCED, GIVEN_UP, Priority.HIGH),
        ("daemonsets.apps", RUNNING, None, Priority.HIGH),
        ("replicasets.apps", RUNNING, RUNNING, Priority.NORMAL),
        ("replicasets.apps", None, RUNNING, Priority.NORMAL),
        ("replicasets.apps", FAILED, None, Priority.NORMAL),
        ("jobs.batch", RUNNING, None, Priority.NORMAL),
        ("services", RUNNING, FAILED, Priority.HIGH),
        ("services", RUNNING, RUNNING, Priority.NORMAL),
        ("replicasets.apps", of(RUNNING, 1000), None, Priority.URGENT),
        ("statefulsets.apps", of(RUNNING, 1000), of(FAILED, 1000), Priority.URGENT),
        ("replicasets.apps", of(RUNNING, 1000), of(RUNNING, 1000), Priority.NORMAL),
        ("replicasets.apps", of(RUNNING, -10), None, Priority.NORMAL),
        ("jobs.batch", of(RUNNING, -10), of(FAILED, -10), Priority.LOW),
        ("jobs.batch", None, of(RUNNING, -10), Priority.LOW),
        ("jobs.batch", of(RUNNING, 1000), None, Priority.NORMAL),
    ],
)
def test_a_turn_is_urgent_when_a_serving_pod_was_lost(
    resource: str, before: Pod | None, after: Pod | None, expected: Priority
) -> None:
    assert urgency(Key(resource, "default", "web"), before, after) is expected
