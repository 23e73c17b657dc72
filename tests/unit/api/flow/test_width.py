"""How many seats a request takes, before it is begun."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import pytest

from fairlead.api.flow.width import WIDTH_MAX, Width, width_of
from fairlead.port.request import Request
from fairlead.store.contract import Entry, Reader


class Stored:
    """So many pods, and deployments of a group."""

    def list(self, resource: str, namespace: str = "") -> Sequence[Entry]:
        counts = {("pods", ""): 2000, ("pods", "shop"): 250, ("deployments.apps", ""): 100}
        return cast(Sequence[Entry], range(counts.get((resource, namespace), 0)))


def request(verb: str, plural: str = "pods", **more: Any) -> Request:
    return Request(verb, more.pop("group", ""), "v1", plural, **more)


@pytest.mark.parametrize(
    ("asked", "width"),
    [
        (request("get", name="a"), Width(1, True)),
        (request("get", name="a", subresource="log"), Width(1, False)),
        (request("list", "services"), Width(1, True)),
        (request("list", "deployments", group="apps"), Width(1, True)),
        (request("list", namespace="shop"), Width(3, False)),
        (request("list"), Width(WIDTH_MAX, False)),
        (request("list", query={"limit": "100"}), Width(1, True)),
        (request("list", query={"limit": "500"}), Width(5, False)),
        (request("list", query={"limit": "0"}), Width(WIDTH_MAX, False)),
        (request("list", query={"limit": "many"}), Width(WIDTH_MAX, False)),
        (request("list", query={"limit": "1", "labelSelector": "a=b"}), Width(WIDTH_MAX, False)),
        (request("watch"), Width(WIDTH_MAX, True)),
        (request("watch", query={"resourceVersion": "7"}), Width(1, True)),
        (request("create", body=b"x" * 1000), Width(1, False)),
        (request("create", body=b"x" * 1024 * 1024), Width(5, False)),
        (request("update", body=b"x" * 3 * 1024 * 1024), Width(WIDTH_MAX, False)),
        (request("deletecollection"), Width(1, False)),
    ],
)
def test_widths(asked: Request, width: Width) -> None:
    assert width_of(asked, cast(Reader, Stored())) == width
