"""What seeds of `small` must meet together, or their clean result proves little. All lists come from the code's own.

    every controller acts, and so does the scheduler     `control/roster.py`
    every verb is used                                    VERBS
    every effect is asked for, and done without being told of   `decision/effects.py`
    every answer to an effect, every verdict              `control/turn.py`, `decision/contract.py`
    every kind of object is made                          `model/catalog.py`
    every kind of fault fires                             `sim/faults.py`, `swarm.py`
    everything that people may do is done                 `people.py`, `fleet.py`, the ingredients
    what overrides are made for happens                   `sim/checkers/override_moments.py`

A controller, verb, effect, kind or fault that is added without a world that meets it is named by `gaps`.
"""

from __future__ import annotations

from typing import get_args

from fairlead.agent.hollow.decider import hollow_decider
from fairlead.control.roster import default_deciders
from fairlead.control.turn import Next
from fairlead.decision.contract import Verdict
from fairlead.decision.effects import RETRY
from fairlead.model.catalog import CATALOG
from fairlead.model.kinds import (
    accessgrant,
    changefreeze,
    chaosexperiment,
    flowschema,
    prioritylevelconfiguration,
    recordingpolicy,
    runbook,
    servicelevelobjective,
)
from fairlead.model.kinds.admission import bindings, policies
from fairlead.sim import encounters
from fairlead.sim.checkers.override_moments import MOMENTS
from fairlead.sim.generate.swarm import all_faults
from fairlead.sim.generate.world import generate
from fairlead.sim.probes import ELSEWHERE as OTHER_EFFECTS
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


# What a few hundred seeds seldom meet, because few of them have machines, and fewer a node that is away for minutes and
# comes back: the worlds `nodes` and `quota-return` are made for it.
SELDOM = frozenset({encounters.actor_name("returned"), "status_again"})
# No small world has runbooks, for which the world `runbooks` is made, nor what has to do with requests alone: whose
# turn it is.
_OTHER_KINDS = (
    accessgrant.KIND,
    changefreeze.KIND,
    chaosexperiment.KIND,
    flowschema.KIND,
    prioritylevelconfiguration.KIND,
    runbook.RUNBOOK,
    runbook.RUN,
    recordingpolicy.KIND,
    servicelevelobjective.KIND,
    policies.VALIDATING,
    bindings.VALIDATING,
)
ELSEWHERE = frozenset(
    {
        *map(encounters.actor_name, ("role-aggregation", "runbook", "service-level", "viewer-role")),
        *(encounters.kind_name(each.resource) for each in _OTHER_KINDS),
        *(encounters.effect_name(each.__name__) for each in OTHER_EFFECTS),
    }
)


def gaps(tally: RunTally, actions: tuple[str, ...] = ()) -> tuple[str, ...]:
    """What these seeds did not meet and should have, a sentence each."""
    asked = [name for name in (*wanted(), *actions) if name not in SELDOM | ELSEWHERE]
    kinds = [kind for kind in fault_kinds(all_faults()) if kind not in SELDOM]
    missed = [
        f'"{name}" was never so: draw an ingredient for it, or name it in ELSEWHERE'
        for name in asked
        if not tally.probes.get(name)
    ]
    return (*missed, *(f"{kind} never fired" for kind in kinds if not tally.faults.get(kind)))
