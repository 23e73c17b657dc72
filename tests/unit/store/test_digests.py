"""Digests as they are on disks: another value for the same row would call every older directory damaged."""

from __future__ import annotations

from fairlead.model.key import Key
from fairlead.store import digests

KEY = Key("pods", "default", "é-web")
AT = repr(1763350000.25)


def test_digests_are_those_that_older_rows_have() -> None:
    assert digests.version_digest(12, KEY, "u-1", 0, 7, AT, b'{"a":1}' * 100) == -897290719884618050
    assert digests.pointer_digest(KEY, 12) == -2113394937643923498
    assert digests.note_digest("audit", 3, AT, 12, b"{}") == -2826858377864673740
    assert digests.floor_digest("pods", 4, 5) == 7803098546373722656
    assert digests.row_digest((0, 12, -5, 2**63 - 1, -(2**63))) == 1444002806200273140
