"""What a server is started with. The command line makes it, `runtime/server/process.py` obeys it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fairlead.api.access.openid_settings import OpenIdSettings
from fairlead.runtime.tracing.settings import TraceSettings

#: bound: plane | local nodes | `fairlead up` refuses
LOCAL_NODES_MAX = 64


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """`banner`: tell on the terminal where the kubeconfig is and what to type next.
    `history_seconds`: how long old versions can be read and watches resumed.
    `controllers`: False serves the API alone, for those who bring controllers of their own; deletions are completed.
    `event_ttl_seconds`: how long an Event is kept after the object that it is about has gone.
    `hollow_nodes`: pretend nodes on which pods seem to run.
    `nodes`: real ones, each an agent process beside the server, dealt out to `zones` in turn.
    `publishes_authority`: each namespace gets the certificate of the server's authority in a ConfigMap.
    `openid`: the issuer whose tokens let people in, `openid_authority` the certificates by which it is known.
    `log_format`: what the terminal gets, sentences about what is wrong or every line of the log.
    `traces`: where spans of requests, turns and writes are sent.
    `tape`: what the plane is told is kept, for a closed replay.
    `sample`: a new data directory gets a Deployment to look at, if there are nodes to run it.
    """

    data_dir: Path
    listen: str
    port: int
    banner: bool
    history_seconds: float = 6 * 3600.0
    hollow_nodes: int = 0
    controllers: bool = True
    event_ttl_seconds: float = 7 * 86400.0
    nodes: int = 0
    zones: tuple[str, ...] = ()
    lease_seconds: int = 40
    renew_seconds: float = 10.0
    sample: bool = True
    publishes_authority: bool = True
    openid: OpenIdSettings | None = None
    openid_authority: Path | None = None
    log_format: str = "text"
    traces: TraceSettings | None = None
    tape: bool = True
