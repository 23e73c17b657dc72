"""Label and field selectors: read from query strings or LabelSelector objects, compiled to plain functions.

`api/` parses `labelSelector=` and `fieldSelector=` of list, watch and deletecollection; controllers and the
scheduler compile `spec.selector` objects; kinds validate them. A selector is frozen and can be a cache key;
its `matches` is a closure that looks at labels only.

Two rules that surprise: `!=` and `notin` also match objects without the key, and an empty selector matches
everything while a missing (None) LabelSelector object matches nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from fairlead.core.errors import BadRequest
from fairlead.core.problems import Problems, show
from fairlead.model.kind import Json
from fairlead.model.names import label_key_problems, label_value_problems

Labels = Mapping[str, str]
Matches = Callable[[Labels], bool]

_INT64 = range(-(2**63), 2**63)
_INTEGER = re.compile(r"[+-]?[0-9]{1,20}")
_TOKEN = re.compile(r"\s*(==|!=|[()!=<>,]|[^\s()!=<>,]+|$)")
_SYMBOLS = frozenset(("==", "!=", "(", ")", "!", "=", "<", ">", ",", ""))
# Field selectors: a piece is what stands between unescaped commas; a term is field, operator and value.
_PIECE = re.compile(r"(?:[^\\,]|\\.|\\$)+", re.DOTALL)
_TERM = re.compile(r"((?:[^\\=!]|\\.|!(?!=))*)(!=|==|=)(.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(.?)|=", re.DOTALL)
_SPECIAL = re.compile(r"([\\,=])")
_OBJECT_OPERATORS = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}


class Requirement(NamedTuple):
    """One condition on one label. `operator` is of: in, notin, exists, !, >, <. Values are sorted, unique."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.operator == "exists":
            return self.key
        if self.operator == "!":
            return f"!{self.key}"
        if self.operator in "<>":
            return f"{self.key}{self.operator}{self.values[0]}"
        if len(self.values) == 1:
            return f"{self.key}{'=' if self.operator == 'in' else '!='}{self.values[0]}"
        return f"{self.key} {self.operator} ({','.join(self.values)})"


@dataclass(frozen=True, slots=True)
class LabelMatcher:
    """Conditions that must all hold."""

    requirements: tuple[Requirement, ...]
    matches: Matches = field(compare=False, repr=False)

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))

    def __bool__(self) -> bool:
        """False when it lets everything through."""
        return bool(self.requirements)

    def __call__(self, labels: Labels) -> bool:
        return self.matches(labels)


def label_selector(requirements: Iterable[Requirement]) -> LabelMatcher:
    ordered = tuple(sorted(requirements))
    return LabelMatcher(ordered, _compiled(ordered))


def _everything(labels: Labels) -> bool:
    return True


def _nothing(labels: Labels) -> bool:
    return False


EVERYTHING = LabelMatcher((), _everything)
NOTHING = LabelMatcher((Requirement("", "in"),), _nothing)


def _compiled(requirements: tuple[Requirement, ...]) -> Matches:
    """One closure for all. Equalities, which most selectors consist of, are compared without a call each."""
    if not requirements:
        return _everything
    equal = tuple((key, values[0]) for key, op, values in requirements if op == "in" and len(values) == 1)
    other = tuple(_test(each) for each in requirements if each.operator != "in" or len(each.values) != 1)

    def matches(labels: Labels) -> bool:
        for key, value in equal:
            if labels.get(key) != value:
                return False
        return all(test(labels) for test in other)

    return matches


def _test(requirement: Requirement) -> Matches:
    key, operator, values = requirement
    if operator == "exists":
        return lambda labels: key in labels
    if operator == "!":
        return lambda labels: key not in labels
    allowed = frozenset(values)
    if operator == "in":
        return lambda labels: labels.get(key) in allowed
    if operator == "notin":
        return lambda labels: labels.get(key) not in allowed
    bound = _integer(values[0])
    if bound is None:
        return _nothing  # what is no number is neither more nor less
    if operator == ">":
        return lambda labels: (number := _integer(labels.get(key))) is not None and number > bound
    return lambda labels: (number := _integer(labels.get(key))) is not None and number < bound


def _integer(text: str | None) -> int | None:
    if text is None or not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if number in _INT64 else None


class _Reader:
    """The tokens of a selector string, one ahead."""

    __slots__ = ("end", "position", "text", "token")

    def __init__(self, text: str) -> None:
        self.text = text
        self.end = 0
        self.position = 0
        self.token = ""
        self.next()

    def next(self) -> str:
        """The token that was ahead; the one after it is now."""
        passed = self.token
        found = _TOKEN.match(self.text, self.end)
        if found is None:
            raise self.wrong("a label key, an operator or a value")
        self.token, self.position, self.end = found[1], found.start(1), found.end()
        return passed

    def word(self, expected: str) -> str:
        if self.token in _SYMBOLS:
            raise self.wrong(expected)
        return self.next()

    def wrong(self, expected: str) -> BadRequest:
        found = f"found '{self.token}' at character {self.position + 1}" if self.token else "found the end"
        return BadRequest(
            f"unable to parse requirement: {found}, expected: {expected} (in the selector {show(self.text)})"
        )


@lru_cache(maxsize=1024)
def parse_labels(text: str) -> LabelMatcher:
    """A selector such as "a=b,c!=d,e in (x,y),f notin (z),g,!h,i>1", or BadRequest saying what it lacks."""
    reader = _Reader(text)
    if not reader.token:
        return EVERYTHING
    requirements = [_requirement(reader)]
    while reader.token:
        if reader.token != ",":
            raise reader.wrong("',' or the end")
        reader.next()
        if reader.token in _SYMBOLS and reader.token != "!":
            raise reader.wrong("a label key after ','")
        requirements.append(_requirement(reader))
    return label_selector(requirements)


def _requirement(reader: _Reader) -> Requirement:
    negated = reader.token == "!"
    if negated:
        reader.next()
    key = reader.word("a label key, '!' or the end")
    _checked(label_key_problems(key), key)
    if negated:
        return Requirement(key, "!")
    if reader.token in ("", ","):
        return Requirement(key, "exists")
    operator = reader.token
    if operator not in ("=", "==", "!=", "in", "notin", ">", "<"):
        raise reader.wrong("in, notin, =, ==, !=, >, <")
    reader.next()
    if operator in ("in", "notin"):
        return Requirement(key, operator, _values(reader, key))
    value = "" if reader.token in ("", ",") else reader.word("a label value")
    if operator in "<>":
        if _integer(value) is None:
            raise BadRequest(
                f"unable to parse requirement: {show(value)} is not an integer: '{key}{operator}' needs one"
            )
        return Requirement(key, operator, (value,))
    _checked(label_value_problems(value), value)
    return Requirement(key, "notin" if operator == "!=" else "in", (value,))


def _values(reader: _Reader, key: str) -> tuple[str, ...]:
    """The values in parentheses. As in Kubernetes, nothing between two commas is the empty value."""
    if reader.token != "(":
        raise reader.wrong("'('")
    values = set()
    while reader.token != ")":
        reader.next()
        value = "" if reader.token in (",", ")") else reader.word("a label value, ',' or ')'")
        _checked(label_value_problems(value), value)
        values.add(value)
        if reader.token not in (",", ")"):
            raise reader.wrong("',' or ')'")
    reader.next()
    return tuple(sorted(values))


def _checked(problems: list[str], text: str) -> None:
    if problems:
        raise BadRequest(f"unable to parse requirement: Invalid value: {show(text)}: {'; '.join(problems)}")


def from_object(selector: Json | None) -> LabelMatcher:
    """A LabelSelector object, compiled. Raises ValueError if its operators or values make no sense."""
    if selector is None:
        return NOTHING
    requirements = [
        Requirement(key, "in", (value,)) for key, value in (selector.get("matchLabels") or {}).items()
    ]
    for expression in selector.get("matchExpressions") or ():
        operator = _OBJECT_OPERATORS.get(expression.get("operator", ""))
        values = tuple(sorted(set(expression.get("values") or ())))
        if operator is None:
            raise ValueError(f"{show(expression.get('operator'))} is not a valid label selector operator")
        if bool(values) != (operator in ("in", "notin")):
            raise ValueError(f"values are for the operators In and NotIn only, and needed there: {operator}")
        requirements.append(Requirement(expression.get("key", ""), operator, values))
    return label_selector(requirements) if requirements else EVERYTHING


def matches_label_selector(selector: Json | None, labels: Labels) -> bool:
    """Whether a LabelSelector object selects these labels. Whoever asks often keeps `from_object(...)`."""
    return from_object(selector).matches(labels)


def validate_label_selector(selector: Json | None, path: str, problems: Problems) -> None:
    """Every problem of a LabelSelector object, with field paths."""
    if selector is None:
        return
    at = f"{path}.matchLabels"
    for key, value in (selector.get("matchLabels") or {}).items():
        for text in label_key_problems(key):
            problems.invalid(at, key, text)
        for text in label_value_problems(value):
            problems.invalid(f"{at}[{key}]", value, text)
    for index, expression in enumerate(selector.get("matchExpressions") or ()):
        _validate_expression(expression, f"{path}.matchExpressions[{index}]", problems)


def _validate_expression(expression: Json, path: str, problems: Problems) -> None:
    operator, key = expression.get("operator", ""), expression.get("key", "")
    values = expression.get("values") or ()
    if operator in ("In", "NotIn"):
        if not values:
            problems.required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            problems.forbidden(
                f"{path}.values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            )
    else:
        problems.invalid(
            f"{path}.operator",
            operator,
            "not a valid selector operator: must be one of In, NotIn, Exists, DoesNotExist",
        )
    for text in label_key_problems(key):
        problems.invalid(f"{path}.key", key, text)
    for index, value in enumerate(values):
        for text in label_value_problems(value):
            problems.invalid(f"{path}.values[{index}]", value, text)


class FieldRequirement(NamedTuple):
    """One condition of a field selector: the field has this value, or has not."""

    field: str
    equal: bool
    value: str

    def __str__(self) -> str:
        return f"{self.field}{'=' if self.equal else '!='}" + _SPECIAL.sub(r"\\\1", self.value)


@lru_cache(maxsize=1024)
def parse_fields(text: str) -> tuple[FieldRequirement, ...]:
    """A field selector such as "metadata.name=x,status.phase!=Running"; BadRequest names what can't be read.

    A comma, an equals sign or a backslash inside a value has a backslash before it.
    """
    requirements = []
    for piece in _PIECE.findall(text):
        term = _TERM.fullmatch(piece)
        if term is None:
            raise BadRequest(
                f"invalid field selector: can't understand {show(piece)} in {show(text)}: "
                "write field=value or field!=value, joined by commas"
            )
        requirements.append(FieldRequirement(term[1].strip(), term[2] != "!=", _unescaped(term[3])))
    return tuple(requirements)


def _unescaped(value: str) -> str:
    def plain(found: re.Match[str]) -> str:
        if found[1] not in ("\\", ",", "="):
            raise BadRequest(
                f"invalid field selector: {show(value)}: a comma, an equals sign or a backslash in a value "
                "needs a backslash before it, and nothing else may have one"
            )
        return found[1]

    return _ESCAPE.sub(plain, value)


def field_matcher(
    requirements: Iterable[FieldRequirement], readers: Mapping[str, Callable[[Json], str]]
) -> Callable[[Json], bool]:
    """The conditions as one function over objects; BadRequest for a field that has no reader."""
    tests = []
    for field_name, equal, value in requirements:
        reader = readers.get(field_name)
        if reader is None:
            known = ", ".join(sorted(readers))
            raise BadRequest(f"field label not supported: {show(field_name)}: supported fields: {known}")
        tests.append((reader, equal, value))
    return lambda obj: all((reader(obj) == value) is equal for reader, equal, value in tests)
