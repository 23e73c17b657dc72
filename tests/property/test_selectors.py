"""Selectors: what is printed reads back the same, and matching equals a naive reading of the rules."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fairlead.core.errors import BadRequest
from fairlead.model.selectors import (
    FieldRequirement,
    Requirement,
    from_object,
    label_selector,
    parse_fields,
    parse_labels,
)

KEYS = st.sampled_from(["a", "b", "c", "x.io/d", "in", "notin"])
WORDS = st.sampled_from(["", "x", "y", "1", "2", "10", "-3x", "in"]).filter(
    lambda word: not word.startswith("-")
)
VALUES = st.lists(WORDS, min_size=1, max_size=3).map(lambda words: tuple(sorted(set(words))))
LABELS = st.dictionaries(KEYS, WORDS, max_size=4)
REQUIREMENTS = st.one_of(
    st.builds(Requirement, KEYS, st.sampled_from(["in", "notin"]), VALUES),
    st.builds(Requirement, KEYS, st.sampled_from(["exists", "!"]), st.just(())),
    st.builds(Requirement, KEYS, st.sampled_from([">", "<"]), st.integers(-5, 20).map(lambda n: (str(n),))),
)


def holds(requirement: Requirement, labels: dict[str, str]) -> bool:
    key, operator, values = requirement
    if operator == "in":
        return key in labels and labels[key] in values
    if operator == "notin":
        return not (key in labels and labels[key] in values)
    if operator == "exists":
        return key in labels
    if operator == "!":
        return key not in labels
    if key not in labels or not labels[key].isdigit():
        return False
    return int(labels[key]) > int(values[0]) if operator == ">" else int(labels[key]) < int(values[0])


@given(st.lists(REQUIREMENTS, max_size=5), LABELS)
def test_matching_equals_the_naive_reading_also_after_printing_and_reading_back(
    requirements: list[Requirement], labels: dict[str, str]
) -> None:
    selector = label_selector(requirements)
    expected = all(holds(each, labels) for each in requirements)
    assert selector.matches(labels) is expected
    again = parse_labels(str(selector))
    assert again == selector
    assert again.matches(labels) is expected


@given(st.lists(REQUIREMENTS.filter(lambda each: each.operator not in "<>"), max_size=4), LABELS)
def test_objects_match_like_the_text(requirements: list[Requirement], labels: dict[str, str]) -> None:
    names = {"in": "In", "notin": "NotIn", "exists": "Exists", "!": "DoesNotExist"}
    expressions = [
        {"key": key, "operator": names[operator], **({"values": list(values)} if values else {})}
        for key, operator, values in requirements
    ]
    compiled = from_object({"matchExpressions": expressions})
    assert compiled == label_selector(requirements)
    assert compiled.matches(labels) is label_selector(requirements).matches(labels)


@given(st.text(alphabet="ab,=!()<>in not \t1-/\\", max_size=20))
def test_any_text_is_a_selector_or_a_bad_request(text: str) -> None:
    try:
        selector = parse_labels(text)
    except BadRequest:
        return
    assert parse_labels(str(selector)) == selector


@given(
    st.lists(
        st.builds(
            FieldRequirement, st.sampled_from(["a", "status.phase"]), st.booleans(), st.text(max_size=8)
        )
    )
)
def test_field_selectors_read_back_what_they_print(requirements: list[FieldRequirement]) -> None:
    assert parse_fields(",".join(map(str, requirements))) == tuple(requirements)
