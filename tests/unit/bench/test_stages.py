"""The sampler of `bench/stages.py`: whatever frame a signal meets, it names a stage and raises nothing."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any

import pytest

BENCH = Path(__file__).parents[3] / "bench"


@pytest.fixture
def stage_of(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCH))
    spec = importlib.util.spec_from_file_location("bench_stages", BENCH / "stages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module._stage_of


def inside(file: str, **local: Any) -> FrameType:
    """A frame of that file with these variables."""
    namespace: dict[str, Any] = {"sys": sys}
    source = f"def work({', '.join(local)}):\n    return sys._getframe()\n"
    exec(compile(source, f"/src/fairlead/{file}", "exec"), namespace)
    frame: FrameType = namespace["work"](**local)
    return frame


def test_a_controller_that_is_being_made_has_no_decider_yet(stage_of: Any) -> None:
    made = SimpleNamespace(decider=SimpleNamespace(name="job"))
    assert stage_of(inside("control/controller.py", self=made)) == "controllers: job"
    assert stage_of(inside("control/controller.py", self=SimpleNamespace())) == "plane"
    assert stage_of(inside("control/controller.py")) == "plane"
