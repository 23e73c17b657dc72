"""`fairlead up`: a whole plane on this machine, in the foreground, until Ctrl-C or SIGTERM."""

from __future__ import annotations

import argparse
from dataclasses import replace

from fairlead.cli import options as shared
from fairlead.cli.agent import DEFAULT_LEASE_SECONDS, DEFAULT_RENEW_SECONDS, check_lease
from fairlead.cli.serving import add_options, settings
from fairlead.core.errors import UsageError
from fairlead.model.names import label_value_problems
from fairlead.runtime.server.settings import LOCAL_NODES_MAX, ServeSettings

EPILOG = """examples:
  fairlead up                                       https://127.0.0.1:7443, data in ./fairlead-data
  fairlead up --nodes 3 --zones a,b                 and three nodes that run pods as processes of this machine
  fairlead up --data-dir /var/lib/fairlead --port 8443
  kubectl --kubeconfig fairlead-data/kubeconfig get namespaces
  curl --cacert fairlead-data/identity/ca.crt https://127.0.0.1:7443/readyz

The first start makes a certificate authority, a server certificate and an admin's kubeconfig in the data
directory, readable by you only. Later starts keep them.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    add_options(parser)
    parser.add_argument(
        "--nodes",
        type=shared.parse_whole,
        default=0,
        metavar="N",
        help="start N nodes, local-1 and so on, that run pods as processes of this machine (default: 0)",
    )
    parser.add_argument(
        "--zones", default="", metavar="A,B", help="failure zones to which those nodes are dealt out in turn"
    )
    parser.add_argument(
        "--lease-seconds",
        type=shared.parse_whole,
        default=DEFAULT_LEASE_SECONDS,
        metavar="N",
        help="without a renewal for so long pods of which at most one may run end (default: 40)",
    )
    parser.add_argument(
        "--renew-seconds",
        type=float,
        default=DEFAULT_RENEW_SECONDS,
        metavar="N",
        help="how often those nodes renew their leases (default: 10)",
    )
    parser.add_argument(
        "--no-sample",
        action="store_true",
        help="leave out the sample Deployment that a new data directory with nodes starts with",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    chosen = with_nodes(settings(options, banner=True), options)
    from fairlead.runtime.server import local_agents

    waiting = local_agents.start_all(chosen)  # they load while the server does
    # The whole server: only once the options are known to be good.
    from fairlead.runtime.server import process as server

    return server.run(chosen, waiting)


def with_nodes(chosen: ServeSettings, options: argparse.Namespace) -> ServeSettings:
    if not 0 <= options.nodes <= LOCAL_NODES_MAX:
        raise UsageError(f"--nodes {options.nodes}: choose from 0 to {LOCAL_NODES_MAX}")
    zones = tuple(zone.strip() for zone in options.zones.split(",") if zone.strip())
    if zones and not options.nodes:
        raise UsageError("--zones says where nodes are, and there are none: add --nodes N")
    for zone in zones:
        problems = label_value_problems(zone)
        if problems:
            raise UsageError(f"--zones {zone}: {problems[0]}")
    check_lease(options)
    return replace(
        chosen,
        nodes=options.nodes,
        zones=zones,
        lease_seconds=options.lease_seconds,
        renew_seconds=options.renew_seconds,
        sample=not options.no_sample,
    )
