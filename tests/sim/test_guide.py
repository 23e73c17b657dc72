"""The plants that the guide shows are plants: they load from a file of the reader's own, and the runs are real ones."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fairlead.sim.run import Runner

GUIDE = Path(__file__).parents[2] / "docs/guides/simulating.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(), re.MULTILINE | re.DOTALL)
EXAMPLES = [each for each in BLOCKS if "(parts)" in each]


def test_there_are_three() -> None:
    assert len(EXAMPLES) == 3


@pytest.mark.parametrize(
    "number",
    [pytest.param(each, marks=pytest.mark.soak if each else ()) for each in range(len(EXAMPLES))],
)
def test_a_plant_of_the_guide_can_be_planted(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = re.findall(r"^def (\w+)\(parts\)", EXAMPLES[number], re.MULTILINE)[0]
    (tmp_path / f"guide_plants_{number}.py").write_text(EXAMPLES[number])
    monkeypatch.syspath_prepend(str(tmp_path))
    runner = Runner(plant=f"guide_plants_{number}:{name}")
    clean = Runner()
    for seed in range(8):
        result = runner.run(seed)
        assert result.commits > 20  # it ran for a while, whatever was found then
        assert result.failure is None or result.failure.invariant not in ("no-exception", "pure")
        if result.digest != clean.run(seed).digest:
            return
    pytest.fail("it changes nothing")


def test_the_scenario_of_the_guide_runs_and_shows_what_ran(capsys: pytest.CaptureFixture[str]) -> None:
    scenarios = [each for each in BLOCKS if each not in EXAMPLES]
    assert len(scenarios) >= 2
    for each in scenarios:
        exec(compile(each, str(GUIDE), "exec"), {})
    assert "run 1 on node-a1" in capsys.readouterr().out
