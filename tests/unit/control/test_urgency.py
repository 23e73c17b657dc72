"""Whose turn goes first: who lost a pod that served."""

from __future__ import annotations

import pytest

from fairlead.control.urgency import urgency
from fairlead.model.key import Key
from fairlead.model.marks import RELEASED
from fairlead.model.views import Condition, Meta, Pod, PodStatus
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
    ],
)
def test_a_turn_is_urgent_when_a_serving_pod_was_lost(
    resource: str, before: Pod | None, after: Pod | None, expected: Priority
) -> None:
    assert urgency(Key(resource, "default", "web"), before, after) is expected
