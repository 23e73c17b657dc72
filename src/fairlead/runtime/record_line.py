"""The parts of a decision's record that a line of the log (`acts.py`) and a span (`tracing/tracer.py`) repeat."""

from __future__ import annotations

import msgspec


class RecordLine(msgspec.Struct, gc=False):
    controller: str = ""
    object: str = ""
    id: str = ""
    uid: str = ""
    generation: int = 0
    verdict: str = ""
    reason: str = ""
    effects: tuple[str, ...] = ()
    about: tuple[str, ...] = ()
    cause: str = ""
    waited: float = 0.0
    attempts: tuple[int, ...] = ()
    node: str = ""
    nominated: str = ""
    of: str = ""
    outcome: str = ""
    term: str = ""
    identity: str = ""
    version: str = ""


decode_line = msgspec.json.Decoder(RecordLine).decode
