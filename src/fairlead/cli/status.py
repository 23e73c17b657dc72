"""`fairlead status`: whether a plane runs on a data directory, where, since when, and whether all is well with it.

What serves and what decides are told apart: the API may answer while nobody leads, and workloads may be ready while
controllers are behind, and the reverse.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from contextlib import closing
from typing import Any

from fairlead.cli import options as shared
from fairlead.cli.chaos import running_experiments
from fairlead.cli.client import ApiClient, connect
from fairlead.cli.output import cell, print_json
from fairlead.core.errors import ApiError, DataDirectoryError, FairleadError, Unreachable
from fairlead.core.times import human_duration, timestamp
from fairlead.model.reasons import LATE

#: bound: plane | problems shown by `fairlead status` | the rest is counted
PROBLEMS_SHOWN_MAX = 20
#: bound: plane | `fairlead status` waits for an answer | it says that the server does not answer; exit code 6
ANSWER_SECONDS = 5.0
_PAGE = "500"
_NOTE = "warn: "  # of /readyz?verbose: what keeps nobody from being served
_SERVICE = frozenset(
    {"ping", "store"}
)  # checks of /readyz about the API; the others are about the control plane
_WORKLOADS = (  # their address, and where it stands how many replicas are wanted and how many are ready
    ("/apis/apps/v1/deployments", ("spec", "replicas"), ("status", "readyReplicas")),
    ("/apis/apps/v1/statefulsets", ("spec", "replicas"), ("status", "readyReplicas")),
    ("/apis/apps/v1/daemonsets", ("status", "desiredNumberScheduled"), ("status", "numberReady")),
)
EPILOG = """examples:
  fairlead status                              of the plane that keeps its data in ./fairlead-data
  fairlead status --data-dir /var/lib/fairlead -o json | jq .problems

Exit code 0 when it runs and is well, 1 when it runs and has problems, 6 when nothing runs or it does not answer.
"""

Json = dict[str, Any]


def configure(parser: argparse.ArgumentParser) -> None:
    shared.data_dir(parser)
    shared.add_output(parser, "text", "json")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from fairlead.runtime.data.holding import holder

    directory = options.data_dir
    if not directory.is_dir():
        raise DataDirectoryError(f"{directory} is no data directory: name one with --data-dir")
    found = holder(directory)
    told: Json = {"dataDir": str(directory.resolve()), "running": found is not None}
    code = Unreachable.exit_code
    if found is not None:
        told |= {"process": found.pid, "since": timestamp(found.since)}
        said, code = _asked(directory)
        told |= said
    if options.output == "json":
        print_json(told)
    else:
        _print(told, 0.0 if found is None else time.time() - found.since)
    return code


def _asked(directory: Any) -> tuple[Json, int]:
    """What the server itself says, and the exit code; a server that does not answer is a problem, not an error."""
    code = 0
    problems: list[str] = []
    told: Json = {
        "server": None,
        "ready": False,
        "plane": None,
        "workloads": None,
        "nodes": None,
        "pods": None,
    }
    told["problems"] = problems
    try:
        with closing(connect(directory / "kubeconfig", ANSWER_SECONDS)) as client:
            told["server"] = client.target.server
            status, text = client.text("/readyz", {"verbose": ""})
            told["ready"] = status == 200
            checks = _checks(text)
            told["plane"] = {name: problem for name, problem in checks.items() if name not in _SERVICE}
            for name, problem in checks.items():
                if problem:
                    what = "the control plane does not work" if name in told["plane"] else "not ready"
                    problems.append(f"{what}: {name} failed: {problem}")
            problems += _damage(text)
            short: list[str] = []
            told["workloads"] = _workloads(client, short)
            told["nodes"] = _nodes(client, problems)
            problems += short
            problems += _failed_jobs(client)
            told["pods"] = _pods(client, problems)
            _controllers(client, problems)
            told["chaos"] = running_experiments(client)
    except FairleadError as error:
        problems.append(str(error))
        if isinstance(error, Unreachable):
            code = error.exit_code
    if not told["ready"] and not problems:
        problems.append("it is not ready")
    return told, code or int(bool(problems))


def _checks(text: str) -> dict[str, str]:
    """What /readyz?verbose says: each check and its problem, "" for none."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        if line.startswith(("[+]", "[-]")):
            name, _, rest = line[3:].partition(" ")
            found[name] = rest.removeprefix("failed: ") if line[1] == "-" else ""
    return found


def _damage(text: str) -> list[str]:
    """What /readyz?verbose says of damaged objects. Nobody can do anything about what was lost: it is left out."""
    notes = [line.removeprefix(_NOTE) for line in text.splitlines() if line.startswith(_NOTE)]
    return [each for each in notes if "damaged" in each]


def _workloads(client: ApiClient, problems: list[str]) -> Json:
    """Deployments, StatefulSets and DaemonSets: how many are ready, and their replicas; what the others lack."""
    count = ready = wanted_all = ready_all = 0
    for path, (part, wanted_field), (status, ready_field) in _WORKLOADS:
        for item in _items(client, path):
            wanted = (item.get(part) or {}).get(wanted_field) or 0
            found = min(wanted, (item.get(status) or {}).get(ready_field) or 0)
            count, ready = count + 1, ready + (found >= wanted)
            wanted_all, ready_all = wanted_all + wanted, ready_all + found
            if trouble := _trouble(item, found, wanted):
                meta, kind = item["metadata"], path.rpartition("/")[2].removesuffix("s")
                name = f"{kind}/{meta['name']} -n {meta['namespace']}"
                problems.append(f"{trouble} (`fairlead debug {name}`)")
    return {"count": count, "ready": ready, "replicas": wanted_all, "readyReplicas": ready_all}


def _trouble(workload: Json, found: int, wanted: int) -> str:
    """What its progress says of a workload that has too few replicas, or whose rollout is late."""
    meta, told = workload["metadata"], (workload.get("status") or {}).get("progress") or {}
    hold = (told.get("hold") or {}).get("reason") or ""
    if found >= wanted and hold != LATE:
        return ""
    reasons = [each["reason"] for each in told.get("pending") or () if each.get("reason")]
    why = ", ".join(dict.fromkeys((*reasons, *([hold] if hold else []))))
    return f"{meta['namespace']}/{meta['name']}: {found} of {wanted} replicas are ready" + (
        f": {why}" if why else ""
    )


def _items(client: ApiClient, path: str) -> list[Json]:
    found: list[Json] = []
    following = ""
    while True:
        page = client.get(path, {"limit": _PAGE, "continue": following})
        found += page.get("items") or []
        following = (page.get("metadata") or {}).get("continue") or ""
        if not following:
            return found


def _nodes(client: ApiClient, problems: list[str]) -> Json:
    nodes = _items(client, "/api/v1/nodes")
    ready = 0
    for node in nodes:
        conditions = {each["type"]: each for each in (node.get("status") or {}).get("conditions") or ()}
        found = conditions.get("Ready") or {}
        if found.get("status") == "True":
            ready += 1
        else:
            problems.append(
                f"node {node['metadata']['name']} is not ready: {found.get('message') or 'not known'}"
            )
    return {"count": len(nodes), "ready": ready}


def _pods(client: ApiClient, problems: list[str]) -> Json:
    pods = _items(client, "/api/v1/pods")
    phases = Counter(map(_phase, pods))
    tried = sum(_phase(pod) == "Failed" and _is_of_job(pod) for pod in pods)  # its Job tells what came of it
    for phase in ("Pending", "Failed", "Unknown"):
        found = phases[phase] - (tried if phase == "Failed" else 0)
        if found:
            problems.append(f"pods {phase}: {found} (`fairlead get pods -A` lists them)")
    return {"count": len(pods), "phases": dict(sorted(phases.items()))}


def _phase(pod: Json) -> str:
    return (pod.get("status") or {}).get("phase") or "Unknown"


def _is_of_job(pod: Json) -> bool:
    return any(
        each.get("kind") == "Job" and each.get("controller")
        for each in pod["metadata"].get("ownerReferences") or ()
    )


def _failed_jobs(client: ApiClient) -> list[str]:
    return [
        f"{job['metadata']['namespace']}/{job['metadata']['name']}: the Job failed: {each.get('reason')}"
        f" (`fairlead debug job/{job['metadata']['name']} -n {job['metadata']['namespace']}`)"
        for job in _items(client, "/apis/batch/v1/jobs")
        for each in (job.get("status") or {}).get("conditions") or ()
        if (each.get("type"), each.get("status")) == ("Failed", "True")
    ]


def _controllers(client: ApiClient, problems: list[str]) -> None:
    try:
        answer = client.get("/fairlead/v1/queues")
    except ApiError:
        return  # who may not see them
    for item in answer["items"]:
        if item["stuck"] or item["queue"]["failing"]:
            problems.append(f"controller {item['controller']} keeps failing: `fairlead queues`")


def _print(told: Json, seconds: float) -> None:
    lines = [("data", told["dataDir"])]
    if not told["running"]:
        lines.insert(0, ("running", "no"))
    else:
        ago = human_duration(max(0.0, seconds))
        lines.insert(0, ("running", f"yes, process {told['process']}, since {told['since']} ({ago})"))
        lines += [("server", told["server"]), ("ready", "yes" if told["ready"] else "no")]
        if told["plane"] is not None:
            failing = [name for name, problem in told["plane"].items() if problem]
            lines.append(("plane", f"does not work: {', '.join(failing)}" if failing else "works"))
        if told["workloads"]:
            found = told["workloads"]
            pending = found["replicas"] - found["readyReplicas"]
            replicas = f"replicas {found['readyReplicas']} of {found['replicas']} ready, {pending} pending"
            lines.append(("workloads", f"{found['count']}, {found['ready']} ready; {replicas}"))
        if told["nodes"]:
            lines.append(("nodes", f"{told['nodes']['count']}, {told['nodes']['ready']} ready"))
        if told["pods"]:
            phases = ", ".join(f"{count} {phase}" for phase, count in told["pods"]["phases"].items())
            lines.append(("pods", f"{told['pods']['count']}" + (f": {phases}" if phases else "")))
        for each in told.get("chaos") or ():
            lines.append(("chaos", f"{each['name']} until {each['until']}: {each['faults']}"))
        lines.append(("problems", str(len(told["problems"])) if told["problems"] else "none"))
    for title, text in lines:
        print(f"{title + ':':<11}{cell(text)}")
    shown = told.get("problems", ())[:PROBLEMS_SHOWN_MAX]
    for problem in shown:
        print(f"  - {cell(problem)}")
    more = len(told.get("problems", ())) - len(shown)
    if more > 0:
        print(f"  - and {more} more")
