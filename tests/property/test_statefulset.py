"""StatefulSets under any order of turns, crashes, losses and changes: the order of coming and going is kept.

OrderedReady: a pod is made only above healthy ones, and goes only when nothing above it is left or unhealthy.
"""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.control.own_writes import Write
from fairlead.control.turn import rebase
from fairlead.decision.contract import SETTLED
from fairlead.decision.effects import Create, Delete
from fairlead.model.key import Key
from fairlead.model.views import CONTROLLER_REVISIONS, PODS, STATEFULSETS, StatefulSet
from fairlead.reconcile.revisions import REVISION_LABEL, template_in
from fairlead.reconcile.statefulset import statefulset_decider
from fairlead.reconcile.statefulset_pods import is_healthy, ranks_of
from tests.unit.reconcile.world import World, selector, template

DECIDER = statefulset_decider()
KEY = Key("statefulsets.apps", "default", "db")

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("turn"), st.integers(0, 3)),
        st.tuples(st.sampled_from(["delete", "fail", "unready"]), st.integers(0, 4)),
        st.tuples(st.just("replicas"), st.integers(0, 4)),
        st.tuples(st.just("image"), st.integers(1, 3)),
        st.tuples(st.sampled_from(["start", "stop"]), st.just(0)),
    ),
    max_size=40,
)


def current(world: World) -> StatefulSet:
    found = world.get(STATEFULSETS, "default", "db")
    assert found is not None
    return found


def update_of(world: World) -> str:
    """The name of the one revision with the template that is wanted."""
    template = current(world).spec.template
    (name,) = [r.metadata.name for r in world.list(CONTROLLER_REVISIONS) if template_in(r) == template]
    return name


def check_order(world: World, effect: Create | Delete) -> None:
    """What must hold at the moment an effect is carried out."""
    found = current(world)
    ranks = ranks_of(found, world.list(PODS))
    healthy = {n for n, pod in ranks.members.items() if is_healthy(found, pod, world.now)}
    ordinal = int(effect.name.rpartition("-")[2])
    if isinstance(effect, Create):
        assert set(range(ordinal)) <= healthy, f"{effect.name} is made above pods that are not healthy"
        return
    pod = world.get(PODS, "default", effect.name)
    assert pod is not None
    if pod.finished:
        return
    if ordinal not in ranks.wanted:
        assert ranks.condemned[0].metadata.name == effect.name, f"{effect.name} goes before a higher one"
        assert healthy == set(ranks.wanted)
        return
    assert not ranks.condemned
    update = update_of(world)
    for higher in ranks.wanted[ordinal + 1 :]:
        assert higher in healthy
        assert ranks.members[higher].metadata.labels[REVISION_LABEL] == update


def turn(world: World, prefix: int) -> bool:
    decision = world.decide(DECIDER, KEY)
    rest = list(decision.effects[:prefix])
    while rest:
        effect = rest.pop(0)
        if isinstance(effect, Create | Delete) and effect.resource == PODS.name:
            check_order(world, effect)
        world.apply((effect,))
        found = world.objects.get(effect.key)
        write = Write(effect.key, int(found["metadata"]["resourceVersion"]) if found else 0, False)
        rest = [rebase(each, write) for each in rest]
    return decision.verdict != SETTLED or bool(decision.effects)


def step(world: World, what: str, number: int) -> None:
    pods = world.list(PODS)
    if what == "turn":
        turn(world, number)
    elif what == "replicas":
        world.edit(STATEFULSETS, "db", {"spec": {"replicas": number}})
    elif what == "image":
        world.edit(STATEFULSETS, "db", {"spec": {"template": template(image=f"db:{number}")}})
    elif what == "start":
        world.start_pods()
    elif what == "stop":
        world.stop_pods()
    elif number < len(pods):
        name = pods[number].metadata.name
        if what == "delete":
            world.delete(PODS, name)
        elif pods[number].live:
            world.set_pod(name, "Failed" if what == "fail" else "Running")


@settings(max_examples=50, deadline=None)
@given(steps=STEPS)
def test_pods_come_and_go_in_order_and_all_is_well_in_the_end(steps: list[tuple[str, int]]) -> None:
    world = World()
    spec = {"serviceName": "db", "selector": selector(), "template": template(image="db:0"), "replicas": 3}
    world.add(STATEFULSETS, "db", spec=spec)
    for what, number in steps:
        step(world, what, number)
    for _ in range(200):
        if not turn(world, 100):
            break
        world.start_pods()
        world.stop_pods()
    found = current(world)
    ranks, update = ranks_of(found, world.list(PODS)), update_of(world)
    assert list(ranks.members) == list(ranks.wanted)
    assert ranks.condemned == []
    assert {pod.metadata.labels[REVISION_LABEL] for pod in ranks.members.values()} <= {update}
    status = found.status
    assert (status.replicas, status.ready_replicas, status.updated_replicas) == (len(ranks.wanted),) * 3
    assert status.observed_generation == found.metadata.generation
    assert status.current_revision == update
