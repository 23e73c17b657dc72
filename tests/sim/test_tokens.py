"""Pods with a token of their account, while answers are lost, servers die and agents start anew.

A pod that runs was given a token that was issued for its uid, or none while no API answered, and then got one; and no pod
waits for ever because of a token. The second is what every world is judged by: it ends as without faults.
"""

from __future__ import annotations

import os
from base64 import urlsafe_b64decode
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from fairlead.agent import contract as c
from fairlead.agent.machine import Agent
from fairlead.agent.pod.tokens import PodTokens
from fairlead.port.outcome import Done, Outcome
from fairlead.sim.parts import Parts
from fairlead.sim.run import Runner
from fairlead.sim.scenario import Json, Scenario, create, delete, patch
from fairlead.sim.worlds import nodes
from tests.elsewhere import elsewhere

SEEDS = 400 if os.environ.get("FAIRLEAD_SOAK") else 6
FAULTS = replace(nodes.FAULTS, request_lost=0.08, reply_lost=0.08)


def template(image: str) -> Json:
    made = nodes.template("web", image=image)
    token = {"serviceAccountToken": {"path": "token", "expirationSeconds": 600}}
    made["spec"] |= {
        "serviceAccountName": "robot",
        "volumes": [{"name": "token", "projected": {"sources": [token]}}],
    }
    return made


def scenario() -> Scenario:
    """Two nodes and three pods, whose account comes after them, goes while two are replaced, and comes back."""
    account = {"kind": "ServiceAccount", "metadata": {"name": "robot"}}
    return replace(
        nodes.scenario(),
        name="tokens",
        steps=(
            nodes.policy(),
            create(3.0, "apps/v1", "replicasets", nodes.workload("ReplicaSet", "web", 3, template("web:1"))),
            create(12.0, "v1", "serviceaccounts", account),
            delete(40.0, "v1", "serviceaccounts", "robot"),
            patch(45.0, "apps/v1", "replicasets", "web", {"spec": {"replicas": 1}}),
            patch(50.0, "apps/v1", "replicasets", "web", {"spec": {"replicas": 3}}),
            create(60.0, "v1", "serviceaccounts", account),
        ),
        nodes=tuple(nodes.settings(name) for name in ("node-a1", "node-b1")),
        without_deadlines=(),
    )


def issued_for(token: bytes) -> str:
    """The uid of the pod that a token names."""
    claims = token.split(b".")[1]
    said: Any = msgspec.json.decode(urlsafe_b64decode(claims + b"=" * (-len(claims) % 4)))
    return str(said["kubernetes.io"]["pod"]["uid"])


class Witness:
    """What pods were given, by uid, newest last."""

    def __init__(self) -> None:
        self.given: dict[str, list[bytes]] = {}

    def plant(self, parts: Parts) -> Parts:
        """No bug: agents that tell what they do."""
        saw = self.saw

        class TellingAgent(Agent):
            def handle(self, event: c.AgentEvent) -> tuple[c.AgentInstruction, ...]:
                out = super().handle(event)
                for each in out:
                    if isinstance(each, c.Open | c.Refresh):
                        saw(each, self.means.away)
                return out

        return {**parts, "agent": TellingAgent}

    def saw(self, told: c.Open | c.Refresh, away: bool) -> None:
        for volume in told.volumes:
            for _, token, _ in volume.files or ():
                assert token or (away and isinstance(told, c.Open)), "a pod lost its token, or has none"
                assert not token or issued_for(token) == told.uid
                self.given.setdefault(told.uid, []).append(token)


@pytest.mark.timeout(600)
def test_pods_that_run_have_their_own_tokens_whatever_goes_wrong() -> None:
    assert witnessed(SEEDS) == elsewhere(witnessed, SEEDS)


def witnessed(seeds: int) -> list[str]:
    """The digests of these runs, each of which is as it should be."""
    witness, told = Witness(), list[str]()
    runner = Runner(scenario(), FAULTS, witness.plant)
    for seed in range(seeds):
        witness.given.clear()
        result = runner.run(seed)
        assert result.failure is None
        assert sum(bool(tokens[-1]) for tokens in witness.given.values()) >= 3
        told.append(result.digest)
    return told


class GivesUp(PodTokens):
    """The bug: what was refused once, or got no answer, is not asked for again."""

    def answered(self, about: str, outcome: Outcome, now: float, chance: float) -> tuple[str, ...]:
        touched = super().answered(about, outcome, now, chance)
        if not isinstance(outcome, Done):
            for held in self._held.get(about.partition("/")[0], {}).values():
                held.in_flight = True
        return touched


class AgentThatGivesUp(Agent):
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.means.tokens = GivesUp(self.pace, self.means.calls)


def gives_up(parts: Parts) -> Parts:
    return {**parts, "agent": AgentThatGivesUp}


def test_an_agent_that_never_asks_again_is_found() -> None:
    """Where none starts anew: that would ask again."""
    calm = replace(FAULTS, incident=0.0, agent_crash_at_write=0.0)
    failure = Runner(scenario(), calm, gives_up).run(0).failure
    assert failure is not None
    assert failure.invariant == "ends-as-without-faults"
    assert "of ReplicaSet web, Pending" in failure.message
