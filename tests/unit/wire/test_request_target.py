"""Where a client finds what a Request names, and that the server reads the same Request from it."""

from __future__ import annotations

import pytest

from fairlead.model.key import Key
from fairlead.model.premise import Premise
from fairlead.port.request import Request
from fairlead.wire.routes import request_target, resource_request, split_target, with_premises

CASES = [
    (Request("list", "", "v1", "nodes"), "GET /api/v1/nodes"),
    (Request("create", "", "v1", "pods", "shop"), "POST /api/v1/namespaces/shop/pods"),
    (
        Request(
            verb="patch",
            group="",
            version="v1",
            plural="pods",
            namespace="shop",
            name="web-1",
            subresource="status",
        ),
        "PATCH /api/v1/namespaces/shop/pods/web-1/status",
    ),
    (
        Request(
            verb="update",
            group="coordination.k8s.io",
            version="v1",
            plural="leases",
            namespace="kube-node-lease",
            name="n1",
        ),
        "PUT /apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1",
    ),
    (Request("delete", "", "v1", "namespaces", name="shop"), "DELETE /api/v1/namespaces/shop"),
    (
        Request("list", "", "v1", "pods", query={"fieldSelector": "spec.nodeName=a,b", "limit": "5"}),
        "GET /api/v1/pods?fieldSelector=spec.nodeName%3Da%2Cb&limit=5",
    ),
    (
        Request(
            verb="delete",
            group="apps",
            version="v1",
            plural="replicasets",
            namespace="shop",
            name="web",
            query={"dryRun": "All"},
            premises=(Premise(Key("nodes", "", "gone"), 0), Premise(Key("pods", "shop", "web-1"), 17)),
        ),
        "DELETE /apis/apps/v1/namespaces/shop/replicasets/web"
        "?dryRun=All&fence=nodes%2F%2Fgone%400%2Cpods%2Fshop%2Fweb-1%4017",
    ),
    (Request("watch", "", "v1", "pods", query={"watch": "true"}), "GET /api/v1/pods?watch=true"),
]


@pytest.mark.parametrize(("request_", "expected"), CASES, ids=[expected for _, expected in CASES])
def test_a_request_has_its_address_and_the_server_reads_it_back(request_: Request, expected: str) -> None:
    method, target = request_target(request_)
    assert f"{method} {target}" == expected
    path, query = split_target(target.encode())
    read = resource_request(method.encode(), path, query, b"", "application/json", "application/json")
    assert read is not None
    assert with_premises(read) == request_
