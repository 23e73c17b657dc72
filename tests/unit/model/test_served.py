"""What is served: built-in kinds, and custom ones that come and go."""

from __future__ import annotations

import pytest

from fairlead.model.catalog import CATALOG
from fairlead.model.custom.versions import precedence
from fairlead.model.fields import ObjectType
from fairlead.model.files import load_tables
from fairlead.model.kind import Kind
from fairlead.model.served import Served


def kind(group: str = "example.com", version: str = "v1", name: str = "CronTab") -> Kind:
    return Kind(group, version, name, f"{name.lower()}s", True, schema="")


def test_kinds_come_and_go_and_each_change_is_counted() -> None:
    served = Served()
    assert (len(served), served.changes) == (len(CATALOG), 0)
    served.serve("a", [kind(version="v1beta1"), kind()])
    assert served.find("example.com", "v1", "crontabs") == kind()
    assert served.versions[-2:] == (("example.com", "v1"), ("example.com", "v1beta1"))
    assert served.of_resource("crontabs.example.com") == kind(), "in the version that is preferred"
    served.serve("a", [kind()])
    assert served.find("example.com", "v1beta1", "crontabs") is None
    served.withdraw("a")
    served.withdraw("a")
    assert (len(served), served.changes) == (len(CATALOG), 3)
    assert len(CATALOG.versions) == len(served.versions)


def test_what_somebody_else_serves_is_refused_and_nothing_has_changed() -> None:
    served = Served()
    served.serve("a", [kind()])
    with pytest.raises(ValueError, match="share a group"):
        served.serve("b", [kind()])
    assert (served.of_owner("a"), served.of_owner("b"), served.changes) == ((kind(),), (), 1)


def test_stable_versions_come_first_and_newer_before_older() -> None:
    given = ["v1alpha1", "foo1", "v2beta1", "v10", "v1", "v2", "foo10", "v11beta2", "v3beta1"]
    wanted = ["v10", "v2", "v1", "v11beta2", "v3beta1", "v2beta1", "v1alpha1", "foo1", "foo10"]
    assert sorted(given, key=precedence) == wanted


def test_types_of_one_server_are_not_anothers_and_those_of_the_tables_stay() -> None:
    tables = load_tables()
    one = tables.branch()
    one.add([ObjectType("example.com/v1.X", {})])
    assert "example.com/v1.X" not in tables.types
    one.drop(["example.com/v1.X", "example.com/v1.Never"])
    assert one.types == tables.types
    with pytest.raises(ValueError, match="Pod is a type of the tables"):
        one.drop(["Pod"])
