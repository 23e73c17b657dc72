"""`fairlead control`: the scheduler, and if wanted the controllers, beside an API server elsewhere: any Kubernetes."""

from __future__ import annotations

import argparse
import os
import secrets
from pathlib import Path

from fairlead.cli import options as shared
from fairlead.cli.client import find_kubeconfig
from fairlead.core.errors import UsageError
from fairlead.model.names import subdomain_problems
from fairlead.runtime.credentials import kubeconfig
from fairlead.runtime.remote.settings import DEFAULT_SCHEDULER_NAME, ControlSettings
from fairlead.runtime.tracing.settings import trace_settings

DEFAULT_DATA_DIR = Path("fairlead-control")

EPILOG = """examples:
  fairlead up --without-controllers                                      an API alone
  fairlead control --kubeconfig fairlead-data/kubeconfig                 its scheduler and controllers, elsewhere

  fairlead control --kubeconfig admin.conf --only scheduler              in place of kube-scheduler
  fairlead control --kubeconfig admin.conf --only scheduler --scheduler-name fairlead
                                                                         beside it, for pods that name it
  fairlead decisions --data-dir fairlead-control                         what it decided, and why

Several may run at once, each with a --data-dir of its own: one leads, the others wait. Against Kubernetes some
guarantees are weaker; docs/guides/beside-kubernetes.md says which.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    shared.add_kubeconfig(parser)
    parser.add_argument(
        "--only",
        choices=("scheduler",),
        help="place pods and keep the objects that are about placing; run no controllers of workloads and nodes",
    )
    parser.add_argument(
        "--scheduler-name",
        default=DEFAULT_SCHEDULER_NAME,
        metavar="NAME",
        help=f"place pods whose schedulerName is this (default: {DEFAULT_SCHEDULER_NAME})",
    )
    parser.add_argument(
        "--identity",
        metavar="NAME",
        help="what it is called in its Lease (default: this machine's name and a random word)",
    )
    parser.add_argument(
        "--data-dir",
        type=Path,
        default=DEFAULT_DATA_DIR,
        metavar="DIR",
        help="where its decisions and its log are kept (default: ./fairlead-control)",
    )
    parser.add_argument(
        "--capabilities",
        choices=("kubernetes",),
        default="",
        help="use nothing that is Fairlead's own, also where the server has it (default: find out)",
    )
    parser.add_argument(
        "--metrics-port",
        type=shared.parse_whole,
        metavar="N",
        help="tell /metrics and /readyz at this port of 127.0.0.1, to everybody on this machine (default: nowhere; "
        "0: any free one)",
    )
    shared.add_log_format(parser)
    shared.add_otlp_endpoint(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    chosen = settings(options)
    # Only once the options are known to be good.
    from fairlead.runtime.remote import process as control_process

    return control_process.run(chosen)


def settings(options: argparse.Namespace) -> ControlSettings:
    for option, name in (("--identity", options.identity), ("--scheduler-name", options.scheduler_name)):
        problems = subdomain_problems(name) if name is not None else ()
        if problems:
            raise UsageError(f"{option} {name}: {problems[0]}")
    if options.scheduler_name != DEFAULT_SCHEDULER_NAME and options.only is None:
        raise UsageError("--scheduler-name is for one that works beside others: add --only scheduler")
    identity = options.identity or f"{os.uname().nodename.lower()}-{secrets.token_hex(4)}"
    return ControlSettings(
        identity=identity,
        data_dir=options.data_dir,
        connection=kubeconfig.load(find_kubeconfig(options.kubeconfig, os.environ)),
        only_scheduler=options.only == "scheduler",
        scheduler_name=options.scheduler_name,
        capabilities=options.capabilities,
        metrics_port=options.metrics_port,
        log_format=options.log_format,
        traces=trace_settings(options.otlp_endpoint, os.environ, "fairlead-control"),
    )
