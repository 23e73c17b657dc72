"""PlaneSettings: one of them, every knob bounded, every name known, and the tables of knobs agree."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.agent.hollow.decider import hollow_decider
from fairlead.control.events import RecorderSettings
from fairlead.control.roster import default_deciders
from fairlead.control.settings import BUILT_IN, PlacingSettings, Settings, settings_of
from fairlead.decision.effects import RETRY
from fairlead.model.files import load_tables
from fairlead.model.kind import Json
from fairlead.model.kinds.planesettings import KIND
from fairlead.model.policy.plane_knobs import CONTROLLERS, EFFECTS, SECTIONS, Knob, numbers
from fairlead.model.views import Meta, PlaneSettings
from fairlead.queue.settings import QueueSettings
from fairlead.schedule.waiting import WaitingSettings
from tests.unit.model.kinds.workload_objects import mistakes, row, shown, whole


def settings(name: str = "default", **spec: Any) -> Json:
    return whole(KIND, name, spec=spec)


def made(spec: Json) -> Settings:
    found = settings_of(PlaneSettings(Meta("default", "u", resource_version="7", generation=3), spec))
    assert isinstance(found, Settings), found
    return found


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, []),
        ({"queues": {"default": {}, "job": {"ratePerSecond": 0.5}}}, []),
        (
            {"queues": {"jbo": {}}},
            [
                'spec.queues[jbo]: Unsupported value: "jbo": supported values: "default", '
                + ", ".join(f'"{name}"' for name in CONTROLLERS)
            ],
        ),
        (
            {"queues": {"job": {"rateBurst": 0}}},
            [
                "spec.queues[job].rateBurst: Invalid value: 0: must be between 1 and 1e+06; "
                "without it, 100 applies"
            ],
        ),
        (
            {"queues": {"default": {"backoffSeconds": 40}}},
            [
                "spec.queues[default].backoffSeconds: Invalid value: 40: "
                "backoffMaxSeconds (30 here) must not be less than backoffSeconds (40 here)"
            ],
        ),
        (
            {"queues": {"default": {"backoffSeconds": 10}, "job": {"backoffMaxSeconds": 5}}},
            [
                "spec.queues[job].backoffMaxSeconds: Invalid value: 5: "
                "backoffMaxSeconds (5 here) must not be less than backoffSeconds (10 here)"
            ],
        ),
        (
            {"controllers": {"job": {"turnSeconds": 20}}},
            [
                "spec.controllers[job].turnSeconds: Invalid value: 20: must be between 0.1 and 10; "
                "without it, 5 applies"
            ],
        ),
        (
            {"breaker": {"failuresMax": 0}, "loop": {"resyncSeconds": 5}},
            [
                "spec.breaker.failuresMax: Invalid value: 0: must be between 1 and 1e+06; "
                "without it, 10 applies",
                "spec.loop.resyncSeconds: Invalid value: 5: "
                "resyncSeconds (5 here) must not be less than resyncSpreadSeconds (30 here)",
            ],
        ),
    ],
)
def test_every_mistake_is_named_with_its_field_and_what_would_be_right(
    spec: Json, expected: list[str]
) -> None:
    assert mistakes(KIND, settings(**spec)) == expected


def test_there_is_one() -> None:
    assert mistakes(KIND, settings("mine")) == [
        "metadata.name: Invalid value: \"mine\": the plane has one PlaneSettings, named 'default'"
    ]


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({}, "Unknown"),
        ({"observedGeneration": 1, "conditions": [{"type": "Applied", "status": "True"}]}, "Unknown"),
        ({"observedGeneration": 2, "conditions": [{"type": "Applied", "status": "True"}]}, "True"),
        ({"observedGeneration": 2, "conditions": [{"type": "Applied", "status": "False"}]}, "False"),
    ],
)
def test_it_shows_whether_the_present_spec_is_in_use(status: Json, expected: str) -> None:
    obj = settings()
    obj["metadata"]["generation"] = 2
    assert shown(KIND) == ["APPLIED", "AGE"]
    assert row(KIND, {**obj, "status": status})["Applied"] == expected


def test_every_controller_and_every_effect_can_be_named() -> None:
    names = {decider.name for decider in (*default_deciders(), hollow_decider("n-", 1))}
    assert names == set(CONTROLLERS), "every controller is in CONTROLLERS of model/policy/plane_knobs.py"
    assert {effect.__name__[0].lower() + effect.__name__[1:] for effect in RETRY} == set(EFFECTS)


def test_the_field_table_has_exactly_the_knobs_with_the_right_type() -> None:
    tables = load_tables()
    spec = tables["PlaneSettingsSpec"].fields
    assert set(spec) == {*SECTIONS, "schedulingPolicy", "admission", "chaos"}
    types = {
        "queues": "PlaneQueue",
        "controllers": "PlaneController",
        "retries": "PlaneRetry",
        "retryBudget": "PlaneRetryBudget",
        "breaker": "PlaneBreaker",
        "writeLoops": "PlaneWriteLoops",
        "monitors": "PlaneMonitors",
        "loop": "PlaneLoop",
        "scheduler": "PlaneScheduler",
        "events": "PlaneEvents",
        "autoscaling": "PlaneAutoscaling",
        "repair": "PlaneRepair",
        "overrides": "PlaneOverrides",
        "stages": "PlaneStage",
        "health": "PlaneHealth",
    }
    for title, section in SECTIONS.items():
        described = tables[types[title]].fields
        assert set(described) == {knob.name for knob in section.knobs}
        for knob in section.knobs:
            wanted = "int32" if isinstance(knob.default, int) else "number"
            assert described[knob.name].type.name == wanted, knob.name  # type: ignore[union-attr]
            assert described[knob.name].description


def test_without_an_object_everything_is_as_built_in_and_an_empty_one_changes_nothing() -> None:
    assert settings_of(None) is BUILT_IN
    empty = made({})
    assert (empty.revision, empty.generation) == (7, 3)
    assert (empty.loop, empty.breaker, empty.budget) == (BUILT_IN.loop, BUILT_IN.breaker, BUILT_IN.budget)
    assert (empty.writes, empty.retries) == (BUILT_IN.writes, BUILT_IN.retries)
    assert (empty.events, empty.placing, empty.waiting) == (
        RecorderSettings(),
        PlacingSettings(),
        WaitingSettings(),
    )
    assert empty.queue("job") == BUILT_IN.queue("job") == QueueSettings()
    assert empty.controller("job") == BUILT_IN.controller("job")


def test_the_scheduler_and_the_recorder_get_their_own() -> None:
    scheduler = {"backoffSeconds": 2, "flushSeconds": 60, "batchMax": 5}
    told = made({"scheduler": scheduler, "events": {"perSecond": 7}})
    assert told.placing == PlacingSettings(batch_max=5)
    assert told.waiting == WaitingSettings(backoff_seconds=2, flush_seconds=60)
    assert told.events == RecorderSettings(per_second=7)


def test_names_override_the_default_entry_which_overrides_what_is_built_in() -> None:
    spec = {"queues": {"default": {"rateBurst": 7, "passesMax": 3}, "job": {"rateBurst": 9}, "cronjob": {}}}
    found = made(spec)
    assert (found.queue("job").rate_burst, found.queue("job").passes_max) == (9, 3)
    assert (found.queue("deployment").rate_burst, found.queue("deployment").keys_max) == (7, 1_000_000)
    assert [found.source(name) for name in ("job", "deployment", "cronjob")] == ["job", "default", "default"]
    assert BUILT_IN.source("job") == ""


def test_what_cannot_be_used_says_why() -> None:
    found = settings_of(
        PlaneSettings(Meta("default", "u", resource_version="7"), {"loop": {"resyncSeconds": 0}})
    )
    assert isinstance(found, str)
    assert "spec.loop.resyncSeconds" in found


def _value(knob: Knob) -> st.SearchStrategy[float]:
    if isinstance(knob.default, int):
        return st.integers(int(knob.low), int(knob.high))
    return st.floats(knob.low, knob.high)


def _entry(title: str) -> st.SearchStrategy[Json]:
    return st.fixed_dictionaries({}, optional={knob.name: _value(knob) for knob in SECTIONS[title].knobs})


SPECS = st.fixed_dictionaries(
    {},
    optional={
        title: st.dictionaries(st.sampled_from(("default", *section.names)), _entry(title), max_size=3)
        if section.names
        else _entry(title)
        for title, section in SECTIONS.items()
    },
)


@given(SPECS)
def test_whatever_the_api_accepts_the_plane_can_work_with(spec: Json) -> None:
    if mistakes(KIND, settings(**spec)):
        return
    found = made(spec)
    for name in CONTROLLERS:
        given_rate = numbers(spec, "queues", name)["ratePerSecond"]
        assert found.queue(name).rate_per_second == given_rate
        assert found.controller(name).turns_max >= 1


def test_every_knob_of_a_queue_is_there() -> None:
    assert len(fields(QueueSettings)) == len(SECTIONS["queues"].knobs)
