"""Every metric there is, and which processes tell it. The documentation's table is made of it, and tests compare it
with what running processes say.
"""

from __future__ import annotations

from typing import NamedTuple

from fairlead.runtime.metrics import (
    agent,
    flow,
    mirrors,
    objectives,
    plane,
    scheduler,
    server,
    services,
    traces,
)
from fairlead.runtime.metrics.contract import Metric

SERVER, CONTROL, AGENT = "server", "control", "agent"


class Listed(NamedTuple):
    metric: Metric
    told_by: tuple[str, ...]


def _listed() -> tuple[Listed, ...]:
    of_agents = {mirrors.MIRROR_REVISION, mirrors.MIRROR_FOLLOWING, mirrors.MIRROR_LAG}
    found = [Listed(mirrors.BUILD, (SERVER, CONTROL, AGENT))]
    found += [Listed(each, (SERVER,)) for each in (*server.METRICS, *flow.METRICS)]
    for each in (*plane.METRICS, *scheduler.METRICS, *objectives.METRICS):
        found.append(Listed(each, (SERVER, CONTROL, AGENT) if each in of_agents else (SERVER, CONTROL)))
    found += [Listed(each, (SERVER, CONTROL)) for each in traces.METRICS]
    found += [Listed(each, (SERVER, AGENT)) for each in services.METRICS]
    found += [Listed(each, (AGENT,)) for each in agent.METRICS]
    return tuple(found)


CATALOG = _listed()
