"""Every row of `table.py`: requests, paths, and what covers what."""

from __future__ import annotations

import msgspec
import pytest

from fairlead.api.access.asking import attributes_of
from fairlead.api.access.contract import Attributes
from fairlead.api.access.rbac.rules import PolicyRule, missing
from fairlead.model.kind import Json
from fairlead.port.request import Request
from tests.unit.api.access.granting import grants_of
from tests.unit.api.access.rbac.notation import binding, resource, role, rules, subject, user
from tests.unit.api.access.rbac.table import BINDINGS, COVERS, PATH_VERBS, PATHS, REQUESTS, ROLES, VERBS

_OF_COLLECTIONS = ("list", "watch", "create", "deletecollection")


def _rows(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("|")] for line in table.strip().splitlines()]


def _objects() -> list[Json]:
    made = []
    for name, text in _rows(ROLES):
        namespace, _, bare = name.rpartition("/")
        made.append(role(bare, text, namespace))
    for name, reference, subjects in _rows(BINDINGS):
        namespace, _, bare = name.rpartition("/")
        made.append(binding(bare, reference, [subject(each) for each in subjects.split()], namespace))
    return made


GRANTS = grants_of(*_objects())


def _request(verb: str, what: str, namespace: str, name: str) -> Request:
    """As a client sends it: the address of a collection has no name, and may have a selector."""
    group, plural, subresource = resource(what)
    selected = name.removeprefix("?") if name.startswith("?") else ""
    return Request(
        verb,
        group,
        "v1",
        plural,
        namespace,
        "" if selected or verb in _OF_COLLECTIONS else name,
        subresource,
        {"fieldSelector": f"metadata.name={selected}"} if selected else {},
    )


@pytest.mark.parametrize(("who", "what", "namespace", "name", "allowed"), _rows(REQUESTS))
def test_which_verbs_a_user_has(who: str, what: str, namespace: str, name: str, allowed: str) -> None:
    asked = {verb: attributes_of(_request(verb, what, namespace, name), user(who)) for verb in VERBS}
    first = [verb for verb in VERBS if GRANTS.authorize(asked[verb]).allowed]
    again = [verb for verb in VERBS if GRANTS.authorize(asked[verb]).allowed]
    assert first == again == allowed.split()


@pytest.mark.parametrize(("who", "path", "allowed"), _rows(PATHS))
def test_which_paths_a_user_has(who: str, path: str, allowed: str) -> None:
    asked = (Attributes(user(who), verb, path=path) for verb in PATH_VERBS)
    assert [each.verb for each in asked if GRANTS.authorize(each).allowed] == allowed.split()


@pytest.mark.parametrize(("owned", "wanted", "lacking"), _rows(COVERS))
def test_what_covers_what(owned: str, wanted: str, lacking: str) -> None:
    have, want, lack = (msgspec.convert(rules(text), list[PolicyRule]) for text in (owned, wanted, lacking))
    assert list(missing(have, want)) == lack


def test_the_table_is_long_enough_and_names_every_role_and_binding() -> None:
    cases = len(_rows(REQUESTS)) * len(VERBS) + len(_rows(PATHS)) * len(PATH_VERBS) + len(_rows(COVERS))
    assert cases >= 1000
    bound = {reference.partition("/")[2] for _, reference, _ in _rows(BINDINGS)}
    assert {name.rpartition("/")[2] for name, _ in _rows(ROLES)} <= bound
    told = {who.partition("+")[0] for who, *_ in (*_rows(REQUESTS), *_rows(PATHS))}
    users = {
        each.removeprefix("User/")
        for *_, subjects in _rows(BINDINGS)
        for each in subjects.split()
        if each.startswith("User/") and ":" not in each
    }
    assert users <= told
