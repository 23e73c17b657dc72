"""What seeds of `small` must meet together, or their clean result proves little. All lists come from the code's own.

    every controller acts, and so does the scheduler     `control/roster.py`
    every verb is used                                    VERBS
    every effect is asked for, and done without being told of   `decision/effects.py`
    every answer to an effect, every verdict              `control/turn.py`, `decision/contract.py`
    every kind of object is made                          `model/catalog.py`
    every kind of fault fires                             `sim/faults.py`, `swarm.py`
    everything that people may do is done                 `people.py`, `fleet.py`, the ingredients
    what overrides are made for happens                   `sim/checkers/override_moments.py`

Each at least twice, but what is `RARE`. A controller, verb, effect, kind or fault that is added without a world that
meets it is named by `gaps`; what other worlds meet is in `ELSEWHERE`, with how often.
"""

from __future__ import annotations

from typing import NamedTuple, get_args

from fairlead.agent.hollow.decider import hollow_decider
from fairlead.control.roster import default_deciders
from fairlead.control.turn import Next
from fairlead.decision.contract import Verdict
from fairlead.decision.effects import RETRY, ChangeScale
from fairlead.model.catalog import CATALOG
from fairlead.model.kinds import accessgrant, runbook
from fairlead.sim import encounters
from fairlead.sim.checkers.override_moments import LEAVES_RESIDUE, MOMENTS
from fairlead.sim.generate.swarm import all_faults
from fairlead.sim.generate.world import generate
from fairlead.sim.probes import probe_names
from fairlead.sim.run import RunTally
from fairlead.sim.sample import fault_kinds

VERBS = ("get", "list", "watch", "create", "update", "patch", "apply", "delete", "deletecollection")


def wanted() -> tuple[str, ...]:
    """The names of all that must be met, whichever seeds are run."""
    controllers = [each.name for each in (*default_deciders(), hollow_decider("node-"))]
    return (
        *probe_names(),
        *(encounters.actor_name(each) for each in (*controllers, "scheduler")),
        *map(encounters.verb_name, VERBS),
        *(encounters.effect_name(effect.__name__) for effect in RETRY),
        *map(encounters.answer_name, Next),
        *(encounters.verdict_name(verdict.__name__) for verdict in get_args(Verdict)),
        *(encounters.kind_name(resource) for resource in dict.fromkeys(kind.resource for kind in CATALOG)),
        *MOMENTS,
    )


def drawn_actions(seeds: range) -> tuple[str, ...]:
    """What people were to do in these seeds."""
    actions = {step.action for seed in seeds for step in generate(seed).scenario.steps if step.action}
    return tuple(map(encounters.action_name, sorted(actions)))


class Met(NamedTuple):
    """A world whose first so many seeds meet it, as often as this."""

    world: str
    seeds: int
    at_least: int


# What a few hundred seeds of `small` meet seldom or never: few have machines, and fewer a node that is away for minutes
# and comes back; none runs a runbook. `test_coverage.py` runs these seeds.
ELSEWHERE = {
    encounters.actor_name("returned"): Met("quota-return", 3, 2),
    "status_again": Met("nodes", 2, 2),
    "status_late": Met("nodes", 2, 2),
    encounters.actor_name("role-aggregation"): Met("roles", 3, 2),
    encounters.actor_name("runbook"): Met("runbooks", 2, 2),
    encounters.kind_name(runbook.RUN.resource): Met("runbooks", 2, 2),
    encounters.kind_name(accessgrant.KIND.resource): Met("grants", 2, 2),
    encounters.effect_name(ChangeScale.__name__): Met("autoscaling", 2, 2),
}
# Of 400 seeds one meets these.
ONCE_MIN, USUAL_MIN = 1, 2
RARE = frozenset({LEAVES_RESIDUE})


def gaps(tally: RunTally, actions: tuple[str, ...] = ()) -> tuple[str, ...]:
    """What these seeds did not meet and should have, a sentence each."""
    asked = [name for name in (*wanted(), *actions) if name not in ELSEWHERE]
    kinds = [kind for kind in fault_kinds(all_faults()) if kind not in ELSEWHERE]
    missed = [
        f'"{name}" was so {_times(found)}: draw an ingredient for it, or name it in ELSEWHERE'
        for name in asked
        if (found := tally.probes.get(name, 0)) < (ONCE_MIN if name in RARE else USUAL_MIN)
    ]
    fired = ((kind, tally.faults.get(kind, 0)) for kind in kinds)
    return (*missed, *(f"{kind} fired {_times(found)}" for kind, found in fired if found < USUAL_MIN))


def _times(found: int) -> str:
    return "once" if found else "never"
