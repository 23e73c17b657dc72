"""A captured incident that was edited, with a checksum made anew: what is wrong with it is said, and never a traceback."""

from __future__ import annotations

import gzip
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fairlead.core.errors import UsageError
from fairlead.replay.artifact import read_artifact

Json = dict[str, Any]
CAPTURED = Path(__file__).parents[2] / "incidents" / "duplicate-reservation.incident.gz"
LINES: list[bytes] = gzip.decompress(CAPTURED.read_bytes()).splitlines()[:-1]
decode, encode = msgspec.json.decode, msgspec.json.encode


def read(lines: list[bytes]) -> object:
    body = b"".join(line + b"\n" for line in lines)
    checksum = blake2b(body, digest_size=16).hexdigest()
    return read_artifact(body + encode({"end": {"lines": len(lines), "checksum": checksum}}) + b"\n")


def edited(stream: str, has: str, **fields: Any) -> list[bytes]:
    """The first line of a log that has this field, with others; one that is None is taken away."""
    lines = list(LINES)
    for place, line in enumerate(lines):
        told = decode(line).get("line")
        if told is not None and told[0] == stream and has in told[2]:
            body: Json = {**told[2], **fields}
            told[2] = {name: value for name, value in body.items() if value is not None}
            lines[place] = encode({"line": told})
            return lines
    raise AssertionError(f"no line of {stream} has {has}")


def test_what_a_plane_wrote_is_well_formed() -> None:
    read(LINES)


@pytest.mark.parametrize(
    ("stream", "has", "fields", "said"),
    [
        ("decisions", "digest", {"time": None}, "of its log decisions: .*`time`"),
        ("decisions", "digest", {"time": {"a": 1}}, r"of its log decisions: .*\$\.time"),
        ("decisions", "digest", {"time": "9999-99-99T00:00:00Z"}, "of its log decisions: .*parsing time"),
        ("decisions", "digest", {"object": None}, "of its log decisions: .*a decision names its object"),
        ("decisions", "digest", {"reads": {"pods": 3}}, r"of its log decisions: .*\$\.reads"),
        ("decisions", "term", {"flags": None}, "of its log decisions: .*names its flags"),
        ("decisions", "pods", {"policy": None}, "of its log decisions: .*names its policy and what it read"),
        ("turns", "digest", {"id": 7}, r"of its log turns: .*\$\.id"),
        ("audit", "user", {"object": []}, r"of its log audit: .*\$\.object"),
        ("audit", "user", {"revision": "x"}, r"of its log audit: .*\$\.revision"),
        ("deliveries", "tape", {"tape": [[""]]}, r"of its log deliveries: .*\$\.tape"),
    ],
)
def test_a_line_of_a_log_that_was_edited_is_named(stream: str, has: str, fields: Json, said: str) -> None:
    with pytest.raises(UsageError, match=f"the artifact cannot be read: line [0-9]+ {said}"):
        read(edited(stream, has, **fields))


def test_an_object_without_what_every_object_has_is_named() -> None:
    place = next(place for place, line in enumerate(LINES) if line.startswith(b'{"change"'))
    change = decode(LINES[place])["change"]
    values: tuple[Any, ...] = ({}, [], {"metadata": {"name": "x"}})
    for value in values:
        lines = list(LINES)
        lines[place] = encode({"change": [*change[:4], value]})
        with pytest.raises(
            UsageError, match=f"its object {'/'.join(filter(None, change[1]))} at {change[3]}: "
        ):
            read(lines)


@pytest.mark.parametrize(("name", "said"), [("ends", "tells no end of "), ("since", "its head, since: ")])
def test_a_head_without_its_bounds_is_refused(name: str, said: str) -> None:
    head = decode(LINES[0])["head"]
    with pytest.raises(UsageError, match=said):
        read([encode({"head": {**head, name: {} if name == "ends" else ""}}), *LINES[1:]])


def test_a_log_that_no_plane_keeps_is_refused() -> None:
    with pytest.raises(UsageError, match="there is no log 'rumours'"):
        read([*LINES, encode({"line": ["rumours", 1, {}]})])
