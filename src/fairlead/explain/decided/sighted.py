"""A decision as it is told to a tenant: one of a node, or of a batch, touches objects of others as well.

Called by `answer.py`. Objects that are not in sight are MASK in what names them, and of what was done to them there is
how much; what is in no namespace is named to all who are told of the decision.
"""

from __future__ import annotations

from typing import Any

from fairlead.api.access.sight import Sight
from fairlead.explain.masking import MASK

Json = dict[str, Any]
_NAMING = ("object", "cause")  # each one object, or words


def seen_decision(told: Json, sight: Sight) -> Json:
    """Without the names of others, and without what would be done to what is theirs."""
    if sight.is_whole:
        return told
    seen = _seen_record(told, sight)
    again = seen.get("again") or {}
    if again.get("effects"):
        shown, hidden = sight.shown(again["effects"], _place)
        seen["again"] = {**again, "effects": shown, "hidden": hidden}
    diff = seen.get("diff")
    if diff:
        seen["diff"] = {**diff, "against": _seen_record(diff["against"], sight)}
    return seen


def _seen_record(record: Json, sight: Sight) -> Json:
    seen = {**record, **{name: _seen(record[name], sight) for name in _NAMING if record.get(name)}}
    if record.get("about"):
        seen["about"] = [_seen(each, sight) for each in record["about"]]
    if "uid" in seen and seen.get("object") == MASK:
        seen["uid"] = MASK
    return seen


def _seen(text: str, sight: Sight) -> str:
    """RESOURCE/NAMESPACE/NAME."""
    parts = text.split("/")
    return text if len(parts) != 3 or sight.sees(parts[0], parts[1], parts[2]) else MASK


def _place(effect: Json) -> tuple[str, str, str]:
    return (
        str(effect.get("resource") or ""),
        str(effect.get("namespace") or ""),
        str(effect.get("name") or ""),
    )
