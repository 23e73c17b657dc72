"""The status of the PlaneSettings: which spec is in use, since when, and why one is not."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from fairlead.core.times import timestamp
from fairlead.decision.contract import NOTHING, SETTLED, Reading, Stuck
from fairlead.decision.effects import ChangeStatus
from fairlead.model.key import Key
from fairlead.model.views import PLANE_SETTINGS, Condition, Meta, PlaneSettings, PlaneSettingsStatus
from fairlead.reconcile.plane_settings import plane_settings_decider
from tests.unit.reconcile.waking import woken

DECIDER = plane_settings_decider()
KEY = Key(PLANE_SETTINGS.name, "", "default")
NOW = 1_700_000_000.0


class Seen:
    """A view that shows one object."""

    def __init__(self, found: PlaneSettings | None) -> None:
        self._found = found

    def get(self, resource: Any, namespace: str, name: str) -> Any:
        return self._found


def reading(found: PlaneSettings | None) -> Reading:
    return Seen(found)  # type: ignore[return-value]


def settings(generation: int = 1, status: PlaneSettingsStatus | None = None, **spec: Any) -> PlaneSettings:
    meta = Meta("default", "u", resource_version="7", generation=generation)
    return PlaneSettings(meta, spec, status or PlaneSettingsStatus())


def condition(found: PlaneSettings, now: float = NOW) -> dict[str, Any]:
    (effect,) = DECIDER.decide(reading(found), KEY, now).effects
    assert isinstance(effect, ChangeStatus)
    (applied,) = effect.patch["status"]["conditions"]
    return dict(applied)


def in_use(generation: int, since: float = NOW) -> PlaneSettingsStatus:
    told = Condition(
        "Applied",
        "True",
        "InUse",
        "the leading plane works with these settings",
        timestamp(since),
        observed_generation=generation,
    )
    return PlaneSettingsStatus(generation, (told,))


def test_a_new_spec_is_told_to_be_in_use() -> None:
    told = condition(settings(2, queues={"job": {"rateBurst": 5}}))
    assert (told["type"], told["status"], told["observedGeneration"]) == ("Applied", "True", 2)


def test_nothing_is_written_when_it_says_so_already_or_is_gone() -> None:
    decision = DECIDER.decide(reading(settings(2, in_use(2))), KEY, NOW + 100)
    assert (decision.verdict, decision.effects) == (SETTLED, ())
    assert DECIDER.decide(reading(None), KEY, NOW) == NOTHING
    going = settings(1)
    going = structs.replace(
        going, metadata=structs.replace(going.metadata, deletion_timestamp=timestamp(NOW))
    )
    assert DECIDER.decide(reading(going), KEY, NOW) == NOTHING


def test_the_time_is_that_of_the_last_change_between_true_and_false() -> None:
    told = condition(settings(3, in_use(2)), NOW + 100)
    assert (told["observedGeneration"], told["lastTransitionTime"]) == (3, timestamp(NOW))
    told = condition(settings(3, in_use(2), loop={"resyncSeconds": 0}), NOW + 100)
    assert (told["status"], told["lastTransitionTime"]) == ("False", timestamp(NOW + 100))


def test_a_spec_that_cannot_be_used_is_said_not_to_be() -> None:
    found = settings(loop={"resyncSeconds": 0})
    told = condition(found)
    assert (told["status"], told["reason"]) == ("False", "Invalid")
    assert "the settings before stay in use: " in told["message"]
    assert "spec.loop.resyncSeconds" in told["message"]
    assert isinstance(DECIDER.decide(reading(found), KEY, NOW).verdict, Stuck)


def test_a_change_wakes_it_and_its_end_does_not() -> None:
    assert tuple(woken(DECIDER, PLANE_SETTINGS.name, None, settings())) == (KEY,)
    assert tuple(woken(DECIDER, PLANE_SETTINGS.name, settings(), None)) == ()
