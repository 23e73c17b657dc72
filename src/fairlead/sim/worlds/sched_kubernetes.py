"""`sched-kubernetes`: the world of `sched` on an API that can do no more than Kubernetes (`Capabilities`).

No fences and no premises: a leader stops a margin before its lease ends, longer than its requests may take, and reads
what a write rests on just before it. What arrives after its sender gave up (`request_late`) can come under the next
leader; uid and resourceVersion judge it.
"""

from __future__ import annotations

from dataclasses import replace

from fairlead.control.leadership import LeadershipSettings
from fairlead.port.capabilities import KUBERNETES
from fairlead.sim.scenario import Scenario
from fairlead.sim.worlds import sched

FAULTS = sched.FAULTS


def scenario() -> Scenario:
    return replace(
        sched.scenario(),
        name="sched-kubernetes",
        capabilities=KUBERNETES,
        # A request of the simulator is given up after 10 s.
        leadership=LeadershipSettings(
            duration_seconds=24.0, renew_seconds=4.0, retry_seconds=4.0, margin_seconds=11.0
        ),
    )
