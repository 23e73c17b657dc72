"""What `up` and `serve` share: their options, and the check that nobody listens to the world by mistake."""

from __future__ import annotations

import argparse
import ipaddress
import os
from pathlib import Path

from fairlead.api.access.openid_settings import OpenIdSettings
from fairlead.cli import options as shared
from fairlead.core.errors import UsageError
from fairlead.core.times import parse_duration
from fairlead.runtime.server.settings import ServeSettings
from fairlead.runtime.tracing.settings import trace_settings

DEFAULT_PORT = 7443
DEFAULT_LISTEN = "127.0.0.1"
DEFAULT_HISTORY = "6h"
DEFAULT_EVENT_TTL = "168h"
#: bound: plane | hollow nodes | `fairlead up` refuses
HOLLOW_NODES_MAX = 20_000


def add_options(parser: argparse.ArgumentParser) -> None:
    shared.data_dir(parser)
    parser.add_argument(
        "--port",
        type=shared.parse_whole,
        default=DEFAULT_PORT,
        metavar="N",
        help="TCP port (default: 7443; 0: any free one)",
    )
    parser.add_argument(
        "--listen", default=DEFAULT_LISTEN, metavar="ADDR", help="address to listen on (default: 127.0.0.1)"
    )
    parser.add_argument(
        "--listen-anywhere",
        action="store_true",
        help="allow --listen with an address other machines can reach",
    )
    parser.add_argument(
        "--history",
        default=DEFAULT_HISTORY,
        metavar="DURATION",
        help="how long old versions can be read and watches resumed (default: 6h)",
    )
    parser.add_argument(
        "--event-ttl",
        default=DEFAULT_EVENT_TTL,
        metavar="DURATION",
        help="how long an Event is kept after its object has gone; while that lives it stays (default: 168h, a week)",
    )
    parser.add_argument(
        "--without-controllers",
        action="store_true",
        help="serve the API alone: no workload controllers, no scheduler; for testing controllers of your own; "
        "deletion is still completed (owners, namespaces), because the API promises it",
    )
    parser.add_argument(
        "--no-root-certificates",
        action="store_true",
        help="leave out the ConfigMap kube-root-ca.crt, which every namespace gets otherwise",
    )
    shared.add_log_format(parser)
    shared.add_otlp_endpoint(parser)
    issuer = parser.add_argument_group("people who sign in with an identity provider (OpenID Connect)")
    issuer.add_argument("--oidc-issuer-url", metavar="URL", help="whose tokens let people in; https")
    issuer.add_argument("--oidc-client-id", metavar="ID", help="for whom the tokens must be meant")
    issuer.add_argument(
        "--oidc-username-claim", default="sub", metavar="CLAIM", help="what names the user (default: sub)"
    )
    issuer.add_argument(
        "--oidc-username-prefix",
        default="",
        metavar="TEXT",
        help="put before names; - for nothing (default: the issuer and #, nothing before an email)",
    )
    issuer.add_argument("--oidc-groups-claim", default="", metavar="CLAIM", help="what lists the groups")
    issuer.add_argument("--oidc-groups-prefix", default="", metavar="TEXT", help="put before groups")
    issuer.add_argument(
        "--oidc-required-claim",
        action="append",
        default=[],
        metavar="CLAIM=VALUE",
        help="what a token must say; may be repeated",
    )
    issuer.add_argument(
        "--oidc-ca-file", type=Path, metavar="FILE", help="certificates by which the issuer is known"
    )
    parser.add_argument(
        "--hollow-nodes",
        type=int,
        default=0,
        metavar="N",
        help="register N pretend nodes, on which pods seem to run and nothing does (default: 0)",
    )


def settings(options: argparse.Namespace, banner: bool) -> ServeSettings:
    if not 0 <= options.port <= 65535:
        raise UsageError(
            f"--port {options.port} is no TCP port: choose one from 1 to 65535, or 0 for any free one"
        )
    if not options.listen_anywhere and not _is_loopback(options.listen):
        raise UsageError(
            f"--listen {options.listen} can be reached from other machines: add --listen-anywhere if that is"
            " meant, or leave --listen out to serve this machine only"
        )
    if not 0 <= options.hollow_nodes <= HOLLOW_NODES_MAX:
        raise UsageError(f"--hollow-nodes {options.hollow_nodes}: choose from 0 to {HOLLOW_NODES_MAX}")
    if options.data_dir.exists() and not options.data_dir.is_dir():
        raise UsageError(f"--data-dir {options.data_dir} is a file: name a directory")
    return ServeSettings(
        data_dir=options.data_dir,
        listen=options.listen,
        port=options.port,
        banner=banner,
        history_seconds=_kept_seconds("--history", options.history, "6h"),
        hollow_nodes=options.hollow_nodes,
        controllers=not options.without_controllers,
        event_ttl_seconds=_kept_seconds("--event-ttl", options.event_ttl, "168h"),
        publishes_authority=not options.no_root_certificates,
        openid=_openid(options),
        openid_authority=options.oidc_ca_file,
        log_format=options.log_format,
        traces=trace_settings(options.otlp_endpoint, os.environ, "fairlead"),
    )


def _openid(options: argparse.Namespace) -> OpenIdSettings | None:
    if not options.oidc_issuer_url:
        if options.oidc_client_id:
            raise UsageError("--oidc-client-id needs --oidc-issuer-url: say whose tokens are meant")
        return None
    from fairlead.runtime.credentials.openid_keys import check_issuer  # which takes more than help needs

    check_issuer(options.oidc_issuer_url)
    if not options.oidc_client_id:
        raise UsageError("--oidc-issuer-url needs --oidc-client-id: say for whom its tokens must be meant")
    if options.oidc_ca_file is not None and not options.oidc_ca_file.is_file():
        raise UsageError(
            f"--oidc-ca-file {options.oidc_ca_file} is not there: name a file of certificates (PEM)"
        )
    required = []
    for text in options.oidc_required_claim:
        claim, mark, value = text.partition("=")
        if not claim or not mark:
            raise UsageError(f"--oidc-required-claim {text}: write it as CLAIM=VALUE")
        required.append((claim, value))
    return OpenIdSettings(
        issuer=options.oidc_issuer_url,
        client_id=options.oidc_client_id,
        username_claim=options.oidc_username_claim,
        username_prefix=options.oidc_username_prefix,
        groups_claim=options.oidc_groups_claim,
        groups_prefix=options.oidc_groups_prefix,
        required=tuple(required),
    )


def _kept_seconds(option: str, text: str, such_as: str) -> float:
    try:
        nanoseconds = parse_duration(text)
    except ValueError as error:
        raise UsageError(f"{option} {text}: {error}; write it like 30m, 6h or 72h") from error
    if nanoseconds <= 0:
        raise UsageError(f"{option} {text} keeps nothing: choose more than zero, such as {such_as}")
    return nanoseconds / 1e9


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError as error:
        raise UsageError(
            f"--listen {host} is no IP address: use 127.0.0.1, ::1 or an address of this machine"
        ) from error
