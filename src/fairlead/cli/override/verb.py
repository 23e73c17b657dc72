"""`fairlead override`: lays something down for a while, ends it, approves it, tells what it did.

One line makes one SchedulerOverride with safe defaults: half an hour, the target's namespace, a name of its own. What
would come of it is looked at first and kept with it, where anything moves (`override_risks.moves`): a pause is made at
once. The command then waits a moment until the controllers concerned have taken note, and says who has not.
"""

from __future__ import annotations

import argparse
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

from fairlead.cli import options as shared
from fairlead.cli.client import ApiClient, connect
from fairlead.cli.output import hint, print_json
from fairlead.cli.override.absent import absence_told
from fairlead.core.errors import UsageError

if TYPE_CHECKING:
    from fairlead.sim.preview.difference import PreviewDifference

Json = dict[str, Any]
KUBE_SYSTEM = "kube-system"
_PLACES = ("node", "pool", "zone", "region")
PAUSES = {
    "autoscaler": "pauseAutoscaler",
    "expansion": "pauseExpansion",
    "rollout": "pauseRollout",
    "repair": "pauseRepair",
}
#: bound: plane | `fairlead override` waits for controllers to take note for | it says who has not
OBSERVED_SECONDS = 3.0
_POLL_SECONDS = 0.05
_NOT_YET = "no plane has answered yet; `fairlead overrides` tells when one does"

EPILOG = """examples:
  fairlead override pause autoscaler deployment/risk-api --for 30m --reason "scheduler lags"
  fairlead override avoid deployment/risk-api zone/eu-west-a --reason "stale capacity"
  fairlead override capacity deployment/risk-api recovery --replicas 2 --reason "below target"
  fairlead override priority deployment/risk-api urgent --replicas 2 --reason "below target"
  fairlead override drain zone/eu-west-a --for 1h --reason "power works" --ticket OPS-7
  fairlead override drain zone/eu-west-a --reason "power works" --dry-run      what moves, what would wait
  fairlead override end pause-risk-api-x7f2q
  fairlead override report pause-risk-api-x7f2q
  fairlead overrides                            what is active, by whom, until when

Each ends by itself; `--for` says when (default: 30m). Nothing of it can be changed later on: make another with
`--replaces NAME` for more time. A place (node/, pool/, zone/, region/) or the cluster is for those who may make
overrides in kube-system.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(metavar="ACTION", title="actions", required=True, dest="action")
    pause = _making(actions, "pause", "stop autoscaling, growth, a rollout or repair of a target for a while")
    pause.add_argument("what", choices=tuple(PAUSES), help="what is to stop")
    pause.add_argument(
        "target", metavar="TARGET", help="deployment/NAME and its kin, namespace/NAME or cluster"
    )
    avoid = _making(actions, "avoid", "place nothing new of a target in a zone, a pool or on a node")
    avoid.add_argument(
        "target", metavar="TARGET", help="deployment/NAME and its kin, namespace/NAME or cluster"
    )
    avoid.add_argument("places", metavar="PLACE", nargs="+", help="zone/NAME, pool/NAME or node/NAME")
    capacity = _making(actions, "capacity", "let replicas of a target use nodes kept for a capacity class")
    capacity.add_argument("target", metavar="TARGET", help="deployment/NAME and its kin")
    capacity.add_argument("capacity_class", metavar="CLASS", help="as the SchedulingPolicy in use names it")
    capacity.add_argument(
        "--replicas", type=shared.parse_whole, default=1, metavar="N", help="how many at most (default: 1)"
    )
    priority = _making(actions, "priority", "place replicas of a target with the priority of a PriorityClass")
    priority.add_argument("target", metavar="TARGET", help="deployment/NAME and its kin, or namespace/NAME")
    priority.add_argument("priority_class", metavar="CLASS", help="as `kubectl get priorityclasses` names it")
    priority.add_argument(
        "--replicas",
        type=shared.parse_whole,
        default=1,
        metavar="N",
        help="how many at a time may have one above their own (default: 1)",
    )
    priority.add_argument("--never-preempt", action="store_true", help="they push nobody out")
    for verb, text in (
        ("cordon", "place nothing new in a place"),
        ("drain", "take the pods of a place away"),
    ):
        each = _making(actions, verb, text)
        each.add_argument("target", metavar="PLACE", help="node/NAME, pool/NAME, zone/NAME or region/NAME")
    traffic = _making(actions, "traffic", "share the traffic of a target's Services between zones by weight")
    traffic.add_argument("target", metavar="TARGET", help="deployment/NAME and its kin, or namespace/NAME")
    traffic.add_argument("weights", metavar="ZONE=WEIGHT", nargs="+", help="from 0 to 100; others have 100")
    removal = _making(actions, "approve-repair", "let repair remove one pod that it leaves to people")
    removal.add_argument("target", metavar="POD", help="pod/NAME, as `fairlead repair` names it")
    _on_one(actions, "approve", "let an override hold that needs a second person", _approve)
    _on_one(actions, "end", "end an override now", _end)
    _on_one(actions, "report", "show what was done under an override, and what it left", _report)


def _making(actions: Any, name: str, text: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = actions.add_parser(
        name, help=text, description=text, allow_abbrev=False
    )
    parser.add_argument(
        "--for", dest="lasts", metavar="TIME", default="30m", help="how long, as 90s or 1h (default: 30m)"
    )
    parser.add_argument("--reason", metavar="TEXT", required=True, help="why, for who is paged next")
    parser.add_argument("--owner", metavar="TEXT", default="", help="who answers for it (default: you)")
    parser.add_argument("--ticket", metavar="TEXT", default="", help="where more is written about it")
    parser.add_argument("--scope", metavar="PLACE", default="", help="only in zone/, pool/ or region/NAME")
    parser.add_argument("--replaces", metavar="NAME", default="", help="the override that it prolongs")
    parser.add_argument("--name", metavar="NAME", default="", help="its name (default: one is made)")
    parser.add_argument("--dry-run", action="store_true", help="say what it would do; make nothing")
    look = parser.add_mutually_exclusive_group()
    look.add_argument(
        "--skip-preview",
        action="store_true",
        help="make it without looking ahead; it says so, and the audit log",
    )
    look.add_argument(
        "--preview", action="store_true", help="look ahead also for what moves nothing: a pause"
    )
    shared.add_namespace(parser, "of the target (default: that of the kubeconfig)")
    shared.add_client_options(parser, _make, "text", "json")
    return parser


def _on_one(actions: Any, name: str, text: str, run: Any) -> None:
    parser = actions.add_parser(name, help=text, description=text, allow_abbrev=False)
    parser.add_argument("name", metavar="NAME", help="as `fairlead overrides` shows it")
    shared.add_namespace(parser, "where it is (default: that of the kubeconfig, then kube-system)")
    shared.add_client_options(parser, run, "text", "json")


# Making one


def changes_of(options: argparse.Namespace) -> Json:
    action = options.action
    changes: Json
    if action == "pause":
        return {PAUSES[options.what]: True}
    if action in ("cordon", "drain"):
        return {action: True}
    if action == "capacity":
        return {
            "allowReservedCapacityClass": options.capacity_class,
            "reservedReplicas": options.replicas,
        }
    if action == "priority":
        changes = {"priorityClassName": options.priority_class, "priorityReplicas": options.replicas}
        return {**changes, "preemptionPolicy": "Never"} if options.never_preempt else changes
    if action == "traffic":
        return {"trafficWeights": [_weight(each) for each in options.weights]}
    changes = {}
    for place in options.places:
        sort, _, name = place.partition("/")
        if sort in ("zone", "pool") and name:
            changes.setdefault(f"avoid{sort.capitalize()}s", []).append(name)
        elif sort == "node" and name:
            values = changes.setdefault("avoidNodes", {"matchExpressions": [_on_host([])]})
            values["matchExpressions"][0]["values"].append(name)
        else:
            raise UsageError(f"{place!r} is no place: write zone/NAME, pool/NAME or node/NAME")
    return changes


def _on_host(names: list[str]) -> Json:
    return {"key": "kubernetes.io/hostname", "operator": "In", "values": names}


def _weight(text: str) -> Json:
    zone, found, weight = text.partition("=")
    if not zone or not found or not weight.isdigit():
        raise UsageError(f"{text!r} is no weight: write ZONE=WEIGHT, as in eu-west-a=0")
    return {"zone": zone, "weight": int(weight)}


def _make(options: argparse.Namespace) -> int:
    from fairlead.cli.override.preview import PREVIEW_SECONDS, foresee
    from fairlead.model.kinds.override_preview import skipped
    from fairlead.model.policy.override_risks import moves

    with closing(connect(options.kubeconfig)) as client, absence_told():
        body = _body(client, options)
        path = path_of(body["metadata"]["namespace"])
        looks = moves(body["spec"]["changes"]) and not options.skip_preview
        if options.dry_run or options.preview or looks:
            wanted = client.post(path, body, {"dryRun": "All"})  # what is refused is not looked ahead for
            limit = None if options.dry_run else PREVIEW_SECONDS
            found, preview = foresee(options.kubeconfig, wanted, limit)
            if options.dry_run:
                return _tell_dry(wanted, found, preview, options)
            body["spec"]["preview"] = preview
        elif options.skip_preview:
            body["spec"]["preview"] = skipped("by --skip-preview")
        made = _wait_observed(client, client.post(path, body))
    if options.output == "json":
        print_json(made)
        return 0
    return _tell(made, options)


def _tell_dry(
    wanted: Json, found: PreviewDifference | None, preview: Json, options: argparse.Namespace
) -> int:
    from fairlead.cli.forecast import print_difference
    from fairlead.model.kinds.override_preview import told

    if options.output == "json":
        print_json({"override": wanted, "forecast": found.as_json() if found is not None else preview})
        return 0
    _tell(wanted, options)
    print()
    if found is not None:
        print_difference(found)
    else:
        print(f"preview {told(preview)}")
    return 0


def _body(client: ApiClient, options: argparse.Namespace) -> Json:
    target = options.target
    sort = target.partition("/")[0]
    namespace = options.namespace or client.target.namespace
    if options.action == "approve-repair":
        pod = target.removeprefix("pod/")
        found = client.get(f"/api/v1/namespaces/{namespace}/pods/{pod}")
        target, changes = (
            _workload_of(found, namespace),
            {"approveRepair": {"kind": "Pod", "name": pod, "uid": found["metadata"]["uid"]}},
        )
    else:
        changes = changes_of(options)
        if sort in _PLACES or sort == "cluster":
            namespace = options.namespace or KUBE_SYSTEM
        elif sort == "namespace" and not options.namespace:
            namespace = target.partition("/")[2] or client.target.namespace
    spec: Json = {
        "target": target,
        "reason": options.reason,
        "expiresAfter": options.lasts,
        "changes": changes,
    }
    for field in ("scope", "owner", "ticket", "replaces"):
        if getattr(options, field):
            spec[field] = getattr(options, field)
    last = target.partition("/")[2] or target
    named = {"name": options.name} if options.name else {"generateName": f"{options.action}-{last}-"}
    return {
        "apiVersion": "fairlead.dev/v1",
        "kind": "SchedulerOverride",
        "metadata": {**named, "namespace": namespace},
        "spec": spec,
    }


def _workload_of(pod: Json, namespace: str) -> str:
    """An approval is of one pod; its target is what that belongs to, for people to find it by."""
    owner = next(
        (each for each in pod["metadata"].get("ownerReferences") or () if each.get("controller")), None
    )
    known = {"ReplicaSet", "StatefulSet", "DaemonSet", "Job"}
    return (
        f"{owner['kind'].lower()}/{owner['name']}"
        if owner and owner["kind"] in known
        else f"namespace/{namespace}"
    )


def path_of(namespace: str, name: str = "") -> str:
    place = f"/namespaces/{namespace}" if namespace else ""
    return f"/apis/fairlead.dev/v1{place}/scheduleroverrides" + (f"/{name}" if name else "")


def condition_of(override: Json, type_: str) -> Json:
    conditions = (override.get("status") or {}).get("conditions") or ()
    return next((each for each in conditions if each.get("type") == type_), {})


def _wait_observed(client: ApiClient, made: Json) -> Json:
    meta = made["metadata"]
    until = time.monotonic() + OBSERVED_SECONDS
    while True:
        made = client.get(path_of(meta["namespace"], meta["name"]))
        if condition_of(made, "SchedulerOverrideObserved") or time.monotonic() >= until:
            return made
        time.sleep(_POLL_SECONDS)


def _tell(made: Json, options: argparse.Namespace) -> int:
    from fairlead.model.kinds.override_preview import told as told_preview
    from fairlead.model.policy.override_risks import controls_of

    meta, spec = made["metadata"], made["spec"]
    told = "would hold" if options.dry_run else "holds"
    if spec.get("approval"):
        told = "would wait for approval" if options.dry_run else "waits for approval"
        hint(f"a second person has to approve it: {spec['approval']}")
    print(f"scheduleroverride/{meta['name']} {told} for {spec['target']} until {spec['expiresAt']}")
    for each in controls_of(spec["changes"]):
        print(f"  {each.name}: {each.changes}")
        print(f"  risk: {each.risk}")
        if each.left:
            print(f"  its end does not undo: {each.left}")
    if options.dry_run:
        return 0
    print(f"  foreseen: {told_preview(spec['preview'])}")
    observed = condition_of(made, "SchedulerOverrideObserved")
    if observed.get("status") == "True":
        print(f"  observed {observed['message']}")
    elif not spec.get("approval"):
        hint(f"not every controller has taken note: {observed.get('message') or _NOT_YET}")
    print(f"  end it: fairlead override end {meta['name']} -n {meta['namespace']}")
    return 0


# One that is there


def find(client: ApiClient, options: argparse.Namespace) -> Json:
    """By its name, in the namespace that is meant, then among those of the whole cluster."""
    from fairlead.core.errors import NotFound

    spaces = spaces_of(client, options)
    for space in spaces:
        try:
            return client.get(path_of(space, options.name))
        except NotFound:
            continue
    raise NotFound(
        f'there is no override "{options.name}" in {" or ".join(spaces)}: `fairlead overrides` lists them'
    )


def spaces_of(client: ApiClient, options: argparse.Namespace) -> list[str]:
    meant = [options.namespace] if options.namespace else [client.target.namespace, KUBE_SYSTEM]
    return list(dict.fromkeys(meant))


def _approve(options: argparse.Namespace) -> int:
    with closing(connect(options.kubeconfig)) as client:
        found = find(client, options)
        meta = found["metadata"]
        approved = {"type": "Approved", "status": "True", "reason": "Approved", "message": "approved"}
        others = [
            each
            for each in (found.get("status") or {}).get("conditions") or ()
            if each.get("type") != "Approved"
        ]
        body = {
            "metadata": {"resourceVersion": meta["resourceVersion"]},
            "status": {"conditions": [*others, approved]},
        }
        made = client.patch(f"{path_of(meta['namespace'], meta['name'])}/approval", body)
        made = _wait_approved(client, made)
    if options.output == "json":
        print_json(made)
    else:
        print(f"scheduleroverride/{meta['name']} approved; it holds until {found['spec']['expiresAt']}")
    return 0


def _wait_approved(client: ApiClient, made: Json) -> Json:
    meta = made["metadata"]
    until = time.monotonic() + OBSERVED_SECONDS
    while condition_of(made, "SchedulerOverrideObserved").get("status") != "True":
        if time.monotonic() >= until:
            break
        time.sleep(_POLL_SECONDS)
        made = client.get(path_of(meta["namespace"], meta["name"]))
    return made


def _end(options: argparse.Namespace) -> int:
    from fairlead.cli.override.beside import holding_beside

    with closing(connect(options.kubeconfig)) as client:
        found = find(client, options)
        meta = found["metadata"]
        client.delete(path_of(meta["namespace"], meta["name"]))
        beside = holding_beside(client, path_of(meta["namespace"]), found, time.time())
    if options.output == "json":
        print_json(found)
        return 0
    print(f"scheduleroverride/{meta['name']} ended")
    for each in (found.get("status") or {}).get("undoPlan") or ():
        print(f"  {each}{f', once {beside} has ended as well' if beside else ''}")
    print(f"  what it left: fairlead override report {meta['name']} -n {meta['namespace']}")
    return 0


def _report(options: argparse.Namespace) -> int:
    from fairlead.cli.override.report import report

    with closing(connect(options.kubeconfig)) as client:
        return report(client, options)
