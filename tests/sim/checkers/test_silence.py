"""Checkers of silent nodes: marks, releases, quotas, replacements."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fairlead.model.at_most_one import ACCEPTED, DEADLINE, accepted_message
from fairlead.sim.violation import Violation
from tests.sim.checkers.story import GOING, Story, a_limit_of, leads, node, pod, replicaset, told_by


def silence(story: Story, nodes: int = 4, state: str = "Normal", zone: str = "-") -> None:
    """Unreachable nodes with a pod each, and the brake of their zone."""
    spec = {"zones": {"releasesPerMinute": 1}}
    zones = [{"name": zone, "state": state}]
    story.commit(
        "evidencepolicies.fairlead.dev",
        {"metadata": {"name": "default"}, "spec": spec, "status": {"zones": zones}},
    )
    story.commit("replicasets.apps", replicaset(nodes, name="web"))
    for number in range(nodes):
        taint = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute", "timeAdded": GOING}
        found = node(f"n{number}")
        story.commit("nodes", {**found, "spec": {"taints": [taint]}})
        story.commit("pods", pod(f"p{number}", node=f"n{number}"))


def lets_go(story: Story, number: int, reason: str = "NodeSilent") -> None:
    found = pod(f"p{number}", node=f"n{number}")
    condition = {"type": "fairlead.dev/Released", "status": "True", "reason": reason}
    found["status"]["conditions"] = [condition]
    story.commit("pods", found)


def more_releases_than_a_zone_allows(story: Story) -> None:
    silence(story)
    for number in range(4):
        lets_go(story, number)
        story.seconds += 10.0


def lets_go_after_its_deadline(story: Story) -> None:
    """The first pod's supervisor said when it ends, and its node was silent for longer than that."""
    found = pod("p0", node="n0")
    told = {"type": DEADLINE, "status": "True", "reason": ACCEPTED, "message": accepted_message(40)}
    found["status"]["conditions"].append(told)
    story.commit("pods", found)
    story.seconds += 41.0
    lets_go(story, 0, "NodeFenced")


def a_release_while_the_brake_is_on(story: Story) -> None:
    silence(story, state="Stopped")
    lets_go_after_its_deadline(story)


def a_replacement_of_a_pod_that_counts(story: Story) -> None:
    silence(story)
    story.commit("pods", pod("p0", node="n0"), gone=True)
    story.commit("pods", pod("r", annotations={"fairlead.dev/replaces": "uid-p1"}))


def two_replacements_of_one_pod(story: Story) -> None:
    silence(story)
    lets_go(story, 0)
    story.commit("replicasets.apps", replicaset(5, name="web", generation=2))
    for name in ("r", "s"):
        story.commit("pods", pod(name, annotations={"fairlead.dev/replaces": "uid-p0"}))


def one_pod_more_than_a_quota_allows(story: Story) -> None:
    a_limit_of(story, 4)
    silence(story)
    lets_go(story, 0)
    story.commit("replicasets.apps", replicaset(5, name="web", generation=2))
    story.commit("pods", pod("r", annotations={"fairlead.dev/replaces": "uid-p0"}))


def a_quota_that_says_too_little(story: Story) -> None:
    a_limit_of(story, 4, used=3)
    story.commit("pods", pod("p0", kind="Job"))
    story.rest()


def a_released_pod_that_nothing_replaces(story: Story) -> None:
    silence(story)
    lets_go(story, 0)
    story.seconds += 91.0
    story.commit("pods", pod("p1", node="n1"))


def an_original_that_goes_for_nothing(story: Story) -> None:
    silence(story)
    lets_go(story, 0)
    waiting = pod("r", annotations={"fairlead.dev/replaces": "uid-p0"})
    waiting["status"] = {"phase": "Pending"}
    story.commit("pods", waiting)
    story.seconds += 60.0
    found = pod("p0", node="n0", deletionTimestamp=GOING)
    found["status"]["conditions"] = [{"type": "fairlead.dev/Released", "status": "True"}]
    leads(story, "plane-0")
    story.commit("pods", found, "returned of plane-0")


def a_mark_on_a_node_that_is_heard(story: Story) -> None:
    silence(story)
    story.commit("leases.coordination.k8s.io", {"metadata": {"name": "n1"}}, namespace="kube-node-lease")
    story.rest()


def a_pod_that_still_waits_for_its_release(story: Story) -> None:
    story.commit("nodes", node("n0"))
    found = pod("p0", node="n0")
    found["metadata"]["ownerReferences"] = []
    waits = {"type": "fairlead.dev/Released", "status": "False", "reason": "NodeUnknown"}
    found["status"]["conditions"] = [waits]
    story.commit("pods", found)
    story.commit("leases.coordination.k8s.io", {"metadata": {"name": "n0"}}, namespace="kube-node-lease")
    story.rest()


def test_quota_that_is_handed_over_may_be_used_again() -> None:
    story = Story()
    a_limit_of(story, 4)
    silence(story)
    lets_go(story, 0)
    given = pod("p0", node="n0")
    given["status"]["conditions"] = [
        {"type": "fairlead.dev/Released", "status": "True", "reason": "NodeSilent"},
        {"type": "fairlead.dev/QuotaGiven", "status": "True", "reason": "Created"},
    ]
    story.commit("pods", given)
    story.commit("pods", pod("r", annotations={"fairlead.dev/replaces": "uid-p0"}))
    story.commit("replicasets.apps", replicaset(5, name="web", generation=2))
    going = {"fairlead.dev/replaces": "uid-p0"}
    story.commit("pods", pod("r", annotations=going, deletionTimestamp=GOING))
    story.commit("pods", pod("p0", node="n0"))  # it counts again beside the one that goes, and nobody's fault
    story.seconds += 1.0
    with pytest.raises(Violation, match=r"resource-quota-kept.*created when 5 pods counted, and 4 may"):
        story.commit("pods", pod("one-more", "sum", kind="Job"))


def test_releases_within_the_limits_and_what_humans_confirm_break_nothing() -> None:
    story = Story()
    silence(story)
    for number in range(3):
        lets_go(story, number)
        story.commit("pods", pod(f"r{number}", annotations={"fairlead.dev/replaces": f"uid-p{number}"}))
        story.seconds += 60.0
    story = Story()
    silence(story)
    lets_go_after_its_deadline(story)
    story = Story()
    silence(story, state="Stopped")
    for number in range(4):
        lets_go(story, number, "OutOfServiceConfirmed")


def a_node_marked_although_it_was_heard(story: Story) -> None:
    """More of them: `test_process_checkers.py`."""
    acts = [{"act": "StopPlacement", "afterSeconds": 20}]
    rows = [{"name": "silent", "signal": "MissedHeartbeats", "confidence": "medium", "acts": acts}]
    story.commit(
        "evidencepolicies.fairlead.dev",
        {"metadata": {"name": "default"}, "spec": {"rows": rows}},
        "",
        False,
        "",
    )
    story.commit("leases.coordination.k8s.io", {"metadata": {"name": "n"}}, "", False, "kube-node-lease")
    story.seconds += 10
    taint = {"key": "fairlead.dev/suspect", "effect": "NoSchedule"}
    story.commit("nodes", {"metadata": {"name": "n"}, "spec": {"taints": [taint]}}, "", False, "")


VIOLATIONS = [
    ("releases-keep-limits", more_releases_than_a_zone_allows),
    ("releases-keep-limits", a_release_while_the_brake_is_on),
    ("replacements-follow-releases", a_replacement_of_a_pod_that_counts),
    ("replacements-follow-releases", two_replacements_of_one_pod),
    ("resource-quota-kept", one_pod_more_than_a_quota_allows),
    ("resource-quota-kept", a_quota_that_says_too_little),
    ("repair-goes-on", a_released_pod_that_nothing_replaces),
    ("originals-kept", an_original_that_goes_for_nothing),
    ("no-stranded-marks", a_mark_on_a_node_that_is_heard),
    ("no-stranded-marks", a_pod_that_still_waits_for_its_release),
    ("silence-is-real", a_node_marked_although_it_was_heard),
]


@pytest.mark.parametrize(("invariant", "tell"), VIOLATIONS)
def test_a_fabricated_violation_is_told(invariant: str, tell: Callable[[Story], None]) -> None:
    assert told_by(tell) == invariant


def test_whoever_comes_to_want_more_has_time_for_it() -> None:
    story = Story()
    silence(story)
    lets_go(story, 0)
    story.commit("pods", pod("r", annotations={"fairlead.dev/replaces": "uid-p0"}))
    story.seconds += 91.0
    story.commit("replicasets.apps", replicaset(5, name="web", generation=2))
