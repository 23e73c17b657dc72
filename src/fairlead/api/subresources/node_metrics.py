"""GET nodes/NAME/metrics: what the node's agent counts of itself, in Prometheus' text form.

The agent answers the plane alone, so the plane asks; who may get `nodes/metrics` is for RBAC to say.
"""

from __future__ import annotations

from collections.abc import Mapping

from fairlead.api.desk import Desk
from fairlead.api.finding import find
from fairlead.api.node_addresses import no_answer, parse_node_address
from fairlead.api.plan import Context, NodeQuestion
from fairlead.core.errors import Unavailable
from fairlead.model.kind import Kind
from fairlead.port.request import Reply, Request
from fairlead.port.usage import NODE_METRICS

_TEXT = "text/plain; version=0.0.4; charset=utf-8"


def get(desk: Desk, request: Request, kind: Kind, context: Context) -> NodeQuestion:
    address = parse_node_address(find(desk, kind, request).data)
    if address is None:
        raise Unavailable(
            f'node "{request.name}" has announced no endpoint to ask: its agent needs --ca-file, and to run'
        )

    def finish(answers: Mapping[str, bytes]) -> Reply:
        if request.name not in answers:
            raise no_answer(address, "no answer came in time")
        return Reply(200, answers[request.name], _TEXT)

    return NodeQuestion((address,), NODE_METRICS, finish)
