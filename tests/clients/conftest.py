"""Fixtures of the client tests: an operator with kubectl in front of a real server, one server per module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.clients.kubectl import Operator
from tests.running import Running, need_kubectl


@pytest.fixture(scope="module")
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A real server; skips, or fails where CI=true, before starting one that no kubectl could use."""
    need_kubectl()
    # Most test the API alone: controllers would change objects under the tests' hands. Others ask for them.
    arguments = getattr(request.module, "ARGUMENTS", ("--without-controllers",))
    server = Running(tmp_path_factory.mktemp("plane") / "data", arguments=arguments)
    yield server
    server.stop()


@pytest.fixture(scope="module")
def kubectl(server: Running) -> Operator:
    """Works in the namespace `default` with the administrator's kubeconfig."""
    return Operator(server.kubeconfig)


@pytest.fixture
def team(kubectl: Operator, request: pytest.FixtureRequest) -> Operator:
    """Works in a namespace of the test's own, so that tests of one module do not meet."""
    words = request.node.name.lower().removeprefix("test_")
    namespace = "".join(each if each.isalnum() else "-" for each in words)[:60].strip("-")
    kubectl(f"create namespace {namespace}")
    return kubectl.inside(namespace)
