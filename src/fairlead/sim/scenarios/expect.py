"""`expect.end` of a scenario: what is there when it is over.

- {object: deployments/risk-api, has: {status.readyReplicas: 3}}
- {count: pods, where: {status.conditions.Ready: "True"}, is: 3}

An object without `has` must be there; with `namespace` it is looked for there, and so many are counted only there.
"""

from __future__ import annotations

from typing import Any

from fairlead.sim.scenario import Expected
from fairlead.sim.scenarios.field import ScenarioField
from fairlead.sim.scenarios.kinds import kind_named, object_named


def expected_of(field: ScenarioField) -> tuple[Expected, ...]:
    return tuple(map(_line, field.items()))


def _line(entry: ScenarioField) -> Expected:
    given = entry.mapping(("object", "has", "count", "where", "is", "namespace"))
    namespace = given["namespace"].text() if "namespace" in given else ""
    if "object" in given:
        given = entry.mapping(("object", "has", "namespace"))
        kind, space, name = object_named(given["object"], namespace or "default")
        return Expected(kind.resource, _fields(given, "has"), space, name)
    if "count" not in given or "is" not in given:
        raise entry.refused(
            'is an object ("object: KIND/NAME, has: {...}") or a number ("count: KIND, is: N")'
        )
    kind = kind_named(given["count"], given["count"].text())
    return Expected(kind.resource, _fields(given, "where"), namespace, number=given["is"].whole())


def _fields(given: dict[str, ScenarioField], name: str) -> tuple[tuple[str, Any], ...]:
    if name not in given:
        return ()
    return tuple((path, each.value) for path, each in given[name].mapping().items())
