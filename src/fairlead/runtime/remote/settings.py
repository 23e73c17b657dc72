"""What `fairlead control` is started with. The command line makes it, `process.py` obeys it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fairlead.runtime.credentials.kubeconfig import ServerAccess
from fairlead.runtime.tracing.settings import TraceSettings

DEFAULT_SCHEDULER_NAME = "default-scheduler"


@dataclass(frozen=True, slots=True)
class ControlSettings:
    """`only_scheduler`: no workload controllers; `capabilities`: "kubernetes" to use nothing that is Fairlead's own,
    "" to find out. `metrics_port`: where it tells metrics on this machine, None for nowhere (0: any free port)."""

    identity: str
    data_dir: Path
    connection: ServerAccess
    only_scheduler: bool = False
    scheduler_name: str = DEFAULT_SCHEDULER_NAME
    capabilities: str = ""
    metrics_port: int | None = None
    log_format: str = "text"
    traces: TraceSettings | None = None
