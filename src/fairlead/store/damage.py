"""Stand-ins of damaged objects: what is shown where the stored bytes are not what was written. Pure.

Made by `recovery.py`, recognised by mirrors (`cache/mirror.py`), which treat them as objects that are there and cannot
be understood, and by the API. A stand-in has the object's name, uid and revision, and an annotation that says what is
wrong; its place right behind the revision is where no client can put it, because the annotation is refused in writes.
"""

from __future__ import annotations

import re

import msgspec

from fairlead.model import metadata
from fairlead.model.key import Key
from fairlead.store.contract import Damaged, Entry

ANNOTATION = metadata.DAMAGED
UNKNOWN_UID = "unknown"
DELETE_OPTION = "ignoreStoreReadErrorWithClusterBreakingPotential"  # as Kubernetes calls it

_HEAD = re.compile(rb'\{"apiVersion":"[\w./-]{1,300}","kind":"\w{1,100}","metadata":\{"resourceVersion":"')
_MARK = f'","annotations":{{"{ANNOTATION}":'.encode()
_MARK_WITHIN = 1024  # bytes from the beginning
_NO_HEAD = b'{"apiVersion":"v1","kind":"Damaged","metadata":{"resourceVersion":"'


def head_of(data: object) -> bytes:
    """What stored bytes begin with, up to the revision; b"" if they do not look like it."""
    found = _HEAD.match(data) if isinstance(data, bytes) else None
    return found[0] if found else b""


def stand_in(key: Key, revision: int, uid: str, why: str, head: bytes) -> Entry:
    """`head`: of this object or of a neighbour of its kind, see `head_of`."""
    rest = {"name": key.name, "namespace": key.namespace, "uid": uid}
    if not key.namespace:
        del rest["namespace"]
    encode = msgspec.json.encode
    told = encode(f"{why}; only this can be told of it")
    data = b"%b%d%b%b},%b}" % (head or _NO_HEAD, revision, _MARK, told, encode(rest)[1:])
    return Entry(key, uid, revision, data)


def describe_damage(damaged: Damaged) -> str:
    """What is wrong and what people can do about it."""
    return (
        f"{name_object(damaged.entry.key)} is damaged in the store ({damaged.why}): restore a backup, or delete it with"
        f" the option {DELETE_OPTION}; `fairlead check` tells what a backup has of it"
    )


def name_object(key: Key) -> str:
    return f"{key.resource} {key.namespace}/{key.name}" if key.namespace else f"{key.resource} {key.name}"


def is_stand_in(data: bytes) -> bool:
    return data.find(_MARK, 0, _MARK_WITHIN) >= 0
