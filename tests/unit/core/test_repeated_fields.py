"""The quick test for fields given twice agrees with the scan that names them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.core import codec
from fairlead.core.errors import BadRequest

trees = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    "body",
    [
        b'{"a":1,"a":2}',
        b'{"a" : 1, "b": {"c":[], "c" : ["x"]}}',
        b'{"x":"\\u0022:","a":1,"a":2}',
        b'{"":1,"":2}',
    ],
)
def test_a_repeated_field_is_never_overlooked(body: bytes) -> None:
    assert codec.may_repeat_fields(body, codec.decode(body))
    assert codec.duplicate_fields(body)


@given(trees, st.booleans(), st.sampled_from([None, 1, 3]))
def test_bodies_without_repetition_pass_unless_a_quote_is_spelt_in_an_escape(
    tree: object, ascii_only: bool, indent: int | None
) -> None:
    body = json.dumps({"k": tree}, ensure_ascii=ascii_only, indent=indent).encode("utf-8", "surrogatepass")
    try:
        decoded = codec.decode(body)
    except BadRequest:
        return
    assert not codec.may_repeat_fields(body, decoded)
