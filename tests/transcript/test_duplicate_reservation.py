"""The worked example of a duplicate reservation, as a transcript: a create whose answer is lost, a new leader, a watch
that is late, and what each defence does about it.

Each scene is the same run of the world `recovery` with one fault at one call. FAIRLEAD_TRANSCRIPTS=write writes the
transcript anew; review the difference like code.
"""

from __future__ import annotations

import os
from pathlib import Path

from fairlead.sim.run import Runner
from fairlead.sim.worlds import recovery
from tests.sim.directed import Asked, calls, calm, strike
from tests.transcript.telling_reservation import ReservationTelling

TRANSCRIPT = Path(__file__).parent / "duplicate_reservation.txt"
INTENT = "room-3"
ZOO = "fairlead.sim.zoo.duplicate_reservation"
LATE = "the plane dies as it is created, who takes over has not been told yet"
TOLD = 1  # the first delivery after the create is the one that tells of it
# What happens to the create, whether the next leader is told of it late, the plant, and the invariant that breaks.
SCENES = (
    ("the Reservation is created, its answer is lost", "reply_lost", 0, "", ""),
    ("the create is lost on its way", "request_lost", 0, "", ""),
    ("the create arrives after its sender gave up", "request_late", 0, "", ""),
    ("the plane dies as it is created, another takes over", "crash_sent", 0, "", ""),
    (LATE, "crash_sent", TOLD, "", ""),
    (f"{LATE}, and does not wait (planted)", "crash_sent", TOLD, "eager", ""),
    (
        "the same, names follow the attempt, no rule for them (planted)",
        "crash_sent",
        TOLD,
        "plant",
        "one-reservation",
    ),
)


def runner_with(plant: str) -> Runner:
    return Runner(recovery.scenario(), recovery.FAULTS, plant=f"{ZOO}:{plant}" if plant else "")


def is_create(asked: Asked) -> bool:
    return asked.controller == "override-capacity" and asked.verb == "create"


def test_the_duplicate_reservation_reads_as_the_transcript_shows() -> None:
    runners = {plant: runner_with(plant) for plant in ("", "eager", "plant")}
    undisturbed = {plant: calm(runner) for plant, runner in runners.items()}
    assert [run.violation for run in undisturbed.values()] == [None] * 3
    first = ReservationTelling(undisturbed[""].trail or (), INTENT)
    scenes = ["# nothing goes wrong\n" + first.text()]
    for title, fault, told_late, plant, broken in SCENES:
        run = undisturbed[plant]
        asked = [each for each in calls(run) if is_create(each)][2]
        struck = strike(runners[plant], asked, fault, told_late)
        assert (struck.violation.invariant if struck.violation else "") == broken, title
        telling = ReservationTelling(struck.trail or (), INTENT)
        scenes.append(f"# {title}; from there on\n" + telling.text(unlike=first))
    text = "\n".join(scenes)
    if os.environ.get("FAIRLEAD_TRANSCRIPTS") == "write":
        TRANSCRIPT.write_text(text)
    assert text == TRANSCRIPT.read_text()
