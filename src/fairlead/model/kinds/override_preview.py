"""What a SchedulerOverride says of its own preview (`spec.preview`): made, or why there is none. Bounded, and fixed.

Whoever makes an override looks ahead first (`cli/override/preview.py`) and sends what was foreseen with it. It is part
of the spec, so that nobody changes it later on. Where nothing was sent the server writes that down
(`api/admission/override/steps.py`): an override that nobody looked ahead for says so itself.
"""

from __future__ import annotations

from fairlead.core.problems import Problems
from fairlead.model.kind import Json

MADE, FAILED, TOO_SLOW, SKIPPED = "Made", "Failed", "TooSlow", "Skipped"
OUTCOMES = (MADE, FAILED, TOO_SLOW, SKIPPED)
NOT_SENT = "whoever made it sent none"
MOVES_NOTHING = "it moves nothing"
#: bound: objects | workloads or zones that the preview of a SchedulerOverride lists | 422
LISTED_MAX = 20
#: bound: objects | bytes of a text in the preview of a SchedulerOverride | 422
TEXT_MAX = 512
_TEXTS = {"workloads": ("namespace", "workload"), "room": ("zone", "resource")}


def skipped(message: str = NOT_SENT) -> Json:
    return {"outcome": SKIPPED, "message": message}


def validate_preview(preview: Json, at: str, problems: Problems) -> None:
    outcome = preview.get("outcome") or ""
    if outcome not in OUTCOMES:
        problems.unsupported(f"{at}.outcome", outcome, OUTCOMES)
    elif outcome != MADE and not preview.get("message"):
        problems.required(f"{at}.message", "say why there is none")
    for field in ("message", "revision"):
        if len(str(preview.get(field) or "").encode()) > TEXT_MAX:
            problems.too_long(f"{at}.{field}", TEXT_MAX)
    for field in ("moved", "pending", "more"):
        if (preview.get(field) or 0) < 0:
            problems.invalid(f"{at}.{field}", preview[field], "must not be negative")
    for field, texts in _TEXTS.items():
        listed = preview.get(field) or []
        if len(listed) > LISTED_MAX:
            problems.too_many(f"{at}.{field}", len(listed), LISTED_MAX)
        for index, each in enumerate(listed[:LISTED_MAX]):
            for text in texts:
                if len(str(each.get(text) or "").encode()) > TEXT_MAX:
                    problems.too_long(f"{at}.{field}[{index}].{text}", TEXT_MAX)


def told(preview: Json) -> str:
    """In a line: what was foreseen, or why nothing was."""
    if preview.get("outcome") != MADE:
        return f"{preview.get('outcome') or SKIPPED}: {preview.get('message') or NOT_SENT}"
    moved, pending = preview.get("moved") or 0, preview.get("pending") or 0
    seconds = f"{preview.get('seconds') or 0:g} s"
    rest = f"settles after {seconds}" if preview.get("settled") else f"has not settled after {seconds}"
    return f"{moved} pod{'s' * (moved != 1)} to move, {pending} to wait; {rest}"
