"""JSON merge patch (RFC 7386): objects merge key by key, null removes, everything else replaces.

`merge_patch` is called by `api/` for application/merge-patch+json. `patch_between` makes such a patch; controllers and
the simulator call it. Lists are replaced as a whole; whoever wants lists merged uses a strategic merge patch.
"""

from __future__ import annotations

from typing import Any

from fairlead.core.codec import clone
from fairlead.model.kind import Json


def merge_patch(current: Json, patch: Json, *, share: bool = False) -> Json:
    """`current` with `patch` merged into it, as a new tree. `share`: only objects that were merged are new, all else is
    as it stands in one of the two."""
    merged: Json = {}
    for key, value in current.items():
        if key not in patch:
            merged[key] = value if share else clone(value)
        else:
            change = patch[key]
            if change is not None:
                merged[key] = _merged(value, change, share)
    for key, change in patch.items():
        if change is not None and key not in current:
            merged[key] = _merged(None, change, share)
    return merged


def _merged(value: Any, change: Any, share: bool) -> Any:
    if type(change) is dict:
        # Also what is new is merged, into nothing: that takes the nulls out of it.
        return merge_patch(value if type(value) is dict else {}, change, share=share)
    return change if share else clone(change)


def patch_between(current: Json, wanted: Json, *, removes: bool = True) -> Json:
    """The patch that makes `wanted` of `current`; {} if they are the same. Without `removes`, fields that `wanted` does
    not name stay as they are."""
    patch: Json = dict.fromkeys(name for name in current if name not in wanted) if removes else {}
    for name, value in wanted.items():
        present = current.get(name)
        if isinstance(value, dict) and isinstance(present, dict):
            inner = patch_between(present, value, removes=removes)
            if inner:
                patch[name] = inner
        elif value != present:
            patch[name] = value
    return patch
