"""`fairlead chaos`: faults of the simulator in a plane that runs, for a while, and a capture of what came of them.

An experiment is an object (`model/kinds/chaosexperiment.py`): refused unless the PlaneSettings allow it, audited, seen
in `fairlead status`, and over by itself.
"""

from __future__ import annotations

import argparse
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from fairlead.cli import options as shared
from fairlead.cli.client import ApiClient, connect
from fairlead.cli.output import hint, print_json, print_table
from fairlead.core.errors import ApiError, NotFound, UsageError
from fairlead.core.times import SECOND, parse_duration, parse_time

PATH = "/apis/fairlead.dev/v1/chaosexperiments"
_LOOK_SECONDS = 1.0
_AFTER_SECONDS = 5.0  # what the last faults led to is part of it
EPILOG = r"""examples:
  fairlead chaos run --fault reply_lost=30 --controller replicaset --for 1m --reason "are creates repeated?" \
    -o lost.incident
  fairlead chaos run --fault watch_lag=50 --resource pods --for 30s --reason "stale pods" -o stale.incident
  fairlead chaos run --fault plane_pause=10 --for 2m --reason "a leader that stops" -o pause.incident
  fairlead chaos list
  fairlead chaos stop calm-otter

Refused unless spec.chaos.allowed of the PlaneSettings is true. Faults are the simulator's, with how
many percent of requests (of --controller), deliveries (of --resource) or seconds are struck:
request_lost, request_late, reply_lost, request_slow, throttled, racing_write; watch_lag, watch_broken,
watch_expired; plane_pause. Only planes are struck, a `fairlead control` too: no node, no process of a pod.
"""

Json = dict[str, Any]


def configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    run = actions.add_parser(
        "run", help="inject faults, wait for the end, and capture it", allow_abbrev=False
    )
    run.add_argument(
        "--fault",
        action="append",
        required=True,
        metavar="NAME=PERCENT",
        help="what goes wrong how often; again for more",
    )
    run.add_argument(
        "--controller",
        action="append",
        default=[],
        metavar="NAME",
        help="whose requests are struck; again for more",
    )
    run.add_argument(
        "--resource",
        action="append",
        default=[],
        metavar="NAME",
        help="whose watches are struck; again for more",
    )
    run.add_argument(
        "--for", dest="lasts", default="1m", metavar="TIME", help="how long (default: 1m; at most 1h)"
    )
    run.add_argument("--reason", required=True, help="what is to be learned, in a sentence")
    run.add_argument("--name", default="", help="of the experiment (default: chosen by the server)")
    run.add_argument(
        "--seed", type=shared.parse_whole, default=0, metavar="S", help="which faults (default: 0)"
    )
    run.add_argument(
        "--touches-nodes",
        action="store_true",
        help="allow watches of nodes and leases, which may cost pods their node",
    )
    run.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="capture it into this file when it is over"
    )
    run.add_argument("--no-wait", action="store_true", help="do not wait for the end (nothing is captured)")
    shared.add_kubeconfig(run)
    run.set_defaults(run=_run)
    listed = actions.add_parser("list", help="show experiments and what they injected", allow_abbrev=False)
    shared.add_client_options(listed, _list, "table", "json")
    stop = actions.add_parser("stop", help="end one at once: deletes it", allow_abbrev=False)
    stop.add_argument("name", metavar="NAME")
    shared.add_kubeconfig(stop)
    stop.set_defaults(run=_stop)


def running_experiments(client: ApiClient) -> list[Json]:
    """For `fairlead status`; nothing for who may not see them."""
    try:
        items = client.get(PATH)["items"]
    except ApiError:
        return []
    now = time.time()
    return [
        {"name": each["metadata"]["name"], "until": each["status"]["endsAt"], "faults": _faults(each)}
        for each in items
        if now < parse_time((each.get("status") or {}).get("endsAt") or "1970-01-01T00:00:00Z")
    ]


def _faults(experiment: Json) -> str:
    injected = {
        each["name"]: each["count"] for each in (experiment.get("status") or {}).get("injected") or ()
    }
    named = [each["name"] for each in experiment["spec"]["faults"]]
    return ", ".join(f"{name} {injected.get(name, 0)} times" for name in named)


def _body(options: argparse.Namespace) -> Json:
    from fairlead.model.kinds.chaosexperiment import CALL_FAULTS, WATCH_FAULTS

    faults: list[Json] = []
    for text in options.fault:
        name, _, percent = text.partition("=")
        if not percent.isdecimal():
            raise UsageError(f"--fault {text!r} says no percent: write it as reply_lost=30")
        faults.append({"name": name, "percent": int(percent)})
        if name in CALL_FAULTS and not options.controller:
            raise UsageError(
                f"--fault {text} strikes requests of controllers: name them, as in --controller replicaset;"
                " `fairlead queues` lists them"
            )
        if name in WATCH_FAULTS and not options.resource:
            raise UsageError(f"--fault {text} strikes watches: name of what, as in --resource pods")
    try:
        seconds = int(parse_duration(options.lasts) / SECOND)
    except ValueError as error:
        raise UsageError(f"--for {options.lasts!r} is no time: {error}") from None
    metadata = {"name": options.name} if options.name else {"generateName": "chaos-"}
    spec: Json = {"faults": faults, "seconds": seconds, "reason": options.reason}
    for field, value in (
        ("controllers", options.controller),
        ("resources", options.resource),
        ("seed", options.seed),
        ("touchesNodes", options.touches_nodes),
    ):
        if value:
            spec[field] = value
    return {"apiVersion": "fairlead.dev/v1", "kind": "ChaosExperiment", "metadata": metadata, "spec": spec}


def _run(options: argparse.Namespace) -> int:
    if options.output is not None and options.no_wait:
        raise UsageError("-o captures when it is over: leave --no-wait out")
    body = _body(options)
    with closing(connect(options.kubeconfig)) as client:
        made = client.post(PATH, body)
        name, ends = made["metadata"]["name"], made["status"]["endsAt"]
        print(f"{name} injects faults until {ends}")
        if options.no_wait:
            return 0
        try:
            made = _wait(client, name, parse_time(ends)) or made
        except KeyboardInterrupt:
            client.delete(f"{PATH}/{name}")
            hint(f"{name} was ended")
            raise
        print(f"it is over: {_faults(made)}")
        if options.output is not None:
            time.sleep(_AFTER_SECONDS)
            _capture(client, parse_time(made["metadata"]["creationTimestamp"]), options.output)
    return 0


def _wait(client: ApiClient, name: str, ends: float) -> Json | None:
    """The experiment when it has ended; None if somebody deleted it."""
    while True:
        time.sleep(_LOOK_SECONDS)
        try:
            found = client.get(f"{PATH}/{name}")
        except NotFound:
            return None
        if time.time() > ends + _LOOK_SECONDS:
            return found


def _capture(client: ApiClient, since: float, file: Path) -> None:
    from fairlead.cli.incident.origin import ServerOrigin
    from fairlead.cli.sim.artifacts import write_incident
    from fairlead.replay.capture import capture, closed_from, start_before

    origin = ServerOrigin(client)
    found = capture(origin, start_before(origin, since - 1.0), time.time())
    write_incident(file, found)
    print(f"wrote {file}: {len(found.changes)} changes, {len(found.lines)} lines")
    print(closed_from(found))
    hint(f"fairlead replay {file} --closed")


def _list(options: argparse.Namespace) -> int:
    with closing(connect(options.kubeconfig)) as client:
        items = client.get(PATH)["items"]
    if options.output == "json":
        print_json({"items": items})
        return 0
    rows = [
        (
            each["metadata"]["name"],
            (each.get("status") or {}).get("endsAt") or "-",
            _faults(each),
            each["spec"]["reason"],
        )
        for each in items
    ]
    print_table(("NAME", "ENDS", "INJECTED", "REASON"), rows)
    return 0


def _stop(options: argparse.Namespace) -> int:
    with closing(connect(options.kubeconfig)) as client:
        try:
            client.get(f"{PATH}/{options.name}")
        except NotFound:
            told = (
                f"there is no ChaosExperiment {options.name!r}: `fairlead chaos list` shows those there are"
            )
            raise NotFound(told, kind="chaosexperiments", name=options.name) from None
        client.delete(f"{PATH}/{options.name}")
    print(f"{options.name} was ended")
    return 0
