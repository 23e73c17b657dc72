"""What an agent is started with. The command line makes it, `driver.py` or `hollow.py` obeys it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from fairlead.runtime.credentials.kubeconfig import ServerAccess
from fairlead.runtime.tracing.settings import TraceSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeProcessSettings:
    """Of a process that has one node or many. `token_file`: read again when it changes; None where the connection has
    what it takes to sign in."""

    connection: ServerAccess
    token_file: Path | None = None
    labels: dict[str, str] = field(default_factory=dict)
    capacity: dict[str, str] = field(default_factory=dict)
    lease_seconds: int = 40
    renew_seconds: float = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings(NodeProcessSettings):
    """`stop_pods`: SIGTERM ends the pods too, within `stop_seconds`; otherwise they go on under their supervisors.
    `address`, `endpoint_port`: where it tells logs and usage (0: a port of the system's choice).
    `hidden`: what its pods do not see besides `data_dir`, where they have files of their own.
    `leave_after_seconds`: end, pods and all, when no server has answered for this long; 0: never.
    """

    name: str
    data_dir: Path
    stop_pods: bool = False
    stop_seconds: float = 5.0
    leave_after_seconds: float = 0.0
    address: str = "127.0.0.1"
    endpoint_port: int = 0
    hidden: tuple[Path, ...] = ()
    log_format: str = "text"
    traces: TraceSettings | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HollowSettings(NodeProcessSettings):
    """Of many nodes that only pretend. `heartbeats_only`: they are registered, and their pods played, by somebody else
    (`up --hollow-nodes`)."""

    nodes: int
    name_prefix: str
    heartbeats_only: bool = False
    report_seconds: float = 10.0
    as_json: bool = False
