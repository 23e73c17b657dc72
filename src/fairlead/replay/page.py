"""A timeline as one page of HTML that needs nothing else: a lane per process, time downwards, arrows from cause to
effect.

    timeline_page(title, account, steps) -> str

The page draws itself with a few lines of script from the steps that are embedded in it: the wheel zooms, dragging
moves, a click on a step shows its text and lights up the chain of its causes, boxes hide kinds. Pure text in, text
out; written to a file by `fairlead sim show --html`.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from importlib.resources import files

import msgspec

from fairlead.replay.artifact import RecordedStep

_DATA_MAX = 4_000  # characters of a step's data that the page carries
#: bound: plane | steps of a run on one page of its timeline | the oldest are left out
STEPS_MAX = 20_000
# Kinds that most readers do not want to see at first.
QUIET = frozenset({"wake at", "woke", "list", "listed", "follow", "note", "commit", "report"})


def shown_kind(kind: str, text: str) -> str:
    """What a mirror hears is worth a look if it is a change, or the end of its watch."""
    return "listed" if kind == "told" and text.endswith((" Listed []", " Woke []", " Marked []")) else kind


def timeline_page(title: str, account: Iterable[str], steps: Sequence[RecordedStep]) -> str:
    left_out = max(0, len(steps) - STEPS_MAX)
    shown = steps[left_out:]
    rows = [
        [left_out + number, ms, actor, shown_kind(kind, text), text, data[:_DATA_MAX], cause]
        for number, (ms, actor, kind, text, data, cause) in enumerate(shown)
    ]
    embedded = msgspec.json.encode({"steps": rows, "quiet": sorted(QUIET)}).decode().replace("<", "\\u003c")
    template = files("fairlead.replay").joinpath("timeline.html").read_text()
    parts = {"title": html.escape(title), "account": html.escape("\n".join(account)), "steps": embedded}
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], template)
