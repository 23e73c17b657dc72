"""What is wrong with an expression is said when it is written, with the place."""

from __future__ import annotations

import pytest

from fairlead.model.cel.errors import ExpressionError
from fairlead.model.cel.program import PATCHES, compile_expression
from fairlead.model.cel.static import DYN, Fields, StaticType


@pytest.mark.parametrize(
    ("text", "place", "why"),
    [
        ("object.spec.replicas <", "1:23", "mismatched input '<EOF>'"),
        ("object.spec..a", "1:13", "'.' is no name of a field"),
        ("object.spec = 1", "1:13", "token recognition error at: '='"),
        ("a == 1", "1:1", "undeclared reference to 'a'"),
        ("true &&\n  b", "2:3", "undeclared reference to 'b'"),
        ("frobnicate(object)", "1:1", "undeclared reference to 'frobnicate'"),
        ("math.greatest(1, 2) > 0", "1:5", "undeclared reference to 'math.greatest'"),
        ("object.name.startsWith()", "1:12", "'startsWith' does not take 0 arguments"),
        ("1 + 'a' == 2", "1:3", "found no matching overload for '_+_' applied to '(int, string)'"),
        ("1 == 'a'", "1:3", "found no matching overload for '_==_' applied to '(int, string)'"),
        ("1 < 'a'", "1:3", "found no matching overload for '_<_' applied to '(int, string)'"),
        ("!1", "1:1", "found no matching overload for '!_' applied to '(int)'"),
        ("1 && true", "1:1", "found no matching overload for '_&&_' applied to '(int)'"),
        ("'a'.isSorted()", "1:4", "found no matching overload for 'isSorted' applied to '(string)'"),
        ("'a'.b", "1:4", "type 'string' does not support field selection"),
        ("'a'.all(x, true)", "1:4", "cannot be range of a comprehension"),
        ("[1].all(x, 1)", "1:12", "expected type 'bool' but found 'int'"),
        ("[1].all(x.y, true)", "1:10", "argument must be a simple name"),
        ("has(object)", "1:1", "invalid argument to has() macro"),
        ("object.spec.replicas + 1 == 2 ? 'a' : 'b'", "1:1", "must evaluate to bool, not to string"),
        ("size(object.a)", "1:1", "must evaluate to bool, not to int"),
        ("Object{a: 1} == Object{}", "1:7", "undeclared reference to 'Object'"),
        ("variables.other", "1:10", "undefined field 'other'"),
        ("'abc", "1:1", "a string is not closed"),
        ("'\\q'", "1:1", "unknown escape sequence"),
        ("for == 1", "1:1", "reserved identifier: for"),
        ("99999999999999999999", "1:1", "invalid int literal"),
        ("{true: 1} == {}", "1:2", "unsupported key type: bool"),
    ],
)
def test_a_wrong_expression_is_refused_with_the_place(text: str, place: str, why: str) -> None:
    scope = {"object": DYN, "variables": Fields({"known": StaticType("int")})}
    with pytest.raises(ExpressionError) as caught:
        compile_expression(text, scope, frozenset({"bool"}))
    assert str(caught.value).startswith(f"ERROR: <input>:{place}: ")
    assert why in str(caught.value)


def test_objects_and_patches_are_made_only_where_they_may_be() -> None:
    compile_expression("Object{spec: Object.spec{a: 1}}", {}, frozenset({"Object"}), frozenset({"Object"}))
    compile_expression("[JSONPatch{op: 'remove', path: '/a'}]", {}, frozenset({"list"}), PATCHES)
    with pytest.raises(ExpressionError, match="JSONPatch has op, path, from and value"):
        compile_expression("[JSONPatch{operation: 'remove'}]", {}, frozenset({"list"}), PATCHES)
    with pytest.raises(ExpressionError, match="undeclared reference to 'JSONPatch'"):
        compile_expression("JSONPatch{op: 'remove'}", {}, frozenset(), frozenset({"Object"}))
