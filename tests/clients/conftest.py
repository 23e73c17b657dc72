"""Fixtures of the client tests: an operator with kubectl in front of a real server.

One server per module; modules whose tests keep to namespaces of their own say SHARED, and have one together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from zlib import crc32

import pytest

from tests.clients.kubectl import Operator
from tests.clients.reading import reader_of
from tests.running import Running, need_kubectl


@pytest.fixture(scope="session")
def shared_servers(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[[tuple[str, ...]], Running]]:
    """By their arguments: servers that several modules use, one after the other."""
    started: dict[tuple[str, ...], Running] = {}

    def shared(arguments: tuple[str, ...]) -> Running:
        if arguments not in started:
            started[arguments] = Running(tmp_path_factory.mktemp("plane") / "data", arguments=arguments)
        return started[arguments]

    yield shared
    for server in started.values():
        server.stop()


@pytest.fixture(scope="module")
def server(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    shared_servers: Callable[[tuple[str, ...]], Running],
) -> Iterator[Running]:
    """A real server; skips, or fails where CI=true, before starting one that no kubectl could use."""
    need_kubectl()
    # Most test the API alone: controllers would change objects under the tests' hands. Others ask for them.
    arguments = getattr(request.module, "ARGUMENTS", ("--without-controllers",))
    if getattr(request.module, "SHARED", False):
        yield shared_servers(arguments)
        return
    server = Running(tmp_path_factory.mktemp("plane") / "data", arguments=arguments)
    yield server
    server.stop()


@pytest.fixture(scope="module")
def kubectl(server: Running) -> Operator:
    """Works in the namespace `default` with the administrator's kubeconfig."""
    return Operator(server.kubeconfig)


@pytest.fixture
def team(kubectl: Operator, request: pytest.FixtureRequest) -> Iterator[Operator]:
    """Works in a namespace of the test's own, so that tests of one server do not meet."""
    words = request.node.name.lower().removeprefix("test_")
    readable = "".join(each if each.isalnum() else "-" for each in words)[:50].strip("-")
    namespace = f"{readable}-{crc32(request.node.nodeid.encode()):08x}"
    spaces, api = "/api/v1/namespaces", reader_of(kubectl.kubeconfig)
    assert api is not None
    status, said = api.request("POST", spaces, {"metadata": {"name": namespace}})
    assert status == 201, said
    yield kubectl.inside(namespace)
    if getattr(request.module, "SHARED", False):  # what it leaves would take room on nodes
        api.request("DELETE", f"{spaces}/{namespace}")
