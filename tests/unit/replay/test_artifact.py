"""An artifact is read as it was written, and whatever is wrong with a file is said in words."""

from __future__ import annotations

from hashlib import blake2b

import msgspec
import pytest

from fairlead.core.errors import FormatError, UsageError
from fairlead.replay.artifact import (
    LIVE,
    Artifact,
    ArtifactHead,
    RecordedChange,
    RecordedController,
    RecordedLine,
    RecordedObject,
    read_artifact,
    write_artifact,
)

HEAD = ArtifactHead(
    fairlead="0.2.0", python="3.11.7", world="tiny", invariant="one-leader", digest="ab", seed=7
)
ARTIFACT = Artifact(
    head=HEAD,
    scenario={"name": "tiny", "planes": 2},
    faults={"kind": "Faults"},
    controllers=(RecordedController("replicaset", ("pods",), "0.2.0"),),
    objects=(RecordedObject(("pods", "default", "web"), "u-1", 4, msgspec.Raw(b'{"kind":"Pod"}')),),
    choices=(("call", "plane-0 x", 3, 4, 2, True), ("watch.lag", "plane-0 pods", 0, 12_000, 11_999, False)),
    steps=(
        (0, "people", "asks", "create pods", "", -1),
        (5, "server", "committed", "1 pods", '{"a":"<é>"}', 0),
    ),
)
TIME = "2026-11-18T19:56:43.149991Z"
ODD = b'{"metadata":{"name":"web","resourceVersion":"9"},"n":1e400}'
LINES = write_artifact(ARTIFACT).splitlines(keepends=True)


def sealed(*lines: bytes) -> bytes:
    """With an end whose checksum is right, whatever the lines are."""
    body = b"".join(lines)
    checksum = blake2b(body, digest_size=16).hexdigest()
    return body + msgspec.json.encode({"end": {"lines": len(lines), "checksum": checksum}}) + b"\n"


def test_an_artifact_is_read_as_it_was_written() -> None:
    assert read_artifact(write_artifact(ARTIFACT)) == ARTIFACT
    assert sealed(*LINES[:-1]) == write_artifact(ARTIFACT)


def test_every_line_is_one_named_thing_in_json() -> None:
    names = [next(iter(msgspec.json.decode(line))) for line in LINES]
    assert names == [
        "head",
        "scenario",
        "faults",
        "controller",
        "object",
        *["choice"] * 2,
        *["step"] * 2,
        "end",
    ]


def test_a_controller_of_an_older_file_has_no_version() -> None:
    older = [line.replace(b',"version":"0.2.0"', b"") for line in LINES[:-1]]
    assert older != LINES[:-1]
    assert read_artifact(sealed(*older)).controllers == (RecordedController("replicaset", ("pods",)),)


def test_line_ends_of_another_system_do_no_harm() -> None:
    assert read_artifact(write_artifact(ARTIFACT).replace(b"\n", b"\r\n")) == ARTIFACT


@pytest.mark.parametrize("length", range(0, len(b"".join(LINES)) - 1, 37))
def test_a_file_that_is_cut_off_anywhere_is_refused(length: int) -> None:
    with pytest.raises(UsageError, match=r"is empty|is no artifact|is cut off"):
        read_artifact(b"".join(LINES)[:length])


@pytest.mark.parametrize("at", range(30, sum(map(len, LINES[:-1])), 41))
def test_a_byte_that_is_changed_anywhere_is_noticed(at: int) -> None:
    data = bytearray(b"".join(LINES))
    data[at] = data[at] ^ 1
    with pytest.raises((UsageError, FormatError)):
        read_artifact(bytes(data))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is empty"),
        (b"\x00\xff\xfe", "no artifact"),
        (b"[]\n[]\n", "no artifact"),
        (b'{"head": 3}\n', "no artifact"),
        (b"apiVersion: v1\nkind: Pod\n", "no artifact"),
        (LINES[0] + b'{"end": 5}\n', "cut off"),
        (LINES[0] + b'{"end": {"checksum": "00"}}\n', "was changed"),
        (sealed(*LINES[:2], b"nonsense\n"), "line 3 is not JSON"),
        (sealed(*LINES[:2], b"[1]\n"), "line 3 is not one named thing"),
        (sealed(*LINES[:2], b'{"rumour": 1}\n'), "line 3 is a 'rumour', which this release does not know"),
        (sealed(*LINES[:2]), "has no line `faults`"),
        (sealed(*LINES[:3], b'{"step": ["soon"]}\n'), r"cannot be read: line 4, its step"),
        (sealed(*LINES[:3], b'{"object": {"uid": 1}}\n'), r"cannot be read: line 4, its object"),
    ],
)
def test_what_is_wrong_is_said(data: bytes, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        read_artifact(data)


def test_a_later_format_is_told_before_anything_else_is_looked_at() -> None:
    later = LINES[0].replace(b'"format":2', b'"format":3')
    with pytest.raises(
        FormatError, match=r"format 3 and is of fairlead 0\.2\.0; this release reads formats up to 2"
    ):
        read_artifact(later + b"in another way\n")


def test_a_file_of_the_first_format_is_read() -> None:
    older = LINES[0].replace(b'"format":2', b'"format":1')
    assert read_artifact(sealed(older, *LINES[1:-1])).steps == ARTIFACT.steps


def test_what_a_live_plane_left_is_read_as_it_was_written() -> None:
    live = Artifact(
        head=ArtifactHead(
            fairlead="0.2.0",
            python="3.11.7",
            origin=LIVE,
            since=TIME,
            until=TIME,
            starts={"pods": 4},
            ends={"pods": 9},
        ),
        changes=(RecordedChange("DELETED", ("pods", "default", "web"), "u-1", 9, msgspec.Raw(ODD)),),
        lines=(
            RecordedLine(
                "decisions", 7, msgspec.Raw(b'{"id":"a-1","time":"%b","controller":"x"}' % TIME.encode())
            ),
        ),
    )
    again = read_artifact(write_artifact(live))
    assert again == live
    assert bytes(again.changes[0].value) == ODD
