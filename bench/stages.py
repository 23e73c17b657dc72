"""Runs `fairlead` and samples, 250 times per second of CPU, which part of it is at work. Started by `scheduling.py`.

    python bench/stages.py OUT [--without-records] up --data-dir D --port N ...

SIGUSR1 starts the count anew, SIGUSR2 writes it to OUT: {"samples": n, "stages": {...}, "lines": {...}}. A sample costs
some 20 us, under one per cent. A part is told by the innermost frame on the stack that names one, so that whatever
the API does for a binding counts as `bind`, and whatever it does for a client as `create`.
"""

from __future__ import annotations

import json
import signal
import sys
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

from fairlead.cli.main import main

EVERY_SECONDS = 0.004
WITHOUT_RECORDS = "--without-records"
# (file, function or "") -> stage; the innermost frame that is listed decides.
_STAGES: dict[tuple[str, str], str] = {
    ("control/attempts.py", ""): "records",
    ("control/events.py", ""): "events",
    ("schedule/waiting.py", ""): "queue",
    ("schedule/cycle.py", ""): "placing",
    ("schedule/preemption.py", ""): "preemption",
    ("control/placing.py", "observe"): "snapshot",
    ("control/binding_flights.py", ""): "bind",
    ("control/placing.py", ""): "placer",
    ("cache/mirror.py", ""): "mirror",
    ("wire/watching.py", ""): "watch",
    ("wire/handler.py", ""): "create",
    ("wire/http.py", ""): "create",
    ("wire/receiving.py", ""): "create",
    ("runtime/server/event_expirer.py", ""): "store",
    ("runtime/server/store_driver.py", ""): "store",
    ("runtime/driving.py", ""): "plane",
    ("runtime/server/plane_driver.py", ""): "plane",
}
_BY_CALLER = {"scheduler": "bind", "events": "events"}


class Sampler:
    def __init__(self, out: Path) -> None:
        self._out = out
        self.clear()

    def clear(self, *_: object) -> None:
        self.samples = 0
        self.stages: Counter[str] = Counter()
        self.lines: Counter[str] = Counter()

    def take(self, _: int, frame: FrameType | None) -> None:
        self.samples += 1
        stage = _stage_of(frame)
        self.stages[stage] += 1
        if frame is not None:
            code = frame.f_code
            self.lines[f"{stage}: {_short(code.co_filename)}:{code.co_name}"] += 1

    def write(self, *_: object) -> None:
        samples, stages, lines = self.samples, self.stages, self.lines
        self.clear()  # a sample may be taken while this is written
        counted = {
            "samples": samples,
            "stages": dict(stages.most_common()),
            "lines": dict(lines.most_common(100)),
        }
        scratch = self._out.with_suffix(".new")
        scratch.write_text(json.dumps(counted))
        scratch.rename(self._out)


def _stage_of(frame: FrameType | None) -> str:
    while frame is not None:
        code = frame.f_code
        file = _short(code.co_filename)
        if file == "runtime/server/plane_driver.py" and code.co_name == "_call":
            caller = frame.f_locals["call"].controller
            return _BY_CALLER.get(caller, f"controllers: {caller}")
        if file == "control/controller.py":
            controller = frame.f_locals.get("self")
            # A signal may come while a controller is being made, before it has any of its fields.
            known = controller is not None and "decider" in vars(controller)
            return f"controllers: {controller.decider.name}" if known else "plane"
        stage = _STAGES.get((file, code.co_name)) or _STAGES.get((file, ""))
        if stage is not None:
            return stage
        frame = frame.f_back
    return "loop"  # sockets, TLS, timers; and the writer's thread while the loop waits


def keep_nothing() -> None:
    """From now on planes that are made record nothing, and their drivers keep no tape."""
    from fairlead.control import health
    from fairlead.control.recording import Recording
    from fairlead.runtime.server import serving

    class Off(Recording):
        def __init__(self) -> None:
            super().__init__()
            self.is_off = True

    class Untaped(serving.PlaneDriver):
        def __init__(self, *given: Any, **named: Any) -> None:
            super().__init__(*given, **{**named, "tape": False})

    health.Recording = Off  # type: ignore[misc]
    serving.PlaneDriver = Untaped  # type: ignore[misc]


def _short(path: str) -> str:
    """Below `fairlead/`; of the files of others, the last folder."""
    _, ours, below = path.rpartition("/fairlead/")
    return below if ours else "/".join(path.split("/")[-2:])


if __name__ == "__main__":
    out, *words = sys.argv[1:]
    if words[0] == WITHOUT_RECORDS:
        keep_nothing()
        words = words[1:]
    sampler = Sampler(Path(out))
    signal.signal(signal.SIGPROF, sampler.take)
    signal.signal(signal.SIGUSR1, sampler.clear)
    signal.signal(signal.SIGUSR2, sampler.write)
    signal.setitimer(signal.ITIMER_PROF, EVERY_SECONDS, EVERY_SECONDS)
    sys.argv = ["fairlead", *words]
    sys.exit(main())
