"""The record of one decision: small, because its detail is recomputed by running the same pure function again.

Names the instant, the controller and key, the verdict, the effects by identity, and for every resource that was read
the revision used and the newest that was known then, and the revision of the settings (laws.md 9). Questions about
silence and the wall clock are in no history, so they are kept with their answers, and so are values that were measured
(`Decision.inputs`).
"""

from __future__ import annotations

from typing import Any

from fairlead.cache.view import MirrorView
from fairlead.control.refusals import Wait
from fairlead.control.turn import Turn
from fairlead.core import codec
from fairlead.core.times import microtime
from fairlead.decision.contract import Reading, Verdict
from fairlead.decision.digest import digest_of

STREAM = "decisions"


def record_of(
    controller: str,
    turn: Turn,
    view: Reading | None,
    now: float,
    verdict: Verdict | None = None,
    settings: int = 0,
    held: Wait | None = None,
) -> bytes:
    """`settings` is the revision of the PlaneSettings in use, 0 for what is built in."""
    told = verdict or turn.decision.verdict
    line: dict[str, Any] = {
        "time": microtime(now),
        "controller": controller,
        "object": "/".join([part for part in turn.key if part]),
        "verdict": type(told).__name__,
    }
    if reason := getattr(told, "reason", ""):
        line["reason"] = reason
    if message := getattr(told, "message", ""):
        line["message"] = message
    if turn.decision.effects:
        line["effects"] = [f"{type(effect).__name__} {effect.identity}" for effect in turn.decision.effects]
    if turn.decision.inputs:
        line["inputs"] = list(turn.decision.inputs)
    if turn.trouble:
        line["trouble"] = turn.trouble
    if settings:
        line["settings"] = settings
    if view is not None and (digest := digest_of(turn.decision)):
        line["digest"] = digest
    if held is not None:
        line["held"] = held.told()
    reads = getattr(view, "reads", None)
    if reads is not None:
        line["reads"] = dict(sorted(reads().items()))
    heard = getattr(view, "heard", None)
    if heard is not None and (told := heard()):
        line["heard"] = told
    if isinstance(view, MirrorView) and view.walls:
        line["wall"] = {microtime(at): microtime(shown) for at, shown in view.walls.items()}
    return codec.encode(line)
