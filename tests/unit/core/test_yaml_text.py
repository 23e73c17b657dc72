"""YAML that clients send is read as Kubernetes reads it, and what is written reads back the same, by anybody."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from fairlead.core import yaml_text
from fairlead.core.errors import BadRequest, TooLarge


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a", "a"), ("yes", True), ("off", False), ("y", True), ("No", False), ("'yes'", "yes"), ("yesterday", "yesterday"), ("oN", "oN"), ("true", True), ("False", False), ("null", None), ("~", None),
        ("", None), ("1", 1), ("-5", -5), ("+7", 7), ("0", 0), ("0644", 420), ("0o17", 15), ("0x1F", 31),
        ("08", "08"), ("1.5", 1.5), ("1.", 1.0), (".5", 0.5), ("1e3", 1000.0), ("1.0.0", "1.0.0"),
        ("1_000", "1_000"), ("10Gi", "10Gi"), ("12:30", "12:30"), ("2026-01-01", "2026-01-01"), (".nan", ".nan"),
        (".inf", ".inf"), ("'1'", "1"), ('"\\u00e9"', "\u00e9"), ("[1, a]", [1, "a"]), ("{b: c}", {"b": "c"}),
        ("<<", "<<"), ("{1: a, true: b, null: c}", {"1": "a", "true": "b", "null": "c"}),
    ],
)  # fmt: skip
def test_plain_values_are_those_of_json_and_all_else_is_text(text: str, value: Any) -> None:
    assert json.loads(yaml_text.to_json(f"x: {text}\n".encode())) == {"x": value}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"a: &x [1]\nb: *x", "anchors or aliases"),
        (b"a: &x 1", "anchors or aliases"),
        (b"a: b: c", "mapping values are not allowed in this context (line 1, column 5)"),
        (b"a: 1\n---\nb: 2", "more than one YAML document"),
        (b"? [a]\n: b", "keys must be texts"),
        (b"[" * 200 + b"]" * 200, "nested too deeply"),
        (b"a: !!python/object:os.system x", "could not determine a constructor"),
        (b"a: " + b"9" * 5000, "cannot be read"),
        (b"\x00", "not valid YAML"),
        (b"a: \xff\xfe", "not valid YAML"),
        (b"{a: secret", "not valid YAML"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_place_and_without_quoting_it(text: bytes, says: str) -> None:
    with pytest.raises(BadRequest) as refused:
        yaml_text.to_json(text)
    assert says in str(refused.value)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (b"a: 1\nb: 2\na: 3", b'{"a":1,"b":2,"a":3}'),
        (b"x: {1: a, '1': {b: c, b: d}}", b'{"x":{"1":"a","1":{"b":"c","b":"d"}}}'),
    ],
)
def test_a_key_given_twice_is_there_twice(text: bytes, found: bytes) -> None:
    assert yaml_text.to_json(text) == found


def test_a_long_document_must_come_as_json() -> None:
    long = b"a:\n" + b"- 1\n" * (yaml_text.NODES_MAX + 1)
    with pytest.raises(TooLarge, match="send it as JSON"):
        yaml_text.to_json(long)
    as_json = json.dumps({"a": [1] * (yaml_text.NODES_MAX + 1)}).encode()
    assert yaml_text.to_json(as_json) is as_json


_LEAF = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
)
_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
_WORDS = st.sampled_from(
    ["yes", "No", "null", "~", "1", "0x1", "2026-01-01", "a: b", "- a", "#", "a #b", "y", " a", "1e3"]
)
_TREES = st.recursive(
    _LEAF | _TEXT | _WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXT | _WORDS, inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(_TEXT | _WORDS, _TREES, max_size=4))
def test_what_is_written_reads_back_the_same(tree: dict[str, Any]) -> None:
    text = yaml_text.from_json(json.dumps(tree).encode())
    assert json.loads(yaml_text.to_json(text)) == tree
    assert yaml.safe_load(text) == tree


@given(st.binary(max_size=200) | _TEXT.map(str.encode))
def test_any_bytes_are_read_or_refused(text: bytes) -> None:
    with suppress(BadRequest):
        json.loads(yaml_text.to_json(text))


def test_a_long_answer_is_json_which_is_yaml() -> None:
    body = json.dumps({"a": "x" * yaml_text.BLOCK_BYTES_MAX}).encode()
    assert yaml_text.from_json(body) == body + b"\n"
