"""The long run survives interruptions: its parts add up to what one go would have told, for the same sources only."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from bench import pieces

from fairlead.sim.faults import DEFAULT
from fairlead.sim.probes import probe_names
from fairlead.sim.run import Failure, SeedResult
from fairlead.sim.sample import fault_kinds
from fairlead.sim.worlds import std20

SOAK = Path(__file__).parents[2] / "bench/soak.py"


class Scripted:
    """A Runner whose seeds cost nothing. Every plant but one is found at seed 5; seed 7 fails if asked to."""

    missing = ""
    fails = False

    def __init__(self, scenario: Any = None, faults: Any = DEFAULT, plant: str = "") -> None:
        self.scenario, self.faults, self._plant = std20.scenario(), faults, plant

    def run(self, seed: int) -> SeedResult:
        found = self._plant and seed >= 5 and not (self.missing and self.missing in self._plant)
        failure = Failure(seed, "bound-once", "moved") if found or (self.fails and seed == 7) else None
        faults, probes = dict.fromkeys(fault_kinds(DEFAULT), 2), dict.fromkeys(probe_names(), 1)
        return SeedResult(
            seed=seed,
            digest=f"digest {seed}",
            failure=failure,
            seconds=600.0,
            commits=300,
            faults=faults,
            probes=probes,
        )


@pytest.fixture
def soak(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("soak", SOAK)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "Runner", type("Fresh", (Scripted,), {}))
    monkeypatch.setattr(pieces, "commit", lambda: "0" * 40)
    return module


def run(soak: ModuleType, file: Path, *words: str) -> tuple[int, dict[str, Any]]:
    sys.argv = ["soak.py", "--jobs", "1", "--file", str(file), *words]
    code = soak.main()
    told = json.loads(file.read_text()) if file.exists() else {}
    return code, told


def lasting(told: dict[str, Any]) -> dict[str, Any]:
    """All but what a clock says."""
    return {
        name: value for name, value in told.items() if "second" not in name or name == "simulated_seconds"
    }


@pytest.fixture(autouse=True)
def arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", list(sys.argv))


def test_a_whole_run_tells_seeds_commit_sources_and_plants(
    soak: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, told = run(soak, tmp_path / "results" / "soak.json", "--seeds", "250")
    assert code == 0
    assert told["seeds"] == 250
    assert (told["world"], told["commit"], told["failures"]) == ("std20", "0" * 40, [])
    assert told["plants"]["zombie_leader"] == {"seed": 5, "invariant": "bound-once"}
    assert {"digest", "python", "seeds_per_second", "faults", "probes"} <= told.keys()
    plants = len(told["plants"])
    assert capsys.readouterr().out == (
        f"std20: 250 seeds, 0 failures, digest {told['digest']}, {plants} plants found\n"
    )


def test_parts_add_up_to_the_whole(soak: ModuleType, tmp_path: Path) -> None:
    _, whole = run(soak, tmp_path / "whole", "--seeds", "450")
    for seeds in ("130", "200", "450"):
        _, parts = run(soak, tmp_path / "parts", "--seeds", seeds)
    assert lasting(parts) == lasting(whole)


def test_out_of_time_it_says_so_and_goes_on_later(soak: ModuleType, tmp_path: Path) -> None:
    run(soak, tmp_path / "soak", "--seeds", "100")
    code, told = run(soak, tmp_path / "soak", "--seeds", "300", "--seconds", "1e-9")
    assert (code, told["seeds"]) == (pieces.MORE_TO_DO, 100)
    code, told = run(soak, tmp_path / "soak", "--seeds", "300")
    assert (code, told["seeds"]) == (0, 300)


@pytest.mark.parametrize("why", ["sources", "asked"])
def test_of_other_sources_nothing_is_kept(
    soak: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    run(soak, tmp_path / "soak", "--seeds", "300")
    if why == "sources":
        monkeypatch.setattr(pieces, "sources", lambda: "other")
    _, told = run(soak, tmp_path / "soak", "--seeds", "100", *(["--afresh"] if why == "asked" else []))
    assert told["seeds"] == 100


def test_a_failed_seed_or_a_plant_that_is_not_found_fails_it(
    soak: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(soak.Runner, "missing", "no_resync")
    code, told = run(soak, tmp_path / "plants", "--seeds", "10")
    assert (code, told["plants"]["no_resync"]) == (1, None)
    assert "no_resync was not found" in capsys.readouterr().err
    monkeypatch.setattr(soak.Runner, "missing", "")
    monkeypatch.setattr(soak.Runner, "fails", True)
    code, told = run(soak, tmp_path / "seeds", "--seeds", "10")
    assert code == 1
    assert told["failures"] == [
        {
            "seed": 7,
            "invariant": "bound-once",
            "message": "moved",
            "again": "fairlead sim run --seeds 1 --seed 7",
        }
    ]
