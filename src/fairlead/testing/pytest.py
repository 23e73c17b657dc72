"""Fixtures for pytest. Named once, in the conftest.py at the root: pytest_plugins = ["fairlead.testing.pytest"].

    fairlead_plane         a plane of the test's own; a mark says how: @pytest.mark.fairlead(hollow_nodes=3)
    fairlead_shared_plane  one for the whole run, or for each worker of xdist
    fairlead_namespace     a namespace of the test's own on that one; deleted afterwards
    fairlead_options       what all of them are started with: override it to return arguments of `plane`

It is not registered as an entry point: that would be imported at every start of every pytest in whose environment this
package is, also where no test uses it. What a fixture needs is imported when it is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from fairlead.testing import Plane


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "fairlead(**options): start this test's fairlead_plane with these arguments of plane()"
    )


@pytest.fixture(scope="session")
def fairlead_options() -> Mapping[str, Any]:
    """Arguments of `plane`; override this in a conftest.py."""
    return {}


@pytest.fixture
def fairlead_plane(request: pytest.FixtureRequest, fairlead_options: Mapping[str, Any]) -> Iterator[Plane]:
    """A new plane for this test alone."""
    from fairlead.testing import plane

    marks = [mark.kwargs for mark in request.node.iter_markers("fairlead")]
    asked: dict[str, Any] = dict(fairlead_options)
    for options in reversed(marks):  # the closest mark has the last word
        asked.update(options)
    with plane(**asked) as running:
        yield running


@pytest.fixture(scope="session")
def fairlead_shared_plane(fairlead_options: Mapping[str, Any]) -> Iterator[Plane]:
    """One plane for all tests of this process."""
    from fairlead.testing import plane

    with plane(**fairlead_options) as running:
        yield running


@pytest.fixture
def fairlead_namespace(fairlead_shared_plane: Plane) -> Iterator[str]:
    """A namespace of this test's own on the shared plane; afterwards it is deleted, and nobody waits for that."""
    name = fairlead_shared_plane.namespace()
    yield name
    fairlead_shared_plane.request("DELETE", f"/api/v1/namespaces/{name}")
