"""The worked example of repair, as a transcript: a workload of three, one binding of which is unknown.

Each scene is the same run of the world `fraud-batch` with one fault at one call. FAIRLEAD_TRANSCRIPTS=write writes the
transcript anew; review the difference like code.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from fairlead.sim.run import Runner
from fairlead.sim.worlds import fraud_batch
from tests.sim.directed import Asked, calls, calm, strike
from tests.transcript.telling import Telling

TRANSCRIPT = Path(__file__).parent / "fraud_batch.txt"


def is_binding(asked: Asked) -> bool:
    return asked.subresource == "binding"


def is_create(asked: Asked) -> bool:
    return asked.controller == "replicaset" and asked.verb == "create"


# What happens, to the which-th of which calls.
SCENES: tuple[tuple[str, str, Callable[[Asked], bool], int], ...] = (
    ("the third binding is committed, its answer is lost", "reply_lost", is_binding, 2),
    ("the third binding is lost on its way", "request_lost", is_binding, 2),
    ("the third binding arrives after its sender gave up", "request_late", is_binding, 2),
    ("the replacement is created, its answer is lost", "reply_lost", is_create, 3),
    ("the plane dies before the replacement is sent, another takes over", "crash_unsent", is_create, 3),
    ("the plane dies as the replacement is created, another takes over", "crash_sent", is_create, 3),
)


def test_the_repair_of_fraud_batch_reads_as_the_transcript_shows() -> None:
    runner = Runner(fraud_batch.scenario(), fraud_batch.FAULTS)
    run = calm(runner)
    assert run.violation is None
    first = Telling(run.trail or ())
    scenes = ["# nothing goes wrong\n" + first.text()]
    for title, fault, is_meant, number in SCENES:
        asked = [each for each in calls(run) if is_meant(each)][number]
        struck = strike(runner, asked, fault)
        assert struck.violation is None, title
        scenes.append(f"# {title}; from there on\n" + Telling(struck.trail or ()).text(unlike=first))
    text = "\n".join(scenes)
    if os.environ.get("FAIRLEAD_TRANSCRIPTS") == "write":
        TRANSCRIPT.write_text(text)
    assert text == TRANSCRIPT.read_text()
