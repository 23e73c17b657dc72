"""A grant ends at its second on every route: verbs, parts of objects, questions about access, and streams."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.api.access.asking import attributes_of
from fairlead.api.access.breakglass.in_force import is_guarded
from fairlead.api.plan import NodeStream, Watch
from fairlead.api.server import _VERBS
from fairlead.api.subresources import VERBS
from fairlead.core.errors import ApiError, Forbidden
from fairlead.model.catalog import CATALOG
from fairlead.port.request import Request
from tests.inprocess import ADMIN
from tests.unit.api.access.breakglass.world import NOBODY, RBAC, World

EVERYTHING = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRole",
    "metadata": {"name": "everything"},
    "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}],
}


def _routes() -> list[tuple[str, str, str]]:
    """Verb, group-resource and subresource of what can be asked for in a namespace: all verbs, and every part."""
    found = []
    for resource in (
        "pods",
        "configmaps",
        "deployments.apps",
        "serviceaccounts",
        "scheduleroverrides.fairlead.dev",
    ):
        kind = CATALOG.of_resource(resource)
        assert kind is not None
        found += [(verb, resource, "") for verb in _VERBS]
        for subresource in kind.subresources:
            found += [(verb, resource, subresource) for verb in VERBS[subresource]]
    return found


def _request(verb: str, resource: str, subresource: str) -> Request:
    plural, _, group = resource.partition(".")
    named = verb not in ("list", "watch", "create", "deletecollection") or bool(subresource)
    return Request(verb, group, "v1", plural, "shop", "x" if named else "", subresource, body=b"{}")


@pytest.fixture(scope="module")
def world() -> World:
    world = World()
    assert world.post(f"{RBAC}/clusterroles", EVERYTHING)[0] == 201
    assert (
        world.ask(
            subject={"kind": "User", "name": "nobody"},
            role={"kind": "ClusterRole", "name": "everything"},
            expiresAfter="10m",
        )[0]
        == 201
    )
    assert world.decide("Approved", user=ADMIN)[0] == 200
    return world


def _is_let_in(world: World, request: Request, at: float) -> bool:
    """Whatever comes of it then: there is nothing of the name it asks for."""
    before, world.now = world.now, at
    try:
        step: Any = world.plan(request, NOBODY)
    except Forbidden:
        return False
    except ApiError:
        return True
    finally:
        world.now = before
    if isinstance(step, Watch):
        assert step.timeout_seconds <= world.now + 600.0 - at
    assert not isinstance(step, NodeStream) or step.grant == "night"
    return True


@pytest.mark.parametrize(("verb", "resource", "subresource"), _routes())
def test_a_grant_ends_at_its_second_on_every_route(
    world: World, verb: str, resource: str, subresource: str
) -> None:
    request, ends = _request(verb, resource, subresource), world.now + 600.0
    asked = attributes_of(request, NOBODY, world.now)
    assert _is_let_in(world, request, ends - 0.001) is not is_guarded(asked)
    assert not _is_let_in(world, request, ends)


def test_the_subresources_that_are_asked_here_are_all_that_can_be_in_a_namespace() -> None:
    asked = {subresource for _, _, subresource in _routes()}
    served = {each for kind in CATALOG if kind.namespaced for each in kind.subresources}
    assert served <= asked, served - asked
