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
    """A Runner whose seeds cost nothing; seed 7 fails if asked to."""

    fails = False

    def __init__(self) -> None:
        self.scenario, self.faults = std20.scenario(), DEFAULT

    def run(self, seed: int) -> SeedResult:
        failure = Failure(seed, "bound-once", "moved") if self.fails and seed == 7 else None
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


def test_a_whole_run_tells_seeds_commit_and_sources(
    soak: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, told = run(soak, tmp_path / "results" / "soak.json", "--seeds", "250")
    assert code == 0
    assert told["seeds"] == 250
    assert (told["world"], told["commit"], told["failures"]) == ("std20", "0" * 40, [])
    assert {"digest", "python", "seeds_per_second", "faults", "probes"} <= told.keys()
    assert capsys.readouterr().out == f"std20: 250 seeds, 0 failures, digest {told['digest']}\n"


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


def test_a_failed_seed_fails_it(soak: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
