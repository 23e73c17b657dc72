"""A checker that says which resources it sees is shown no others: of those it must not have made anything."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.sim.chance import Chance
from fairlead.sim.checkers.contract import Checker, Observed, is_shown
from fairlead.sim.checkers.roster import all_checkers, process_checkers
from fairlead.sim.counts import CountedWrites
from fairlead.sim.generate.runner import runner_of
from fairlead.sim.run import Runner

# Worlds that together have objects of most kinds that any checker looks at, each with its first seed.
WORLDS = ("overrides", "runbooks", "reserve", "late-policy")


def state_of(checker: Checker) -> str:
    return repr({name: _plain(value) for name, value in sorted(vars(checker).items())})


def _plain(value: Any) -> Any:
    return state_of(value) if hasattr(value, "__dict__") and not callable(value) else value


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> dict[tuple[str, str], int]:
    """Every change is shown to every checker, also to those that say they do not look at it."""
    counts: dict[tuple[str, str], int] = {}
    usual = Observed._shown

    def guarded(checker: Checker, resource: str) -> Any:
        def saw(sight: Any) -> None:
            before = state_of(checker)
            checker.saw(sight)
            assert state_of(checker) == before, f"{checker.name} makes something of {resource}"
            counts[checker.name, resource] = counts.get((checker.name, resource), 0) + 1

        return saw

    def all_of(observed: Observed, resource: str) -> Any:
        others = [each for each in observed._checkers if not is_shown(type(each), resource)]
        found = observed._saw[resource] = (
            *(guarded(each, resource) for each in others), *usual(observed, resource)
        )  # fmt: skip
        return found

    monkeypatch.setattr(Observed, "_shown", all_of)
    return counts


@pytest.mark.parametrize("world", WORLDS)
def test_what_a_checker_does_not_see_would_not_matter_to_it(
    world: str, shown: dict[tuple[str, str], int]
) -> None:
    runner: Runner = runner_of(world)
    run = runner.play(Chance(0), stop_seconds=60.0)
    assert run.violation is None
    assert len(shown) > 100


def test_most_checkers_say_what_they_see() -> None:
    silent = [
        type(each).__name__ for each in (*all_checkers(), *process_checkers()) if not hasattr(each, "sees")
    ]
    assert "BoundOnce" not in silent
    assert len(silent) <= 16, silent
    assert is_shown(CountedWrites, "pods")
    assert not is_shown(CountedWrites, "leases.coordination.k8s.io")
