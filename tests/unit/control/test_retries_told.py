"""The seven properties of a retry, in force: none is missing for any effect, and the numbers are those in use."""

from __future__ import annotations

from typing import get_args

import pytest

from fairlead.control.retries_told import RetryInForce, retries_in_force
from fairlead.control.settings import BUILT_IN, Settings, settings_of
from fairlead.decision.effects import Effect
from fairlead.model.policy.plane_knobs import EFFECTS
from fairlead.model.views import Meta, PlaneSettings


def in_use(**spec: object) -> Settings:
    found = settings_of(PlaneSettings(Meta("default", "u", "", "7", generation=2), dict(spec)))
    assert isinstance(found, Settings)
    return found


def test_every_effect_has_a_row_that_the_settings_can_name() -> None:
    rows = retries_in_force(BUILT_IN)
    assert len(rows) == len(get_args(Effect))
    assert sorted(each.action for each in rows) == sorted(EFFECTS)


@pytest.mark.parametrize("row", retries_in_force(BUILT_IN), ids=lambda row: row.action)
def test_none_of_the_seven_properties_is_missing(row: RetryInForce) -> None:
    assert row.identity
    assert row.attempts_max >= 1
    assert 0 < row.backoff_seconds <= row.backoff_max_seconds
    assert row.jitter > 0
    assert row.void_after_seconds > 0
    assert row.fresh_read
    assert row.reason
    assert row.owner


def test_the_numbers_are_those_in_use_and_say_where_they_come_from() -> None:
    rows = retries_in_force(
        in_use(
            retries={"default": {"attemptsMax": 3}, "bind": {"backoffSeconds": 0.5}},
            controllers={"default": {"turnSeconds": 2.0}, "job": {"turnSeconds": 9.0}, "cronjob": {}},
        )
    )
    found = {each.action: each for each in rows}
    assert (found["bind"].attempts_max, found["bind"].backoff_seconds, found["bind"].settings) == (
        3,
        0.5,
        "bind",
    )
    assert (found["create"].attempts_max, found["create"].settings) == (3, "default")
    assert {each.void_after_seconds for each in rows} == {2.0}
    assert found["create"].void_after_by == {"job": 9.0}
