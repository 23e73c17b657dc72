"""From a changed object to the keys that deserve a look."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fairlead.cache import handlers
from fairlead.cache.events import Framed, Listed, Started
from fairlead.cache.handlers import by_controller, by_itself, by_selector
from fairlead.cache.mirror import Mirror
from fairlead.cache.view import MirrorView
from fairlead.model.views import BUDGETS, DEPLOYMENTS, JOBS, NODES, PODS, REPLICASETS, Budget, Pod
from fairlead.store.contract import MODIFIED, Key
from tests.unit.cache.objects import Json, entry, owner


def pod(name: str = "p", **rest: Any) -> Pod:
    return msgspec.json.decode(entry(name, 1, **rest).data, type=Pod)


@pytest.mark.parametrize(("before", "after"), [(None, pod()), (pod(), pod()), (pod(), None)])
def test_an_object_wakes_itself_whether_it_came_changed_or_went(before: Pod, after: Pod) -> None:
    assert by_itself(PODS)(before, after) == (Key("pods", "default", "p"),)


def test_nothing_wakes_nothing() -> None:
    for handler in (by_itself(PODS), by_controller(JOBS), by_selector(BUDGETS, lambda each: None, budgets)):
        assert handler(None, None) == ()


OF_R = pod(owners=(owner("ReplicaSet", "r"),))
OF_Q = pod(owners=(owner("ReplicaSet", "q"),))
CONTROLLERS: list[tuple[Pod | None, Pod | None, list[str]]] = [
    (None, OF_R, ["r"]),
    (OF_R, OF_R, ["r"]),
    (OF_R, None, ["r"]),
    (OF_R, OF_Q, ["r", "q"]),
    (OF_R, pod(), ["r"]),
    (pod(), pod(), []),
    (None, pod(owners=(owner("ReplicaSet", "r", controller=False),)), []),
    (None, pod(owners=(owner("Job", "r", api_version="batch/v1"),)), []),
    (None, pod(owners=(owner("ReplicaSet", "r", api_version="apps.example.com/v1"),)), []),
    (None, pod(owners=(owner("ReplicaSet", "r", api_version="apps/v1beta2"),)), ["r"]),
    (None, pod(owners=(owner("Job", "j", controller=False), owner("ReplicaSet", "r"))), ["r"]),
]


@pytest.mark.parametrize(("before", "after", "woken"), CONTROLLERS)
def test_an_object_wakes_the_owner_that_controls_it(
    before: Pod | None, after: Pod | None, woken: list[str]
) -> None:
    keys = by_controller(REPLICASETS)(before, after)
    assert keys == tuple(Key("replicasets.apps", "default", name) for name in woken)


def test_an_owner_without_namespace_is_found_by_name_alone() -> None:
    mirror_pod = pod(owners=(owner("Node", "n", api_version="v1"),))
    assert by_controller(NODES, namespaced=False)(None, mirror_pod) == (Key("nodes", "", "n"),)
    assert by_controller(DEPLOYMENTS)(None, mirror_pod) == ()


def budget(name: str, selector: Json | None, revision: int = 5, namespace: str = "default") -> Any:
    return entry(name, revision, resource=BUDGETS, namespace=namespace, spec={"selector": selector})


def mirror_of_budgets() -> Mirror[Budget]:
    mirror = Mirror(BUDGETS)
    mirror.handle(Started(0.0))
    entries = (
        budget("y", {"matchLabels": {"app": "y"}}),
        budget("x", {"matchLabels": {"app": "x"}}),
        budget("all", {}),
        budget("none", None),
        budget("nonsense", {"matchExpressions": [{"key": "a", "operator": "Near"}]}),
        budget("elsewhere", {}, namespace="other"),
    )
    mirror.handle(Listed(10, entries, 0.0))
    return mirror


def budgets() -> MirrorView:
    return MirrorView({BUDGETS.name: mirror_of_budgets()})


SELECTORS: list[tuple[Pod | None, Pod | None, list[str]]] = [
    (None, pod(labels={"app": "x"}), ["all", "x"]),
    (pod(labels={"app": "x"}), None, ["all", "x"]),
    (pod(labels={"app": "x"}), pod(labels={"app": "y"}), ["all", "x", "y"]),
    (pod(labels={"app": "x"}), pod(), ["all", "x"]),
    (None, pod(), ["all"]),
    (None, pod(namespace="other", labels={"app": "x"}), ["elsewhere"]),
]


@pytest.mark.parametrize(("before", "after", "woken"), SELECTORS)
def test_an_object_wakes_those_who_select_it_before_or_after(
    before: Pod | None, after: Pod | None, woken: list[str]
) -> None:
    keys = by_selector(BUDGETS, lambda each: each.spec.selector, budgets)(before, after)
    assert [key.name for key in keys] == woken
    assert {key.resource for key in keys} == {BUDGETS.name}


@pytest.mark.parametrize("kept_max", [1, 4096])
def test_a_selector_that_changed_counts_as_it_is_now(kept_max: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handlers, "SELECTORS_KEPT_MAX", kept_max)
    mirror = mirror_of_budgets()
    handler = by_selector(
        BUDGETS, lambda each: each.spec.selector, lambda: MirrorView({BUDGETS.name: mirror})
    )
    of_x = pod(labels={"app": "x"})
    assert [key.name for key in handler(None, of_x)] == ["all", "x"]
    mirror.handle(Framed(MODIFIED, budget("x", {"matchLabels": {"app": "z"}}, 11), 0.0))
    mirror.handle(Framed(MODIFIED, budget("y", {"matchLabels": {"app": "x"}}, 12), 0.0))
    assert [key.name for key in handler(None, of_x)] == ["all", "y"]


def test_selectors_that_are_kept_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handlers, "SELECTORS_KEPT_MAX", 3)
    compiled: handlers._Compiled[Budget] = handlers._Compiled(lambda each: each.spec.selector)
    for number in range(10):
        made = msgspec.json.decode(budget("x", {}, number).data, type=Budget)
        compiled.of(made, made.metadata)
        assert len(compiled._kept) <= 3


def test_selectors_are_compiled_once_per_version() -> None:
    asked: list[str] = []

    def selector_of(each: Budget) -> Json | None:
        asked.append(each.metadata.name)
        return each.spec.selector

    handler = by_selector(BUDGETS, selector_of, budgets)
    for _ in range(3):
        handler(None, pod())
    assert sorted(asked) == ["all", "none", "nonsense", "x", "y"]
