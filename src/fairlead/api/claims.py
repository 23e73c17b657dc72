"""Claims: what only one object may have (an address, a port) is a key of the store of its own, held by that object.

A write that takes something puts the claim under the condition that there is none; the write that gives it up deletes
it. Both are part of the write's own transaction, so that two who took the same at once, through whichever server, do
not both commit: the second is planned again and sees the first. Used by admission (`admission/services.py`). Claims
are no kind of the API: nobody lists or changes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from itertools import chain

import msgspec

from fairlead.api.attempt import Attempt
from fairlead.model.key import Key
from fairlead.store.contract import Absent, Entry, Put, Reader, Remove

CLAIMS = "claims.fairlead.dev"

_HEAD = b'{"apiVersion":"fairlead.dev/v1","kind":"Claim","metadata":{"resourceVersion":"'


def key_of(what: str, name: str) -> Key:
    """`what` sorts them: addresses are apart from ports."""
    return Key(CLAIMS, "", f"{what}-{name}")


def is_about(key: Key, what: str) -> bool:
    return key.name.startswith(f"{what}-")


def claimed_value(key: Key) -> str:
    return key.name.partition("-")[2]


def find_claim(read: Reader, key: Key) -> Entry | None:
    """The claim as it would be judged now, whoever has it: its uid is the holder's."""
    return read.newest(key)


def take(attempt: Attempt, key: Key) -> None:
    """For the object that is written. Nobody has it, as far as is known now."""
    assert attempt.new is not None
    attempt.preconditions.append(Absent(key))
    attempt.operations.append(_put(key, attempt.new["metadata"]["uid"], attempt.key))


def take_if_free(attempt: Attempt, key: Key) -> bool:
    if find_claim(attempt.read, key) is not None:
        return False
    take(attempt, key)
    return True


def first_free(attempt: Attempt, candidates: Iterable[Key]) -> Key | None:
    return next((key for key in candidates if find_claim(attempt.read, key) is None), None)


def numbers(attempt: Attempt, first: int, band: int, end: int) -> Iterator[int]:
    """All from `first` to before `end`: from somewhere at or after `band` round to there, then what is below `band`."""
    digest = blake2b(attempt.context.entropy, digest_size=8, person=b"claim").digest()
    start = band + int.from_bytes(digest) % (end - band)
    return chain(range(start, end), range(band, start), range(first, band))


def give_up(attempt: Attempt, key: Key) -> None:
    """No longer the written object's, if it was."""
    assert attempt.new is not None
    uid = attempt.new["metadata"]["uid"]
    found = find_claim(attempt.read, key)
    if found is not None and found.uid == uid:
        put = _put(key, uid, attempt.key)
        attempt.operations.append(Remove(key, uid, put.head, put.tail))


def _put(key: Key, uid: str, by: Key) -> Put:
    rest = {"name": key.name, "uid": uid, "annotations": {"fairlead.dev/holder": "/".join(by)}}
    return Put(key, uid, _HEAD, b'",' + msgspec.json.encode(rest)[1:] + b"}")
