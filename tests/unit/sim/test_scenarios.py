"""Scenario files: what becomes of each field, and what is said of one that cannot be."""

from __future__ import annotations

import pytest

from fairlead.core import codec
from fairlead.core.errors import UsageError
from fairlead.port.request import APPLY_PATCH
from fairlead.sim.documents import scenario_document, scenario_of
from fairlead.sim.faults import CALM, DEFAULT, NodeFaults
from fairlead.sim.scenario import Mishap, PinnedFault
from fairlead.sim.scenarios.parse import WrittenScenario, parse_scenario

STEP = "steps: [{at: 1s, delete: pods/a}]\n"


def parsed(text: str) -> WrittenScenario:
    return parse_scenario("test", text.encode())


def test_what_is_not_said_is_as_usual() -> None:
    written = parsed(STEP)
    made = written.scenario
    assert (made.planes, made.standing, made.faults_until_seconds) == (2, (), 61.0)
    assert (written.seed, written.plant, written.breaks, written.faults) == (None, "", "", CALM)


def test_every_step_is_a_request_at_its_time() -> None:
    written = parsed("""
steps:
- {at: 9s, evict: a-1}
- {at: 1m1s, drain: node-1}
- {at: 1s, create: {apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {}}}
- {at: 1500ms, apply: {apiVersion: v1, kind: Node, metadata: {name: n}}}
- {at: 3s, patch: deploy/web, with: {spec: {paused: true}}, namespace: shop}
- {at: 4s, scale: StatefulSet/db, to: 2}
- {at: 5s, delete: deployments.apps/web, policy: Foreground}
""")
    told = [
        (step.at_seconds, step.request.verb, step.request.plural, step.request.namespace, step.request.name)
        for step in written.scenario.steps
    ]
    assert told == [
        (1.0, "create", "pods", "default", ""),
        (1.5, "patch", "nodes", "", "n"),
        (3.0, "patch", "deployments", "shop", "web"),
        (4.0, "patch", "statefulsets", "default", "db"),
        (5.0, "delete", "deployments", "default", "web"),
        (9.0, "create", "pods", "default", "a-1"),
        (61.0, "patch", "nodes", "", "node-1"),
    ]
    steps = written.scenario.steps
    assert steps[1].request.content_type == APPLY_PATCH
    assert (steps[3].request.subresource, codec.decode(steps[3].request.body)) == (
        "scale",
        {"spec": {"replicas": 2}},
    )
    assert codec.decode(steps[4].request.body)["propagationPolicy"] == "Foreground"
    assert steps[6].drains == "node-1"


def test_a_step_that_is_taken_several_times_knows_its_number() -> None:
    written = parsed(
        "steps: [{at: 2s, patch: pods/r-$n, with: {spec: {a: $n, b: x$n}}, times: 2, every: 500ms, first: 40}]"
    )
    first, second = written.scenario.steps
    assert (first.at_seconds, second.at_seconds) == (2.0, 2.5)
    assert (first.request.name, second.request.name) == ("r-40", "r-41")
    assert codec.decode(second.request.body) == {"spec": {"a": 41, "b": "x41"}}


def test_rates_are_those_of_the_faults() -> None:
    assert parsed(f"{STEP}faults: {{rates: usual}}").faults == DEFAULT
    assert parsed(f"{STEP}faults: {{rates: {{watch_lag: 0.5}}}}").faults.watch_lag == 0.5
    written = parsed(f"{STEP}machines: [node-a1]\nfaults: {{rates: {{driver_failed: 0.1}}}}")
    assert isinstance(written.faults, NodeFaults)
    assert [each.name for each in written.scenario.nodes] == ["node-a1"]


PINNED = """
machines: [node-a1]
steps: []
faults:
  pinned:
  - {at: 2s, delay: placementquotas, of: plane-0, for: 8s}
  - {at: 5s, restart: leader}
  - {at: 5s, restart: server}
  - {at: 6s, pause: standby, for: 20s}
  - {at: 8s, relist: Reservation}
  - {write: create reservations, by: reservation, of: plane-1, then: answer lost}
  - {at: 9s, write: create pods/binding, by: scheduler, nth: 3, then: crash after}
  - {at: 9s, node: node-a1, suffers: power_loss, for: 30s}
"""


def test_what_is_pinned_names_who_it_is_about_and_when() -> None:
    scenario = parsed(PINNED).scenario
    reservations = "reservations.fairlead.dev"
    assert scenario.pinned == (
        PinnedFault(2.0, "watch_delay", "plane-0", 8.0, "placementquotas.fairlead.dev"),
        PinnedFault(5.0, "plane_crash", "leader"),
        PinnedFault(5.0, "server_crash", "server"),
        PinnedFault(6.0, "plane_pause", "standby", 20.0),
        PinnedFault(8.0, "watch_relist", "leader", resource=reservations),
        PinnedFault(0.0, "reply_lost", "plane-1", call="reservation create reservations"),
        PinnedFault(9.0, "crash_after_write", "leader", call="scheduler create pods/binding", nth=2),
    )
    assert scenario.mishaps == (Mishap(9.0, "power_loss", "node-a1", 30.0),)
    assert scenario.faults_until_seconds == 99.0


def test_a_scenario_from_a_file_can_be_written_into_an_artifact_and_read_again() -> None:
    end = "expect: {end: [{object: nodes/a}, {count: pods, where: {status.phase: Running}, is: 3}]}\n"
    scenario = parsed(PINNED + end).scenario
    document = codec.decode(codec.encode(scenario_document(scenario)))
    assert scenario_of(document) == scenario


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "the file is empty: a scenario has at least steps"),
        ("steps: [", "line 1: this is not YAML: "),
        ("\x00", "this is not YAML: unacceptable character #x0000"),
        ("seed: 1", 'line 1: the scenario: needs "steps"'),
        (f"{STEP}stpes: []", "line 2: stpes: is no field here; there are: about, seed, "),
        (f"{STEP}seed: 1\nseed: 2", "line 3: seed: stands there twice"),
        (f"{STEP}seed: many", "line 2: seed: must be a whole number, 0 or more"),
        (f"{STEP}planes: 10", "line 2: planes: at most 9 are possible"),
        (f"{STEP}lease: 1s", "line 2: lease: must be at least 2s"),
        (f"{STEP}nodes: [web-1]", "line 2: nodes[0]: names of nodes that pretend begin with node-"),
        (f"{STEP}nodes: 1\nmachines: [node-a1]", "line 2: nodes: stands beside machines"),
        (f"{STEP}controllers: [a.b]", 'line 2: controllers[0]: "a.b" cannot be loaded: '),
        ("steps: {}", "line 1: steps: must be a list: begin each entry with a hyphen"),
        ("steps:\n- {at: soon, evict: a}", "line 2: steps[0].at: must be a time such as 8s, "),
        ("steps:\n- {at: 1s}", "line 2: steps[0]: does one thing: give it one of create, apply, "),
        ("steps:\n- {at: 1s, scale: jobs/a, to: 1}", "line 2: steps[0].scale: jobs cannot be scaled"),
        ("steps:\n- {patch: pods/a}", 'line 2: steps[0].patch: needs "with" beside it'),
        ("steps:\n- {delete: pods}", "line 2: steps[0].delete: names an object as KIND/NAME"),
        ("steps:\n- {delete: pots/a}", 'line 2: steps[0].delete: no kind is called "pots"'),
        ("steps:\n- {create: {kind: Pod}}", "line 2: steps[0].create: is no manifest: apiVersion is missing"),
        ("steps:\n- {create: {apiVersion: v1, kind: Pott}}", "nothing is called Pott in v1"),
        (
            "steps:\n- {create: {apiVersion: v1, kind: Pod}}",
            "line 2: steps[0].create: metadata.name is missing",
        ),
        (f"{STEP}faults: {{rates: {{watch_lag: 2}}}}", "faults.rates.watch_lag: must be a probability"),
        (f"{STEP}faults: {{rates: {{lag: 1}}}}", "line 2: faults.rates.lag: is no field here"),
        (
            f"{STEP}faults: {{pinned: [{{at: 1s}}]}}",
            "faults.pinned[0]: is one fault: give it one of restart, ",
        ),
        (
            f"{STEP}faults: {{pinned: [{{restart: leader}}]}}",
            "nobody leads at the beginning: say from which ",
        ),
        (f"{STEP}faults: {{pinned: [{{restart: plane-2}}]}}", '"plane-2" is none of: leader, standby, '),
        (
            f"{STEP}faults: {{pinned: [{{at: 1s, pause: leader}}]}}",
            'pinned[0]: needs "for": how long it lasts',
        ),
        (f"{STEP}faults: {{until: 1s, pinned: [{{at: 2s, restart: leader}}]}}", "put it at 2s or later"),
        (
            f"{STEP}faults: {{pinned: [{{at: 1s, write: create pods, by: me, then: answer lost}}]}}",
            'by: "me" is none of: ',
        ),
        (f"{STEP}faults: {{pinned: [{{node: a, suffers: b}}]}}", "only nodes under machines have faults"),
        (f"{STEP}expect: {{end: [{{count: pods}}]}}", "expect.end[0]: is an object ("),
    ],
)
def test_what_cannot_be_is_refused_with_its_line_its_field_and_the_fix(text: str, told: str) -> None:
    with pytest.raises(UsageError) as raised:
        parsed(text)
    assert told in str(raised.value)
