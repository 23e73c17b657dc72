"""Whom a pod that fits nowhere pushes out, and what holds until they are gone."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.model.selectors import from_object
from fairlead.model.views import Pod
from fairlead.schedule.budgets import EvictionBudget
from fairlead.schedule.contract import SchedulingAttempt
from fairlead.schedule.cycle import Cycle
from fairlead.schedule.registry import default_policy
from fairlead.schedule.snapshot import Snapshot
from tests.unit.schedule.clusters import HOSTNAME, ZONE, cluster, node, pod

NOBODY: tuple[str, list[str]] = ("", [])


def cycle_on(snapshot: Snapshot, *budgets: EvictionBudget) -> Cycle:
    cycle = Cycle(snapshot, default_policy())
    snapshot.budgets = budgets
    return cycle


def came_of(attempt: SchedulingAttempt) -> tuple[str, list[str]]:
    return attempt.nominated, [victim.key.name for victim in attempt.victims]


def budget(allowed: int, *disrupted: str, **labels: str) -> EvictionBudget:
    return EvictionBudget("default", from_object({"matchLabels": labels}), allowed, frozenset(disrupted))


def high(cpu: str = "2", **more: Any) -> Pod:
    return pod("high", cpu=cpu, priority=10, **more)


def away(labels: dict[str, str], key: str = HOSTNAME) -> dict[str, Any]:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": labels}}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def spread(labels: dict[str, str]) -> list[dict[str, Any]]:
    selector = {"matchLabels": labels}
    return [
        {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}
    ]


A, B = node("a", "z1"), node("b", "z2")
PORT = ({"hostPort": 80, "containerPort": 80},)
WEB = {"app": "web"}

# what is there, who comes, where it will go and who has to leave
TABLE: dict[str, tuple[Snapshot, Pod, tuple[str, list[str]]]] = {
    "one that is enough is enough": (
        cluster((A,), (pod("one", "a", "2"), pod("two", "a", "2"))),
        high(),
        ("a", ["two"]),
    ),
    "the less important leaves": (
        cluster((A,), (pod("one", "a", "2", priority=1), pod("two", "a", "2", priority=2))),
        high(),
        ("a", ["one"]),
    ),
    "of equals whoever started later leaves": (
        cluster(
            (A,),
            (
                pod("early", "a", "2", started="2026-01-01T08:00:00Z"),
                pod("late", "a", "2", started="2026-01-01T09:00:00Z"),
            ),
        ),
        high(),
        ("a", ["late"]),
    ),
    "a large one leaves where several small ones would have to": (
        cluster((A,), (pod("small", "a", "1"), pod("big", "a", "3", priority=-1))),
        high("3"),
        ("a", ["big"]),
    ),
    "the node whose most important victim is least important": (
        cluster((A, B), (pod("one", "a", "4", priority=2), pod("two", "b", "2"), pod("three", "b", "2"))),
        high("4"),
        ("b", ["three", "two"]),
    ),
    "the node with the smallest sum of priorities": (
        cluster(
            (A, B),
            (
                pod("one", "a", "2", priority=3),
                pod("two", "a", "2", priority=3),
                pod("three", "b", "2", priority=3),
                pod("four", "b", "2", priority=1),
            ),
        ),
        high("4"),
        ("b", ["three", "four"]),
    ),
    "many of negative priority are no better than few": (
        cluster(
            (A, B),
            (
                pod("one", "a", "2", priority=-5),
                pod("two", "a", "2", priority=-5),
                pod("three", "b", "4", priority=-5),
            ),
        ),
        high("4"),
        ("b", ["three"]),
    ),
    "the node where the most important started last": (
        cluster(
            (A, B),
            (
                pod("one", "a", "4", started="2026-01-01T08:00:00Z"),
                pod("two", "b", "4", started="2026-01-01T09:00:00Z"),
            ),
        ),
        high(),
        ("b", ["two"]),
    ),
    "among equal nodes the first by name": (
        cluster((B, A), (pod("one", "b", "4"), pod("two", "a", "4"))),
        high(),
        ("a", ["two"]),
    ),
    "nobody of the same priority leaves": (
        cluster((A,), (pod("one", "a", "4", priority=10),)),
        high(),
        NOBODY,
    ),
    "nobody leaves in vain": (cluster((A,), (pod("one", "a", "4"),)), high("5"), NOBODY),
    "a cordoned node is not freed": (
        cluster((node("a", unschedulable=True),), (pod("one", "a", "4"),)),
        high(),
        NOBODY,
    ),
    "whoever holds the port leaves": (
        cluster((A,), (pod("one", "a", ports=PORT), pod("two", "a"))),
        high(ports=PORT),
        ("a", ["one"]),
    ),
    "whoever it must be away from leaves": (
        cluster((A,), (pod("one", "a", labels=WEB), pod("two", "a"))),
        high(affinity=away(WEB)),
        ("a", ["one"]),
    ),
    "whoever wants to be away from it leaves": (
        cluster((A,), (pod("one", "a", affinity=away(WEB)), pod("two", "a"))),
        high(labels=WEB),
        ("a", ["one"]),
    ),
    "a neighbour in the zone, on another node, cannot be pushed out": (
        cluster((A, node("c", "z1")), (pod("one", "c", labels=WEB, priority=20), pod("two", "a"))),
        high(affinity=away(WEB, ZONE)),
        NOBODY,
    ),
    "whoever makes a zone too full leaves": (
        cluster(
            (A, node("b", "z2", unschedulable=True)),
            (pod("one", "a", labels=WEB), pod("two", "a")),
        ),
        high(labels=WEB, topologySpreadConstraints=spread(WEB)),
        ("a", ["one"]),
    ),
}


@pytest.mark.parametrize("case", TABLE)
def test_whom_a_pod_pushes_out(case: str) -> None:
    snapshot, incoming, expected = TABLE[case]
    assert came_of(cycle_on(snapshot).place(incoming, assume=False)) == expected


# Budgets


def test_a_budget_is_broken_only_if_there_is_no_other_way() -> None:
    pods = (pod("kept", "a", "2", labels=WEB), pod("free", "a", "2", priority=5))
    snapshot = cluster((A,), pods)
    assert came_of(cycle_on(snapshot).place(high(), assume=False)) == ("a", ["kept"])
    attempt = cycle_on(snapshot, budget(0, app="web")).place(high(), assume=False)
    assert came_of(attempt) == ("a", ["free"])
    assert not attempt.victims[0].breaks_budget
    all_of_it = cycle_on(snapshot, budget(0, app="web")).place(high("4"), assume=False)
    assert [(each.key.name, each.breaks_budget) for each in all_of_it.victims] == [
        ("free", False),
        ("kept", True),
    ]


def test_the_node_that_breaks_fewer_budgets_is_taken_though_its_victim_is_more_important() -> None:
    snapshot = cluster((A, B), (pod("one", "a", "4", labels=WEB), pod("two", "b", "4", priority=5)))
    assert came_of(cycle_on(snapshot, budget(0, app="web")).place(high(), assume=False)) == ("b", ["two"])
    assert came_of(cycle_on(snapshot, budget(1, app="web")).place(high(), assume=False)) == ("a", ["one"])


def test_an_eviction_that_a_budget_has_counted_already_does_not_break_it() -> None:
    snapshot = cluster((A,), (pod("one", "a", "4", labels=WEB),))
    attempt = cycle_on(snapshot, budget(0, "one", app="web")).place(high(), assume=False)
    assert [each.breaks_budget for each in attempt.victims] == [False]


# What holds until they are gone


def test_the_room_that_victims_leave_is_kept_for_whom_they_leave() -> None:
    snapshot = cluster((A,), (pod("one", "a", "2"), pod("two", "a", "2")))
    cycle = cycle_on(snapshot)
    assert came_of(cycle.place(high())) == ("a", ["two"])
    snapshot.observe("pods", pod("two", "a", "2"), None)
    assert cycle.place(pod("low", cpu="1")).node == ""
    assert cycle.place(high()).node == "a"
    assert cycle.place(pod("low", cpu="1")).node == ""


def test_a_second_pod_does_not_count_on_the_same_room() -> None:
    snapshot = cluster((A, B), (pod("one", "a", "4"), pod("two", "b", "4")))
    cycle = cycle_on(snapshot)
    assert came_of(cycle.place(high("4"))) == ("a", ["one"])
    second = pod("second", cpu="4", priority=10)
    assert came_of(cycle.place(second)) == ("b", ["two"])
    assert came_of(cycle.place(pod("third", cpu="4", priority=10))) == NOBODY


def test_while_its_victims_are_leaving_a_pod_waits_and_pushes_nobody_else_out() -> None:
    snapshot = cluster((A, B), (pod("one", "a", "4"), pod("two", "b", "4")))
    cycle = cycle_on(snapshot)
    assert came_of(cycle.place(high("4"))) == ("a", ["one"])
    snapshot.observe("pods", pod("one", "a", "4"), pod("one", "a", "4", leaving=True))
    again = cycle.place(high("4", nominated="a"))
    assert came_of(again) == ("a", [])
    assert again.message.endswith(" preemption: not eligible due to a terminating pod on the nominated node.")
    assert cycle.place(pod("other", cpu="1")).node == ""  # its claim still holds


def test_a_pod_goes_where_it_was_nominated_though_another_node_is_worth_more() -> None:
    snapshot = cluster((A, node("b", room={"cpu": "64", "memory": "128Gi"})), (pod("one", "a", "1"),))
    cycle = cycle_on(snapshot)
    assert cycle.place(high("1"), assume=False).node == "b"
    snapshot.observe("pods", None, high("1", nominated="a"))
    assert cycle.place(high("1", nominated="a")).node == "a"


def test_a_claim_shown_by_the_api_counts_and_ends_with_the_pod() -> None:
    snapshot = cluster((A,), (high("4", nominated="a"),))
    cycle = cycle_on(snapshot)
    assert cycle.place(pod("low", cpu="1"), assume=False).node == ""
    snapshot.observe("pods", high("4", nominated="a"), None)
    assert cycle.place(pod("low", cpu="1"), assume=False).node == "a"


def test_a_claim_of_a_pod_that_is_being_deleted_is_void() -> None:
    snapshot = cluster((A,), (high("4", nominated="a", leaving=True),))
    assert cycle_on(snapshot).place(pod("low", cpu="1"), assume=False).node == "a"


def test_looking_does_not_change_a_claim() -> None:
    snapshot = cluster((A,), (high("4", nominated="a"),))
    before = dict(snapshot.placed)
    cycle_on(snapshot).place(high("4", nominated="a"), assume=False)
    assert snapshot.placed == before
    assert not snapshot.assumed


def test_a_more_important_pod_takes_a_claim_over_and_nobody_is_evicted() -> None:
    snapshot = cluster((A,), (pod("middle", cpu="4", priority=5, nominated="a"),))
    cycle = cycle_on(snapshot)
    attempt = cycle.place(high("4"))
    assert (attempt.node, attempt.nominated) == ("a", "")
    assert [(each.key.name, each.nominated) for each in attempt.victims] == [("middle", True)]
    assert [each.key.name for each in snapshot.on["a"].values()] == [attempt.key.name]


def test_victims_on_their_way_out_are_marked() -> None:
    snapshot = cluster((A,), (pod("one", "a", "4", leaving=True),))
    assert [each.leaving for each in cycle_on(snapshot).place(high()).victims] == [True]


# What is remembered of trials


def test_what_was_found_on_a_node_is_found_anew_when_its_pods_change() -> None:
    early, late = "2026-01-01T08:00:00Z", "2026-01-01T09:00:00Z"
    one, two = pod("one", "a", "2", started=early), pod("two", "a", "2", started=late)
    snapshot = cluster((A,), (one, two))
    cycle = cycle_on(snapshot)
    assert came_of(cycle.place(high(), assume=False)) == ("a", ["two"])
    snapshot.observe("pods", one, pod("one", "a", "2", started="2026-01-01T10:00:00Z"))
    assert came_of(cycle.place(high(), assume=False)) == ("a", ["one"])
    snapshot.budgets = (budget(0),)
    snapshot.observe("pods", two, pod("two", "a", "2", started=late, labels=WEB))
    assert came_of(cycle.place(high(), assume=False)) == ("a", ["one"])


def test_as_many_nodes_are_tried_as_kubernetes_tries() -> None:
    nodes = tuple(node(f"n{number:03}") for number in range(150))
    pods = tuple(pod(f"p{number}", f"n{number:03}", "4", priority=150 - number) for number in range(150))
    attempt = cycle_on(cluster(nodes, pods)).place(pod("high", cpu="2", priority=1000), assume=False)
    assert (attempt.considered, attempt.nominated) == (100, "n099")


# What is said

MESSAGES = [
    (
        cluster((A,), (pod("one", "a", "4", priority=10),)),
        high(),
        "0/1 nodes are available: 1 Insufficient cpu. "
        "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.",
    ),
    (
        cluster((A, node("b", unschedulable=True)), (pod("one", "a", "4"),)),
        high("5"),
        "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable. "
        "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.",
    ),
    (
        cluster(
            (A,), (pod("one", "a", "1", requests={"memory": "6Gi"}), pod("own", "a", "3", priority=1000))
        ),
        high("2", requests={"memory": "4Gi"}),
        "0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient memory. "
        "preemption: 0/1 nodes are available: 1 Insufficient cpu.",
    ),
    (
        cluster((A,), (pod("one", "a", "4"),)),
        high(preemptionPolicy="Never"),
        "0/1 nodes are available: 1 Insufficient cpu. preemption: not eligible due to preemptionPolicy=Never.",
    ),
    (cluster((A,), (pod("one", "a", "4"),)), high(), "0/1 nodes are available: 1 Insufficient cpu."),
    (cluster(()), high(), "no nodes available to schedule pods"),
]


@pytest.mark.parametrize(("snapshot", "incoming", "message"), MESSAGES)
def test_what_is_said_of_preemption(snapshot: Snapshot, incoming: Pod, message: str) -> None:
    assert cycle_on(snapshot).place(incoming, assume=False).message == message


def test_a_cycle_that_may_not_preempt_does_not() -> None:
    snapshot = cluster((A,), (pod("one", "a", "4"),))
    attempt = Cycle(snapshot, default_policy(), preempting=False).place(high())
    assert (came_of(attempt), attempt.message) == (NOBODY, "0/1 nodes are available: 1 Insufficient cpu.")
