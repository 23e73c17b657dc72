"""`fairlead agent`: one node, on this machine or another than the server's, in the foreground until told to leave."""

from __future__ import annotations

import argparse
import os
import sys
from ipaddress import ip_address
from pathlib import Path

from fairlead.cli import hollow
from fairlead.cli import options as shared
from fairlead.core import quantity
from fairlead.core.errors import UsageError
from fairlead.core.times import parse_duration
from fairlead.model.marks import ZONE
from fairlead.model.names import label_key_problems, label_value_problems, subdomain_problems
from fairlead.runtime.credentials import kubeconfig
from fairlead.runtime.node.settings import AgentSettings
from fairlead.runtime.tracing.settings import trace_settings

#: bound: plane | a node's lease, if nothing is said | -
DEFAULT_LEASE_SECONDS = 40
#: bound: plane | a node's lease is renewed every | -
DEFAULT_RENEW_SECONDS = 10.0
#: bound: plane | a node's lease | `fairlead agent` refuses
LEASE_SECONDS_MAX = 3600

EPILOG = """examples:
  fairlead token create --role node --name node-1 -o node-1.token         where the server's data is
  fairlead agent --server https://10.0.0.5:7443 --ca-file ca.crt --token-file node-1.token --name node-1 --zone a

  fairlead token create --role node --name node-2 -o node-2.kubeconfig
  fairlead agent --kubeconfig node-2.kubeconfig --name node-2 --stop-pods

It runs each pod as processes of this machine. SIGTERM or Ctrl-C: it leaves; its pods go on under their supervisors
(where at most one may run, until the lease ends), or are ended first with --stop-pods. Started again it finds its pods
and starts none twice.

  fairlead agent --kubeconfig fairlead-data/kubeconfig --hollow 5000      pretend nodes hollow-0 to hollow-4999
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--server", metavar="URL", help="where the API server is, such as https://10.0.0.5:7443"
    )
    parser.add_argument(
        "--token-file", type=Path, metavar="FILE", help="the node's token; read again when it changes"
    )
    parser.add_argument(
        "--ca-file",
        type=Path,
        metavar="FILE",
        help="who signed the server's certificate (default: the system's)",
    )
    parser.add_argument(
        "--kubeconfig",
        type=Path,
        metavar="FILE",
        help="server, authority and token in one, instead of the three above",
    )
    parser.add_argument("--name", metavar="NAME", help="the node's name (default: this machine's)")
    parser.add_argument("--zone", metavar="ZONE", default="", help="the failure zone it is in")
    parser.add_argument(
        "--label",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="a label of the node; may be repeated",
    )
    parser.add_argument(
        "--data-dir",
        type=Path,
        metavar="DIR",
        help="where its pods and their logs are kept (default: ./fairlead-node-NAME)",
    )
    parser.add_argument(
        "--hide",
        type=Path,
        metavar="PATH",
        action="append",
        default=[],
        help="what its pods do not see of the machine's files, besides DIR and the token; may be repeated",
    )
    parser.add_argument(
        "--cpu", metavar="AMOUNT", help="how much it offers to pods (default: what the machine has)"
    )
    parser.add_argument("--memory", metavar="AMOUNT", help="the same of memory, such as 4Gi")
    parser.add_argument(
        "--pods", metavar="N", type=shared.parse_whole, default=110, help="at most this many (default: 110)"
    )
    parser.add_argument(
        "--lease-seconds",
        metavar="N",
        type=shared.parse_whole,
        default=DEFAULT_LEASE_SECONDS,
        help="without a renewal for so long its pods of which at most one may run end (default: 40)",
    )
    parser.add_argument(
        "--renew-seconds",
        metavar="N",
        type=float,
        default=DEFAULT_RENEW_SECONDS,
        help="how often it renews its lease (default: 10)",
    )
    parser.add_argument(
        "--address",
        metavar="ADDRESS",
        default="127.0.0.1",
        help="where the server reaches this machine for logs and usage (default: 127.0.0.1)",
    )
    parser.add_argument(
        "--endpoint-port",
        metavar="N",
        type=shared.parse_whole,
        default=0,
        help="the port of that (default: any)",
    )
    parser.add_argument(
        "--stop-pods", action="store_true", help="end its pods when it leaves, within a few seconds"
    )
    parser.add_argument(
        "--leave-after",
        metavar="DURATION",
        default="0s",
        help="leave when no server has answered for so long, such as 10m (default: never)",
    )
    hollow.add_options(parser)
    shared.add_log_format(parser)
    shared.add_otlp_endpoint(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    if options.server == "-":
        from fairlead.runtime.node import process as agent_process  # load all while we wait

        options.server = sys.stdin.readline().strip()
        if not options.server:
            return 0  # there will be no server
    if options.hollow:
        check_lease(options)
        played = hollow.settings(options, _connection(options), _labels(options), _capacity(options))
        from fairlead.runtime.node import hollow as hollow_agent

        return hollow_agent.run(played)
    hollow.check_is_one(options)
    chosen = settings(options)
    from fairlead.runtime.node import process as agent_process  # only once the options are known to be good

    return agent_process.run(chosen)


def settings(options: argparse.Namespace) -> AgentSettings:
    name = options.name if options.name is not None else os.uname().nodename.lower()
    problems = subdomain_problems(name)
    if problems:
        raise UsageError(f"--name {name}: {problems[0]}")
    check_lease(options)
    return AgentSettings(
        name=name,
        data_dir=options.data_dir or Path(f"fairlead-node-{name}"),
        connection=_connection(options),
        token_file=options.token_file,
        labels=_labels(options),
        capacity=_capacity(options),
        lease_seconds=options.lease_seconds,
        renew_seconds=options.renew_seconds,
        stop_pods=options.stop_pods,
        leave_after_seconds=_seconds(options.leave_after),
        address=_address(options.address),
        endpoint_port=_port(options.endpoint_port),
        hidden=tuple(filter(None, (*options.hide, options.token_file, options.kubeconfig))),
        log_format=options.log_format,
        traces=trace_settings(options.otlp_endpoint, os.environ, "fairlead-agent"),
    )


def check_lease(options: argparse.Namespace) -> None:
    if not 1 <= options.lease_seconds <= LEASE_SECONDS_MAX:
        raise UsageError(f"--lease-seconds {options.lease_seconds}: choose from 1 to {LEASE_SECONDS_MAX}")
    if not 0.1 <= options.renew_seconds <= options.lease_seconds / 2:
        raise UsageError(
            f"--renew-seconds {options.renew_seconds:g}: choose from 0.1 to half of --lease-seconds"
            f" ({options.lease_seconds / 2:g}), so that one lost renewal is no harm"
        )


def _connection(options: argparse.Namespace) -> kubeconfig.ServerAccess:
    if options.kubeconfig is not None:
        if options.server or options.token_file or options.ca_file:
            raise UsageError("--kubeconfig says it all: leave out --server, --token-file and --ca-file")
        return kubeconfig.load(options.kubeconfig)
    if not options.server:
        raise UsageError(
            "where is the server? Name it with --server URL and --token-file FILE, or with --kubeconfig FILE"
        )
    if not options.server.startswith(("https://", "http://")):
        raise UsageError(f"--server {options.server} is no address: write it like https://127.0.0.1:7443")
    if options.token_file is None:
        raise UsageError(
            "the server wants to know who this node is: add --token-file; `fairlead token create --role node"
            f" --name {options.name or 'NAME'}` makes a token"
        )
    _check_token(options.token_file)
    authority = ""
    if options.ca_file is not None:
        try:
            authority = options.ca_file.read_text()
        except (OSError, UnicodeDecodeError) as error:
            told = getattr(error, "strerror", None) or "it is not text"
            raise UsageError(f"cannot read --ca-file {options.ca_file}: {told}") from error
    return kubeconfig.ServerAccess(options.server.rstrip("/"), authority)


def _check_token(path: Path) -> None:
    """Who mistyped it is told now. Later changes of the file are the agent's to follow."""
    try:
        words = path.read_text().split()
    except (OSError, UnicodeDecodeError) as error:
        told = getattr(error, "strerror", None) or "it is not text"
        raise UsageError(f"cannot read --token-file {path}: {told}") from error
    if len(words) != 1 or not words[0].isascii():
        raise UsageError(
            f"--token-file {path} holds no token: `fairlead token create --role node --name NAME` makes one"
        )


def _labels(options: argparse.Namespace) -> dict[str, str]:
    labels = {ZONE: options.zone} if options.zone else {}
    for text in options.label:
        key, separator, value = text.partition("=")
        if not separator:
            raise UsageError(f"--label {text}: write it like disk=ssd")
        labels[key] = value
    for key, value in labels.items():
        problems = label_key_problems(key) or label_value_problems(value)
        if problems:
            raise UsageError(f"{'--zone' if key == ZONE else '--label'} {value}: {problems[0]}")
    return labels


def _capacity(options: argparse.Namespace) -> dict[str, str]:
    if not 1 <= options.pods <= 1000:
        raise UsageError(f"--pods {options.pods}: choose from 1 to 1000")
    amounts = {"pods": str(options.pods)}
    for name in ("cpu", "memory"):
        text = getattr(options, name)
        if text is None:
            continue
        try:
            good = quantity.parse_quantity(text) > 0
        except ValueError:
            good = False
        if not good:
            raise UsageError(
                f"--{name} {text} is no amount: write it like {'2 or 1500m' if name == 'cpu' else '4Gi'}"
            )
        amounts[name] = text
    return amounts


def _address(text: str) -> str:
    try:
        address = ip_address(text)
    except ValueError as error:
        raise UsageError(f"--address {text}: write an IP address of this machine") from error
    if address.is_unspecified:
        raise UsageError(f"--address {text}: the server cannot call that; name the address it reaches")
    return str(address)


def _port(number: int) -> int:
    if not 0 <= number <= 65535:
        raise UsageError(f"--endpoint-port {number}: choose from 1 to 65535, or 0 for any")
    return number


def _seconds(text: str) -> float:
    try:
        return max(0, parse_duration(text)) / 1e9
    except ValueError as error:
        raise UsageError(f"--leave-after {text}: {error}; write it like 10m") from error
