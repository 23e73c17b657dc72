"""`small`: a world of one to five objects for each seed. All of it is drawn: kinds, planes, people, limits, faults.

    generate(seed) -> GeneratedWorld        its scenario, its faults, and in a line what was drawn

Each seed draws a few ingredients (`ingredients/`), when each of their things is made, and what people then do with it,
one thing after another, at once or far apart; how many planes there are, what nodes, what the API can do; and a few
kinds of faults (`swarm.py`). Runs are short: that a world is at rest is found by looking ahead (`sim/rest.py`).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from fairlead.control.leadership import LeadershipSettings
from fairlead.core.quantity import milli
from fairlead.model.key import Key
from fairlead.port.capabilities import FAIRLEAD, KUBERNETES
from fairlead.sim.chance import Chance
from fairlead.sim.generate.building import ALL_KINDS, deciders_for, scenario_of
from fairlead.sim.generate.contract import GeneratedWorld, Ingredient, Setting, Thing
from fairlead.sim.generate.draw import Draw
from fairlead.sim.generate.ending import compared
from fairlead.sim.generate.fleet import cleared, of_nodes, of_spaces
from fairlead.sim.generate.ingredients.control import CONTROLS, OVERRIDES
from fairlead.sim.generate.ingredients.kept import KEPT
from fairlead.sim.generate.ingredients.places import PLACES, loses_work
from fairlead.sim.generate.ingredients.roster import INGREDIENTS
from fairlead.sim.generate.ingredients.rules import RULES
from fairlead.sim.generate.ingredients.templates import workloads
from fairlead.sim.generate.people import EDIT, MARKED, ROLL_BACK, TRIES, lane_of, make
from fairlead.sim.generate.setting import draw_setting, machine_settings
from fairlead.sim.generate.swarm import swarm, told
from fairlead.sim.scenario import OlderPlane, Scenario, ScenarioStep
from fairlead.sim.worlds import nodes as machine_world

NAME = "small"
_OBJECTS = ((1, 8), (2, 6), (3, 2), (4, 1), (5, 1))
_STARTS = (1.0, 1.0, 1.3, 3.0, 8.0)
_GAPS = (0.0, 0.03, 0.4, 2.0, 2.0, 7.0)
_ACTIONS = (0, 0, 1, 1, 2, 3)
_FAULTS_UNTIL = (8.0, 15.0, 25.0)
# What follows from these takes longer than any back-off: marks, and what is left on nodes that went, are kept a while.
_SLOW, _SLOW_SECONDS = ("delete a node", MARKED), 200.0
# An override of 40 s ends so late by a plane whose clock is 60 s behind the server's. It is in force until then, and a
# world at rest is judged as one in which none is.
_HELD_SECONDS = 110.0
_RULED = 0.15  # the share of worlds with something that requests are judged by
_CONTROLLED = 0.12  # the share with an override, an autoscaler, or a policy for rollouts that fail
_PLACED = 0.1  # the share with an override of a place, or of room that is kept
_WITH_KEPT = 0.08  # the share with kinds that nothing here turns on
_LEASES = (8.0, 12.0, 20.0)
_PODS_MAX = 4  # as many as people ask a workload for, and one while it rolls out
_WITH_PODS = ("deployments", "replicasets", "statefulsets", "daemonsets", "jobs", "cronjobs", "pods")


def generate(seed: int) -> GeneratedWorld:
    draw = Draw(Chance(seed))
    setting = draw_setting(draw.of("setting"))
    drawn = [*_things(draw, setting), *_rules(draw.of("rules"), setting)]
    so_far = replace(setting, things=tuple(thing for _, thing in drawn))
    drawn += _controls(draw.of("control"), so_far)
    so_far = replace(setting, things=tuple(thing for _, thing in drawn))
    drawn += _places(draw.of("places"), so_far)
    so_far = replace(setting, things=tuple(thing for _, thing in drawn))
    drawn += _kept(draw.of("kept"), so_far)
    setting = replace(setting, things=tuple(thing for _, thing in drawn))
    steps = [
        step
        for number, (ingredient, thing) in enumerate(drawn)
        for step in _life(draw.of(f"people {number}"), ingredient, thing)
    ]
    steps += of_nodes(draw.of("fleet"), setting)
    goes = of_spaces(draw.of("spaces"), setting)
    if goes:  # what people want in a namespace that goes, they may come too late for
        steps = [replace(step, tries=step.tries or TRIES) for step in steps] + goes
    faults = swarm(draw.of("faults"), machines=setting.machines > 0)
    # What is left of a workload that goes without its dependents depends on how much of it there was.
    done = {step.action for step in steps}
    left = any(step.action == "delete Orphan" and step.request.plural != OVERRIDES for step in steps)
    closed = "delete a node" in done or ("cordon" in done and "uncordon" not in done)
    contends = left or closed or setting.is_tight or any(ingredient.contends for ingredient, _ in drawn)
    contends = contends or _is_crowded(setting) or _is_stalled(setting, steps) or loses_work(setting)
    scenario = _scenario(draw.of("scenario"), setting, steps, contends)
    return GeneratedWorld(scenario, faults, _told(setting, scenario, steps, told(faults)))


def _is_crowded(setting: Setting) -> bool:
    """Machines are small: where other pods come to be decides whether each node has room for its pod of a DaemonSet,
    and who comes first decides who has room at all."""
    kinds = [thing.plural for thing in setting.things if thing.plural in _WITH_PODS]
    if not setting.machines or ("daemonsets" in kinds and len(kinds) > 1):
        return bool(setting.machines)
    room = sum(milli(node.allocatable["cpu"]) for node in machine_settings(setting.machines))
    return _PODS_MAX * sum(map(_asked_milli, workloads(setting))) > room


def _asked_milli(thing: Thing) -> int:
    containers = thing.manifest["spec"]["template"]["spec"]["containers"]
    return sum(milli(each["resources"]["requests"]["cpu"]) for each in containers)


def _is_stalled(setting: Setting, steps: list[ScenarioStep]) -> bool:
    """A Deployment for whose pods no node is open gets a new template: its rollout waits for ever, and how many pods of
    the old one are left then depends on how many there were when it began."""
    if not setting.nodes or not all(node.get("spec", {}).get("taints") for node in setting.nodes):
        return False
    edited = {step.lane for step in steps if step.action in (EDIT.name, ROLL_BACK.name)}
    return any(
        thing.plural == "deployments"
        and "tolerations" not in thing.manifest["spec"]["template"]["spec"]
        and lane_of(thing) in edited
        for thing in setting.things
    )


def _things(draw: Draw, setting: Setting) -> list[tuple[Ingredient, Thing]]:
    """A few ingredients, of which it has one or several, in the order of the roster."""
    possible = [each for each in INGREDIENTS if not (setting.is_narrow and each.only_complete)]
    fancied = draw.some("fancied", possible, 0.4) or tuple(possible[:1])
    weights = [(each, each.weight) for each in fancied]
    count = draw.weighted("objects", _OBJECTS)
    chosen = [draw.weighted("which", weights) for _ in range(count)]
    drawn: list[tuple[Ingredient, Thing]] = []
    for number, ingredient in enumerate(sorted(chosen, key=possible.index)):
        so_far = replace(setting, things=tuple(thing for _, thing in drawn))
        made = ingredient.make(draw.of(f"{ingredient.name} {number}"), so_far, f"{'abcde'[number]}{number}")
        drawn += [(ingredient, thing) for thing in made]
    return drawn


def _rules(draw: Draw, setting: Setting) -> list[tuple[Ingredient, Thing]]:
    """What requests are judged by, in some worlds."""
    if setting.is_narrow or not draw.happens("rules", _RULED):
        return []
    chosen = draw.one_of("which", RULES)
    return [(chosen, thing) for thing in chosen.make(draw, setting, "rule")]


def _controls(draw: Draw, setting: Setting) -> list[tuple[Ingredient, Thing]]:
    """What acts on workloads from outside, in some worlds."""
    if not draw.happens("control", _CONTROLLED):
        return []
    possible = [(each, each.weight) for each in CONTROLS if not (setting.is_narrow and each.only_complete)]
    chosen = draw.weighted("which", possible)
    return [(chosen, thing) for thing in chosen.make(draw, setting, "control")]


def _places(draw: Draw, setting: Setting) -> list[tuple[Ingredient, Thing]]:
    """Overrides that close places or lend room, in some worlds."""
    if setting.is_narrow or not draw.happens("places", _PLACED):
        return []
    chosen = draw.weighted("which", [(each, each.weight) for each in PLACES])
    return [(chosen, thing) for thing in chosen.make(draw, setting, "place")]


def _kept(draw: Draw, setting: Setting) -> list[tuple[Ingredient, Thing]]:
    """What nothing here turns on, in some worlds."""
    if setting.is_narrow or not draw.happens("kept", _WITH_KEPT):
        return []
    chosen = draw.some("which", KEPT, 0.5)
    return [(each, thing) for each in chosen for thing in each.make(draw.of(each.name), setting, "kept")]


def _life(draw: Draw, ingredient: Ingredient, thing: Thing) -> list[ScenarioStep]:
    """It is made, and people do this and that with it, until it is gone."""
    at = draw.one_of("start", _STARTS) + thing.after_seconds
    steps = [make(at, thing)]
    left: Thing | None = thing
    for _ in range(draw.one_of("actions", _ACTIONS)):
        if left is None or not left.actions:
            break
        at += draw.one_of("gap", _GAPS)
        taken = draw.one_of("action", left.actions).take(draw, left, at)
        left, at = taken.thing, max([at, *(step.at_seconds for step in taken.steps)])
        steps += taken.steps
    if ingredient.last_seconds and left is not None:
        at = max(at, ingredient.last_seconds)
        steps += draw.one_of("end", left.actions).take(draw, left, at).steps
    return steps


def _scenario(draw: Draw, setting: Setting, steps: list[ScenarioStep], contends: bool) -> Scenario:
    duration = draw.one_of("lease", _LEASES)
    usual = LeadershipSettings(duration, renew_seconds=0.4 * duration, retry_seconds=0.3 * duration)
    made = scenario_of(
        cleared(setting),
        NAME,
        steps,
        planes=draw.weighted("planes", ((1, 10), (2, 8), (3, 2))),
        faults_until_seconds=draw.one_of("faults until", _FAULTS_UNTIL),
        leadership=usual,
        compared=partial(compared, _undecided(setting)),
        contends=contends,
        rest_seconds=2.0,
    )
    if setting.is_narrow:
        # A request of the simulator is given up after 10 s: a leader stops so long before its lease ends.
        wide = LeadershipSettings(24.0, renew_seconds=6.0, retry_seconds=6.0, margin_seconds=11.0)
        made = replace(made, capabilities=KUBERNETES, leadership=wide)
    if setting.machines:
        made = replace(
            made,
            nodes=machine_settings(setting.machines),
            pace=machine_world.PACE,
            hollow_prefix="hollow-",
            controllers=machine_world.CONTROLLERS,
            quiet_seconds=125.0,
            faults_from_seconds=0.5,
            faults_until_seconds=50.0,
            seconds_max=1500.0,
        )
    elif any(step.action in _SLOW for step in steps):
        made = replace(made, quiet_seconds=_SLOW_SECONDS)
    elif any(thing.plural == OVERRIDES for thing in setting.things):
        made = replace(made, quiet_seconds=_HELD_SECONDS)
    if not setting.machines and draw.happens("all controllers", 0.03):
        made = replace(made, deciders=deciders_for(ALL_KINDS))
    if made.planes > 1 and made.deciders is not None and draw.happens("older", 0.3):
        lacks = draw.one_of("lacks", [each.name for each in made.deciders()])
        until = made.faults_until_seconds * draw.one_of("older until", (0.5, 0.9))
        made = replace(made, older=OlderPlane(draw.below("older slot", made.planes), (lacks,), until))
    return made


def _undecided(setting: Setting) -> frozenset[Key]:
    """Whether people can make these depends on what became of others by then."""
    counted = {
        limit.removeprefix("count/")
        for thing in setting.things
        if thing.plural == "resourcequotas"
        for limit in thing.manifest["spec"]["hard"]
    }
    custom = [thing for thing in setting.things if thing.plural == "beacons"]
    owned = [thing for thing in setting.things if thing.owner is not None]
    of_counted = [thing for thing in setting.things if thing.resource in counted]
    return frozenset(thing.key for thing in (*custom, *owned, *of_counted))


def _told(setting: Setting, scenario: Scenario, steps: list[ScenarioStep], faults: str) -> str:
    actions = sorted({step.action for step in steps if step.action not in ("", "create")})
    api = "" if scenario.capabilities == FAIRLEAD else " beside a Kubernetes"
    of = "machines" if setting.machines else "hollow nodes" + (", tight" if setting.is_tight else "")
    parts = (
        f"{', '.join(map(str, setting.things)) or 'nothing'} in {setting.namespace}",
        f"{scenario.planes} planes{_older(scenario)}{api}, {setting.machines or len(setting.nodes)} {of}",
        f"people: {', '.join(actions) or 'nothing more'}",
        f"faults until {scenario.faults_until_seconds:g} s: {faults}",
    )
    return "; ".join(parts)


def _older(scenario: Scenario) -> str:
    if scenario.older is None:
        return ""
    return f", plane-{scenario.older.slot} without {', '.join(scenario.older.lacks)} at first"
