"""The operator beside this in the simulator: two planes that take over from one another, faults, and people who put lamps out.

    python examples/operator_decider/world.py             the operator as it should be
    python examples/operator_decider/world.py --hasty     the one with the stale-view bug

Runs are planned: one without faults is made, and then one for each place at which something can go wrong in it. Prints
each run that fails, the invariant that it broke, and what was planned.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from fairlead.control.leadership import LeadershipSettings
from fairlead.decision.decider import Decider
from fairlead.sim.faults import Faults
from fairlead.sim.run import Runner
from fairlead.sim.scenario import Scenario, ScenarioStep, create, delete
from fairlead.sim.search.roster import SEARCHES

sys.path.insert(0, str(Path(__file__).parent))
from lighthouse import FINALIZER, GROUP, VERSION, hasty_decider, lighthouse_decider

FAULTS = Faults(
    request_late=0.3, reply_lost=0.05, crash_at_write=0.15, watch_lag=0.2, watch_broken=0.02, incident=0.1
)
HOUSES = ("north", "east", "south", "west")


def scenario(operator: Callable[[], Decider] = lighthouse_decider) -> Scenario:
    return Scenario(
        name="lighthouses",
        steps=_steps(),
        hollow_prefix="node-",
        planes=2,
        faults_until_seconds=60.0,
        seconds_min=90.0,
        seconds_max=600.0,
        quiet_seconds=50.0,
        deciders=lambda: (operator(),),  # in place of those of production: nobody cleans up behind it
        # Shorter than a watch may lag: who takes over may not have been told yet.
        leadership=LeadershipSettings(duration_seconds=8.0, renew_seconds=3.0, retry_seconds=2.0),
    )


def _steps() -> tuple[ScenarioStep, ...]:
    """Each Lighthouse is built, one of its lamps put out, and the whole torn down a moment later."""
    steps = [_definition()]
    for number, house in enumerate(HOUSES):
        at = 3.0 + 12 * number
        meta = {"name": house, "finalizers": [FINALIZER]}
        steps.append(
            create(at, VERSION, "lighthouses", {"kind": "Lighthouse", "metadata": meta, "spec": {"lamps": 2}})
        )
        steps.append(delete(at + 8.0, "v1", "configmaps", f"{house}-0"))
        steps.append(delete(at + 8.3, VERSION, "lighthouses", house))
    return tuple(steps)


def _definition() -> ScenarioStep:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "lighthouses", "kind": "Lighthouse"}
    spec = {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version]}
    body = {"kind": "CustomResourceDefinition", "metadata": {"name": f"lighthouses.{GROUP}"}, "spec": spec}
    return create(1.0, "apiextensions.k8s.io/v1", "customresourcedefinitions", body, "")


def failures(operator: Callable[[], Decider], runs: int) -> list[str]:
    runner = Runner(scenario(operator), FAULTS)
    search = SEARCHES["planned"](runner, 0)
    found = []
    for _ in range(runs):
        attempt = search.propose()
        broken = runner.attempt(attempt).violation if attempt is not None else None
        if attempt is not None and broken is not None:
            found.append(f"{attempt.told}\n  {broken}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description="runs the operator in the simulator")
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--hasty", action="store_true", help="the operator with the bug")
    options = parser.parse_args()
    found = failures(hasty_decider if options.hasty else lighthouse_decider, options.runs)
    for failure in found:
        print(failure)
    print(f"{options.runs} runs, {len(found)} failed")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
