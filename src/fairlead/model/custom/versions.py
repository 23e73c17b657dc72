"""Which of several versions of an API comes first: stable before beta before alpha, newer before older, then others.

Used by `model/served.py` for discovery and by `model/custom/kinds.py` for the order of a definition's versions.
"""

from __future__ import annotations

import re

_VERSION = re.compile(r"v([1-9][0-9]{0,8})(?:(alpha|beta)([1-9][0-9]{0,8}))?\Z")
_STAGES = {None: 0, "beta": 1, "alpha": 2}


def precedence(version: str) -> tuple[int, int, int, str]:
    """A key to sort by: what is preferred sorts first."""
    found = _VERSION.match(version)
    if found is None:
        return 3, 0, 0, version
    major, stage, minor = found.groups()
    return _STAGES[stage], -int(major), -int(minor or 0), ""
