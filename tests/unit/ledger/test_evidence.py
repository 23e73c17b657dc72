"""The arithmetic of evidence: rows and authority, states of a node, due times, and the brake of a zone."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fairlead.ledger import brake
from fairlead.ledger.evidence import (
    HEARD,
    NEVER,
    SUSPECTED,
    UNKNOWN,
    Evidence,
    ended_at,
    release_due_at,
    tolerated_seconds,
)
from fairlead.model.at_most_one import ACCEPTED, DEADLINE, NO_DEADLINE, accepted_message, is_at_most_one
from fairlead.model.policy import evidence_rows as rows
from fairlead.model.views import (
    Condition,
    EvidencePolicy,
    EvidenceRelease,
    Lease,
    LeaseSpec,
    Meta,
    Node,
    Pod,
    PodStatus,
    Toleration,
)

UNREACHABLE = {
    "key": "node.kubernetes.io/unreachable",
    "effect": "NoExecute",
    "timeAdded": "1970-01-01T00:16:40Z",  # 1000
}


def policy(*given: Any, zones: Any = None) -> EvidencePolicy:
    spec = {"rows": list(given), "zones": zones or {}} if given or zones else rows.default_spec()
    return msgspec.convert({"metadata": {"name": "default", "uid": "u"}, "spec": spec}, EvidencePolicy)


def row(signal: str, confidence: str, **acts: float) -> Any:
    listed = [{"act": act, "afterSeconds": after} for act, after in acts.items()]
    return {
        "name": f"R{signal}",
        "signal": signal,
        "confidence": confidence,
        "failureMode": "x",
        "acts": listed,
    }


def node(*taints: Any) -> Node:
    body = {
        "metadata": {"name": "n", "uid": "u"},
        "spec": {"taints": list(taints)},
    }
    return msgspec.convert(body, Node)


def pod(
    *tolerations: Any, owner: str = "", going: bool = False, annotations: dict[str, str] | None = None
) -> Pod:
    metadata: Any = {
        "name": "p",
        "uid": "u",
        "annotations": annotations or {},
    }
    if owner:
        metadata["ownerReferences"] = [{"kind": owner, "name": "o", "uid": "o", "controller": True}]
    if going:
        metadata["deletionTimestamp"] = "1970-01-01T00:00:00Z"
    return msgspec.convert({"metadata": metadata, "spec": {"tolerations": list(tolerations)}}, Pod)


def test_what_a_row_allows_is_cited_by_its_name() -> None:
    allowed = Evidence(policy()).allows(rows.MISSED_HEARTBEATS, rows.RELEASE)
    assert allowed is not None
    assert allowed.cited == "EvidencePolicy/default row NodeLeaseSilent"


@pytest.mark.parametrize(
    ("given", "allowed"),
    [
        (row("MissedHeartbeats", "medium", Release=5), True),
        (row("MissedHeartbeats", "low", Release=5), False),  # more than low allows
        (row("MissedHeartbeats", "high", Release=5), False),  # it can never be trusted so far
        (row("ApiTimeout", "low", Release=5), False),
        (row("Rumour", "high", Release=5), False),
    ],
)
def test_a_row_that_claims_too_much_allows_nothing(given: Any, allowed: bool) -> None:
    assert (Evidence(policy(given)).allows(given["signal"], rows.RELEASE) is not None) == allowed


def test_without_a_policy_the_rows_hold_that_a_server_begins_with() -> None:
    missing, made = Evidence(None), Evidence(policy())
    for signal in rows.SIGNALS.values():
        for act in signal.acts:
            built_in, held = missing.allows(signal.name, act), made.allows(signal.name, act)
            assert (built_in is None) == (held is None)
            if built_in is not None and held is not None:
                assert built_in[:2] == held[:2]
                assert (built_in.cited, held.cited) == (
                    f"{held.cited}, built in",
                    built_in.cited[: -len(", built in")],
                )


def test_a_policy_without_rows_allows_nothing() -> None:
    empty = msgspec.convert(
        {"metadata": {"name": "default", "uid": "u"}, "spec": {"rows": []}}, EvidencePolicy
    )
    evidence = Evidence(empty)
    assert evidence.silence_seconds == NEVER
    assert evidence.state(1e9) == HEARD


@pytest.mark.parametrize(
    ("silent", "state", "next_in"),
    [
        (0, HEARD, 20),
        (19.9, HEARD, 0.1),
        (20, SUSPECTED, 20),
        (39, SUSPECTED, 1),
        (40, UNKNOWN, NEVER),
        (900, UNKNOWN, NEVER),
    ],
)
def test_how_far_a_silent_node_has_come(silent: float, state: str, next_in: float) -> None:
    evidence = Evidence(policy())
    assert evidence.state(silent) == state
    assert evidence.next_state_in(silent) == pytest.approx(next_in)


@pytest.mark.parametrize(
    ("tolerations", "seconds"),
    [
        ([], 0.0),
        ([Toleration(operator="Exists")], NEVER),
        ([Toleration("node.kubernetes.io/unreachable", "Exists", "", "NoExecute", 300)], 300.0),
        (
            [
                Toleration(operator="Exists", toleration_seconds=9),
                Toleration(operator="Exists", toleration_seconds=5),
            ],
            5.0,
        ),
        ([Toleration(operator="Exists", toleration_seconds=9), Toleration(operator="Exists")], 9.0),
        ([Toleration("node.kubernetes.io/unreachable", "Exists", "", "NoSchedule")], 0.0),
        ([Toleration("other", "Exists")], 0.0),
        ([Toleration("node.kubernetes.io/unreachable", "Equal", "x")], 0.0),
        ([Toleration("node.kubernetes.io/unreachable", "Equal", "")], NEVER),
    ],
)
def test_for_how_long_a_taint_is_borne(tolerations: list[Toleration], seconds: float) -> None:
    assert tolerated_seconds(tolerations, UNREACHABLE) == seconds


@pytest.mark.parametrize(
    ("found", "taints", "due"),
    [
        (pod({"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}), [UNREACHABLE], 1300.0),
        (pod(), [UNREACHABLE], 1000.0),
        (pod({"operator": "Exists"}), [UNREACHABLE], NEVER),
        (pod({"operator": "Exists"}, going=True), [UNREACHABLE], 1000.0),
        (pod(), [], NEVER),
        (pod(), [{"key": UNREACHABLE["key"], "effect": "NoExecute"}], NEVER),  # nobody dated it yet
    ],
)
def test_when_a_pod_s_grace_is_over(found: Pod, taints: list[Any], due: float) -> None:
    assert release_due_at(Evidence(policy()), node(*taints), found) == due


def test_a_row_may_ask_for_more_than_the_toleration() -> None:
    given = row("MissedHeartbeats", "medium", MarkUnknown=40, Release=140)
    assert release_due_at(Evidence(policy(given)), node(UNREACHABLE), pod()) == 1100.0


ENDS = Condition(DEADLINE, "True", ACCEPTED, accepted_message(40))


@pytest.mark.parametrize(
    ("conditions", "lease_seconds", "at"),
    [
        ((ENDS,), 40, 1045.0),
        ((ENDS,), 20, 1045.0),
        ((ENDS,), 60, 1065.0),
        ((), 40, NEVER),
        ((Condition(DEADLINE, "False", NO_DEADLINE, accepted_message(40)),), 40, NEVER),
        ((Condition(DEADLINE, "True", "Guessed", accepted_message(40)),), 40, NEVER),
        ((Condition(DEADLINE, "True", ACCEPTED, "ends soon"),), 40, NEVER),
        ((Condition(DEADLINE, "True", ACCEPTED, accepted_message(0)),), 40, NEVER),
    ],
)
def test_when_a_pod_has_surely_ended(
    conditions: tuple[Condition, ...], lease_seconds: int, at: float
) -> None:
    """Only if its supervisor said so; the last renewal may have been for longer than what was told."""
    found = msgspec.structs.replace(pod(), status=PodStatus(conditions=conditions))
    lease = Lease(Meta("n1", "u"), LeaseSpec(lease_duration_seconds=lease_seconds))
    assert ended_at(Evidence(policy()), found, lease, 1000.0) == at


@pytest.mark.parametrize(
    ("found", "is_one"),
    [
        (pod(), False),
        (pod(owner="ReplicaSet"), False),
        (pod(owner="StatefulSet"), True),
        (pod(annotations={"fairlead.dev/at-most-one": "true"}), True),
        (pod(annotations={"fairlead.dev/at-most-one": "false"}), False),
    ],
)
def test_where_at_most_one_may_run(found: Pod, is_one: bool) -> None:
    assert is_at_most_one(found.metadata) == is_one


LIMITS = brake.limits_of({})


@pytest.mark.parametrize(
    ("silent", "nodes", "all_silent", "state"),
    [
        (0, 10, False, "Normal"),
        (1, 1, False, "Normal"),
        (2, 2, False, "Normal"),
        (3, 3, False, "Stopped"),
        (5, 10, False, "Normal"),
        (6, 10, False, "Slowed"),
        (9, 10, False, "Slowed"),
        (10, 10, False, "Stopped"),
        (1, 1, True, "Stopped"),
    ],
)
def test_the_state_of_a_zone(silent: int, nodes: int, all_silent: bool, state: str) -> None:
    found = brake.brake_of(LIMITS, silent, nodes, all_silent=all_silent)
    assert found.state == state
    assert found.message


@pytest.mark.parametrize(
    ("state", "last", "at"),
    [("Normal", None, 0.0), ("Normal", 100, 110.0), ("Slowed", 100, 200.0), ("Stopped", None, float("inf"))],
)
def test_when_the_next_node_s_turn_comes(state: str, last: int | None, at: float) -> None:
    released = (
        [] if last is None else [EvidenceRelease("n", "u", "l", f"1970-01-01T00:01:{last - 60:02}.000000Z")]
    )
    assert brake.next_release_at(LIMITS, state, released) == at


def test_a_rate_of_nothing_means_never() -> None:
    none = brake.limits_of({"zones": {"releasesPerMinute": 0, "slowedReleasesPerMinute": 0}})
    assert brake.next_release_at(none, "Normal", []) == float("inf")
    assert brake.kept_seconds(none) == brake.WINDOW_SECONDS
