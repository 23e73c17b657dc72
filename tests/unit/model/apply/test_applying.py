"""Applying: who ends up with what, who is in the way, and what is removed. Pure, on ConfigMaps and pods."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.model.apply.applying import Applied, ConflictsError, apply_configuration
from fairlead.model.apply.managers import APPLY, UPDATE, ManagedFieldsEntry, Who
from fairlead.model.apply.rules import Rules
from fairlead.model.apply.sets import path_text, paths
from fairlead.model.files import load_tables

RULES = Rules(load_tables())
KIND = RULES.of("ConfigMap")


def cm(**data: str) -> Any:
    return {"data": data} if data else {}


def apply(live: Any, entries: Any, config: Any, name: str = "one", now: str = "t", **options: Any) -> Applied:
    return apply_configuration(
        KIND, live, config, entries, Who(name, APPLY, "v1"), now, lambda fields: fields, **options
    )


def owners(found: Applied) -> dict[str, str]:
    return {
        f"{each.who.manager} {each.who.operation}": " ".join(path_text(path) for path in paths(each.fields))
        for each in found.entries
    }


def test_one_applier_owns_what_it_names_and_removes_what_it_no_longer_does() -> None:
    first = apply({}, (), cm(a="1", b="1"))
    assert (first.tree, owners(first)) == (cm(a="1", b="1"), {"one Apply": ".data.a .data.b"})
    second = apply(first.tree, first.entries, cm(a="2"))
    assert (second.tree, owners(second)) == (cm(a="2"), {"one Apply": ".data.a"})
    nothing = apply(second.tree, second.entries, cm())
    assert (nothing.tree, nothing.entries) == ({}, ())


def test_applying_the_same_again_changes_nothing_not_even_the_time() -> None:
    first = apply({}, (), cm(a="1"), now="then")
    again = apply(first.tree, first.entries, cm(a="1"), now="now")
    assert again == first
    assert apply(first.tree, first.entries, cm(a="2"), now="now").entries[0].time == "now"


@pytest.mark.parametrize("items", [["a"], ["a", "b"], []])
def test_a_list_that_is_applied_as_empty_is_so_at_once(items: list[str]) -> None:
    first = apply({}, (), {"metadata": {"finalizers": items}})
    emptied = apply(first.tree, first.entries, {"metadata": {"finalizers": []}})
    assert emptied.tree == {"metadata": {"finalizers": []}}
    assert apply(emptied.tree, emptied.entries, {"metadata": {"finalizers": []}}) == emptied


def test_the_same_value_is_shared_and_stays_until_the_last_lets_it_go() -> None:
    first = apply({}, (), cm(a="1", b="1"))
    both = apply(first.tree, first.entries, cm(a="1"), "two")
    assert owners(both) == {"one Apply": ".data.a .data.b", "two Apply": ".data.a"}
    left = apply(both.tree, both.entries, cm(b="1"))
    assert (left.tree, owners(left)) == (cm(a="1", b="1"), {"one Apply": ".data.b", "two Apply": ".data.a"})
    gone = apply(left.tree, left.entries, cm(), "two")
    assert (gone.tree, owners(gone)) == (cm(b="1"), {"one Apply": ".data.b"})


def test_another_value_is_a_conflict_that_names_owner_and_field() -> None:
    first = apply({}, (), cm(a="1", b="1"))
    with pytest.raises(ConflictsError) as refused:
        apply(first.tree, first.entries, cm(a="2"), "two")
    assert str(refused.value) == 'Apply failed with 1 conflict: conflict with "one": .data.a'
    updater = (
        *first.entries,
        ManagedFieldsEntry(Who("hand", UPDATE, "v1", "status"), "t", {"f:data": {"f:b": {}}}),
    )
    with pytest.raises(ConflictsError) as refused:
        apply(first.tree, updater, cm(a="2", b="2"), "two")
    assert str(refused.value) == (
        'Apply failed with 3 conflicts: conflicts with "hand" with subresource "status" using v1:\n- .data.b\n'
        'conflicts with "one":\n- .data.a\n- .data.b'
    )


def test_force_takes_what_is_in_the_way_and_no_more() -> None:
    first = apply({}, (), cm(a="1", b="1"))
    forced = apply(first.tree, first.entries, cm(a="2", b="1"), "two", force=True)
    assert forced.tree == cm(a="2", b="1")
    assert owners(forced) == {"one Apply": ".data.b", "two Apply": ".data.a .data.b"}


def test_what_may_be_taken_over_is_no_conflict() -> None:
    first = apply({}, (), cm(a="1", b="1"))
    allowed: dict[str, Any] = {"f:data": {"f:a": {}}}
    assert apply(first.tree, first.entries, cm(a="2"), "two", allowed=allowed).tree == cm(a="2", b="1")
    with pytest.raises(ConflictsError, match=r"1 conflict.*data\.b"):
        apply(first.tree, first.entries, cm(a="2", b="2"), "two", allowed=allowed)


def test_what_an_updater_owns_is_not_removed_with_the_applier() -> None:
    updater = ManagedFieldsEntry(Who("hand", UPDATE, "v1"), "t", {"f:data": {"f:a": {}}})
    first = apply({}, (), cm(a="1", b="1"))
    left = apply(first.tree, (*first.entries, updater), cm())
    assert (left.tree, owners(left)) == (cm(a="1"), {"hand Update": ".data.a"})


def test_what_nobody_owns_stays() -> None:
    first = apply({"data": {"z": "9"}}, (), cm(a="1"))
    assert apply(first.tree, first.entries, cm()).tree == cm(z="9")


def test_an_item_goes_with_its_last_owner_and_loses_what_only_one_gave_it() -> None:
    rule = RULES.of("Pod")

    def step(live: Any, entries: Any, name: str, *containers: Any) -> Applied:
        config = {"spec": {"containers": list(containers)}} if containers else {}
        return apply_configuration(
            rule, live, config, entries, Who(name, APPLY, "v1"), "t", lambda fields: fields
        )

    web, env = {"name": "web", "image": "w"}, {"name": "web", "env": [{"name": "A", "value": "1"}]}
    first = step({"metadata": {"name": "p"}}, (), "one", web)
    both = step(first.tree, first.entries, "two", env, {"name": "log", "image": "l"})
    assert [each["name"] for each in both.tree["spec"]["containers"]] == ["web", "log"]
    less = step(both.tree, both.entries, "two")
    assert less.tree == first.tree
    assert step(less.tree, less.entries, "one").tree == {"metadata": {"name": "p"}}
