"""The operators of the guide: the sound one passes in the simulator, the hasty one is found by what the guide says."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from tests.docs.pages import ROOT


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "examples/operator_decider"))
    return importlib.import_module("world")


def test_the_sound_operator_ends_as_without_faults(example: Any) -> None:
    assert example.failures(example.lighthouse_decider, 12) == []


def test_the_stale_view_of_the_hasty_one_is_found(example: Any) -> None:
    found = example.failures(example.hasty_decider, 60)
    assert found
    assert all("ends-as-without-faults" in each for each in found)


@pytest.mark.soak
def test_the_sound_operator_in_many_seeds(example: Any) -> None:
    assert example.failures(example.lighthouse_decider, 1000) == []
