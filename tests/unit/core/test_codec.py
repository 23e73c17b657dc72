"""JSON in and out: what is refused and with which position, nesting, repeated keys, copies."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from fairlead.core import codec
from fairlead.core.errors import BadRequest


def nested(levels: int, opening: bytes = b"[", closing: bytes = b"]") -> bytes:
    return opening * levels + closing * levels


@pytest.mark.parametrize(
    ("body", "tree"),
    [
        (b"{}", {}),
        (b' {"a": [1, -2, 1.5, true, null, "x"]} \n', {"a": [1, -2, 1.5, True, None, "x"]}),
        ('{"é": "\\u00e9\\ud83d\\ude00"}'.encode(), {"é": "é😀"}),
        (b'{"a": 1, "a": 2}', {"a": 2}),
        (b"9223372036854775808", 2**63),
        (b"-123456789012345678901234567890", -123456789012345678901234567890),
        (b"1e3", 1000.0),
        (nested(3), [[[]]]),
    ],
)
def test_json_is_read(body: bytes, tree: Any) -> None:
    assert codec.decode(body) == tree


@pytest.mark.parametrize(
    ("body", "part"),
    [
        (b"", "empty"),
        (b"  \n", "empty"),
        (b'{"a": 1', "ends in the middle, after byte 7"),
        (b'{"a": }', "invalid character at byte 6 (line 1, column 7)"),
        (b'{\n  "a": 1,\n  oops\n}', "at byte 14 (line 3, column 3)"),
        (b"{} x", "trailing characters"),
        (b"NaN", "invalid character at byte 0"),
        (b"[Infinity]", "invalid character at byte 1"),
        (b"[-Infinity]", "invalid character at byte 2"),
        (b"1e999", "number out of range"),
        (b"9" * 5000, "integer value out of range"),
        (b'{"a": "\xff"}', "invalid UTF-8 at byte 7 (line 1, column 8)"),
        (b'"\xed\xa0\x80"', "invalid UTF-8 at byte 1"),
        (b'"\\ud800\\ud800"', "surrogate"),
        (b'"\\ud800 and more"', "surrogate"),
        (b'"\x01"', "invalid character at byte 1"),
        (b"\xef\xbb\xbf{}", "invalid character at byte 0"),
        (b"01", "invalid number at byte 1"),
        (b"'a'", "invalid character at byte 0"),
        (b"[1,]", "at byte 3"),
        (b"[" * 50, "ends in the middle"),
        (b"[" * 5000, "nested too deeply"),
        (b"]" * 5000, "invalid character at byte 0"),
    ],
)
def test_what_is_no_json_is_refused_with_its_position(body: bytes, part: str) -> None:
    with pytest.raises(BadRequest) as caught:
        codec.decode(body)
    assert part in str(caught.value)
    assert len(str(caught.value)) < 200


def test_a_lone_surrogate_at_the_end_is_refused() -> None:
    with pytest.raises(BadRequest):
        codec.decode(b'"\\ud800"')


def test_messages_never_quote_the_body() -> None:
    with pytest.raises(BadRequest) as caught:
        codec.decode(b'{"password": "hunter2" oops}')
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("opening", "closing", "per_unit"), [(b"[", b"]", 1), (b'{"a":', b"}", 1), (b'[{"a":', b"}]", 2)]
)
def test_nesting_is_accepted_to_the_limit_and_refused_beyond(
    opening: bytes, closing: bytes, per_unit: int
) -> None:
    within = codec.DEPTH_MAX // per_unit - 1
    codec.decode(opening * within + b"1" + closing * within)
    for units in (codec.DEPTH_MAX // per_unit + 1, 1000, 100_000):
        with pytest.raises(BadRequest, match="nested too deeply"):
            codec.decode(opening * units + b"1" + closing * units)


def test_exactly_the_limit_is_accepted() -> None:
    assert codec.depth(codec.decode(nested(codec.DEPTH_MAX))) == codec.DEPTH_MAX
    with pytest.raises(BadRequest):
        codec.decode(nested(codec.DEPTH_MAX + 1))


@pytest.mark.parametrize(
    "body",
    [
        b'{"a": "' + b"[" * 500 + b'"}',
        b'{"a": "\\"' + b"[" * 500 + b'\\\\"}',
        b"[" + b"{}," * 5000 + b"[]]",
        b'["\\\\", "' + b"{" * 500 + b'", "\\\\\\""]',
    ],
)
def test_brackets_in_strings_and_side_by_side_are_not_nesting(body: bytes) -> None:
    codec.decode(body)


@pytest.mark.parametrize(
    ("body", "paths"),
    [
        (b"{}", []),
        (b'{"a": 1, "b": {"a": 1}}', []),
        (b'{"a": 1, "a": 2}', ["a"]),
        (b'{"a": 1, "a": 2, "a": 3}', ["a"]),
        (b'{"spec": {"replicas": 1, "x": 1, "replicas": 2}}', ["spec.replicas"]),
        (b'{"c": [{"n": 1}, {"n": 1, "n": 2}]}', ["c[1].n"]),
        (b'{"m": {"a.b/c": 1, "a.b/c": 2}}', ['m["a.b/c"]']),
        (b'{"a": {"x": 1, "x": 2}, "a": {"y": 1, "y": 1}}', ["a.x", "a", "a.y"]),
        (b'{"\\u0061": 1, "a": 2}', ["a"]),
        (b"[1, 2]", []),
    ],
)
def test_repeated_keys_are_named_by_path(body: bytes, paths: list[str]) -> None:
    assert codec.duplicate_fields(body) == paths
    assert codec.duplicate_fields(body, tree=codec.decode(body)) == paths


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_a_compact_body_without_repeats_needs_no_second_scan(
    end: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(codec, "_quick", None)
    body = b'{"a":{"b":[1,"x"]}}' + end
    assert codec.duplicate_fields(body, tree=codec.decode(body)) == []


def test_repeated_keys_are_named_up_to_the_limit() -> None:
    body = b"{" + b",".join(b'"k%d": 1, "k%d": 2' % (i, i) for i in range(50)) + b"}"
    assert codec.duplicate_fields(body, 3) == ["k0", "k1", "k2"]


@pytest.mark.parametrize(
    ("path", "key", "expected"),
    [
        ("", "spec", "spec"),
        ("spec", "replicas", "spec.replicas"),
        ("metadata.annotations", "a.b/c", 'metadata.annotations["a.b/c"]'),
        ("data", 'say "hi"', 'data["say \\"hi\\""]'),
        ("data", "", 'data[""]'),
        ("data", "k" * 1000, "data." + "k" * 1000),
    ],
)
def test_paths_quote_keys_that_are_no_words(path: str, key: str, expected: str) -> None:
    assert codec.field_path(path, key)[:1100] == expected


def test_encoding_is_compact_and_keeps_the_order() -> None:
    assert codec.encode({"b": 1, "a": [None, True, "é"]}) == '{"b":1,"a":[null,true,"é"]}'.encode()


def test_digests_differ_when_bytes_do() -> None:
    assert codec.digest(b"a") == codec.digest(b"a") != codec.digest(b"b")
    assert len(codec.digest(b"")) == 32


def test_a_clone_is_equal_and_shares_nothing_mutable() -> None:
    tree: dict[str, Any] = {"a": [{"b": "c", "n": 1}, []], "d": {"e": {}}, "f": None}
    saved = copy.deepcopy(tree)
    other = codec.clone(tree)
    assert other == tree
    other["a"][0]["b"] = "changed"
    other["a"][1].append(1)
    other["d"]["e"]["x"] = 1
    assert tree == saved


@pytest.mark.parametrize(
    ("tree", "levels"), [(1, 0), ("x", 0), ({}, 1), ([], 1), ({"a": [{}]}, 3), ([1, [2], {"a": []}], 3)]
)
def test_depth_counts_levels_of_containers(tree: Any, levels: int) -> None:
    assert codec.depth(tree) == levels
