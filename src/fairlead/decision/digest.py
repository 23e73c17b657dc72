"""The digest of a decision: what running it again must give (laws.md 2 and 9).

    digest_of(decision) -> 16 hex digits over its verdict, its effects and when to look again

`control/record.py` puts it into the record of a turn; `replay/` compares. Events for people, measured inputs and rests
are not in it: nothing is carried out by them. Pure, and it never fails: a decision that cannot be put into words has no
digest ("").
"""

from __future__ import annotations

from hashlib import blake2b

import msgspec

from fairlead.decision.contract import SETTLED, Decision

_encode = msgspec.json.Encoder().encode


def _digest(decision: Decision) -> str:
    told = _encode((decision.verdict, decision.effects, decision.again_at))
    return blake2b(told, digest_size=8).hexdigest()


_SETTLED = _digest(Decision())


def digest_of(decision: Decision) -> str:
    if not decision.effects and decision.verdict is SETTLED and not decision.again_at:
        return _SETTLED  # what most turns come to
    try:
        return _digest(decision)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return ""
