"""Plans: where pods would go, whom they would evict, in which order, and that a plan leaves no trace."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fairlead.core.errors import BadRequest, TooLarge, Unavailable
from fairlead.explain import planning
from fairlead.explain.asking import answered
from fairlead.explain.manifests import NAMES_MAX, expand
from fairlead.explain.planning import PLAN_PODS_MAX, plan
from fairlead.explain.sources import Sources
from fairlead.model.key import Key
from fairlead.model.views import Pod
from fairlead.schedule.registry import default_policy
from tests.unit.explain.asking import Asked
from tests.unit.schedule.clusters import cluster, node, pod

A, B = node("a"), node("b")


def planned(there: tuple[Pod, ...], *new: Pod) -> list[tuple[str, str, tuple[str, ...]]]:
    known = {Key("pods", "default", each.metadata.name): each for each in there}
    found = plan(cluster((A, B), there), default_policy(), new, known)
    return [(each.name, each.node, each.evicts) for each in found]


def test_each_pod_sees_those_before_it() -> None:
    assert planned((), pod("one", cpu="3"), pod("two", cpu="3"), pod("three", cpu="3")) == [
        ("one", "a", ()),
        ("two", "b", ()),
        ("three", "", ()),
    ]


def test_the_important_go_first_as_in_the_queue() -> None:
    assert planned(
        (), pod("low", cpu="3"), pod("one", cpu="3", priority=5), pod("two", cpu="3", priority=5)
    ) == [
        ("low", "", ()),
        ("one", "a", ()),
        ("two", "b", ()),
    ]


def test_nobody_is_evicted_twice() -> None:
    there = (pod("x", "a", "4"), pod("y", "b", "4"))
    new = [pod(name, cpu="3", priority=5) for name in ("one", "two", "three")]
    assert planned(there, *new) == [
        ("one", "a", ("default/x",)),
        ("two", "b", ("default/y",)),
        ("three", "", ()),
    ]


def test_a_pod_that_names_its_node_takes_room_there() -> None:
    assert planned((), pod("one", "a", "4"), pod("two", "", "4"), pod("three", cpu="4")) == [
        ("one", "a", ()),
        ("two", "b", ()),
        ("three", "", ()),
    ]


def question(names: tuple[str, ...], cpu: str = "20") -> bytes:
    container = {"name": "c", "resources": {"requests": {"cpu": cpu}}}
    new = {"metadata": {"name": "n", "uid": "u", "namespace": "default"}, "spec": {"containers": [container]}}
    return json.dumps({"items": [{"pod": new, "names": names}]}).encode()


def answer(sources: Sources, body: bytes) -> dict[str, Any]:
    return answered(planning.answer(sources, body))


def test_a_plan_on_a_running_plane_changes_nothing_and_comes_true() -> None:
    asked = Asked()
    asked.create("there", "20")
    asked.run(5)
    revision, placed = asked.api.store.revision, dict(asked.driver.plane.placer.snapshot.placed)  # type: ignore[union-attr]
    told = answer(asked.sources, question(("there", "other")))
    assert [(each["name"], each["node"]) for each in told["items"]] == [("there", "node-1"), ("other", "")]
    assert not told["fits"]
    assert told["items"][1]["remedies"] == (
        "free 8 cpu on node-0 (needs 20 cpu, free 12 of 32), or add a node with 20 cpu free",
    )
    assert asked.api.store.revision == revision
    assert asked.driver.plane.placer.snapshot.placed == placed  # type: ignore[union-attr]
    asked.create("new", "20")
    asked.run(5)
    assert asked.sources.pod("default", "new").spec.node_name == "node-1"  # type: ignore[union-attr]


def test_wrong_questions_are_refused_with_a_sentence() -> None:
    asked = Asked()
    with pytest.raises(BadRequest, match="not a question for a plan"):
        answer(asked.sources, b'{"items": 3}')
    with pytest.raises(BadRequest, match="not a question for a plan"):
        answer(asked.sources, b"x")
    with pytest.raises(TooLarge, match="plan them in parts"):
        answer(asked.sources, question(("x",) * (PLAN_PODS_MAX + 1)))
    asked.driver.plane.placer = None
    with pytest.raises(Unavailable, match="without a scheduler"):
        answer(asked.sources, question(("x",)))


def of(kind: str, **spec: Any) -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": []}}
    return {"kind": kind, "metadata": {"name": "x", "namespace": "n"}, "spec": {"template": template, **spec}}


@pytest.mark.parametrize(
    ("document", "existing", "names"),
    [
        (of("Deployment", replicas=2), 0, ("x-0", "x-1")),
        (of("Deployment"), 0, ("x-0",)),
        (of("Deployment", replicas=3), 2, ("x-2",)),
        (of("ReplicaSet", replicas=1), 2, ()),
        (of("StatefulSet", replicas=2, ordinals={"start": 5}), 0, ("x-5", "x-6")),
        (of("Job", parallelism=3, completions=2), 0, ("x-0", "x-1")),
        (of("Job", parallelism=3), 0, ("x-0", "x-1", "x-2")),
        (of("Job", parallelism=3, suspend=True), 0, ()),
        ({"kind": "Pod", "metadata": {"name": "x"}}, 0, ("x",)),
    ],
)
def test_workloads_become_pods(document: dict[str, Any], existing: int, names: tuple[str, ...]) -> None:
    found = expand(document, existing)
    assert found is not None
    assert (found.owner, found.names) == (f"{document['kind']}/x", names)


def test_other_kinds_lead_to_no_pods() -> None:
    assert expand({"kind": "ConfigMap", "metadata": {"name": "x"}}) is None
    found = expand(of("Deployment"))
    assert found is not None
    assert found.pod["metadata"] == {"labels": {"app": "x"}, "namespace": "n"}


def test_no_more_names_are_made_than_it_takes_to_be_refused() -> None:
    found = expand({"kind": "Deployment", "metadata": {"name": "w"}, "spec": {"replicas": 2_000_000_000}})
    assert found is not None
    assert len(found.names) == NAMES_MAX == PLAN_PODS_MAX + 1


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"schedulingGates": [{"name": "a/b"}]}, "it is held back by scheduling gates: a/b"),
        ({"schedulerName": "mine"}, "it asks for the scheduler mine; this one is default-scheduler"),
    ],
)
def test_pods_that_are_held_back_take_no_room_and_do_not_fail_a_plan(
    spec: dict[str, Any], message: str
) -> None:
    asked = Asked()
    container = {"name": "c", "resources": {"requests": {"cpu": "32"}}}
    meta = {"name": "n", "uid": "u", "namespace": "default"}
    held = {"metadata": meta, "spec": {"containers": [container], **spec}}
    free = {"metadata": meta, "spec": {"containers": [container]}}
    body = {"items": [{"pod": held, "names": ["h1", "h2"]}, {"pod": free, "names": ["f1", "f2"]}]}
    told = answer(asked.sources, json.dumps(body).encode())
    assert [(each["name"], each["node"], each["held"]) for each in told["items"]] == [
        ("h1", "", True),
        ("h2", "", True),
        ("f1", "node-0", False),
        ("f2", "node-1", False),
    ]
    assert told["items"][0]["message"] == message
    assert told["fits"]
