"""What a server elsewhere can do, and whether somebody there does our work already. Asked once by `process.py`.

A server that says in /version that it is Fairlead can do all that `Capabilities` name, any other nothing of it. What it
serves is in its discovery documents; a kind of ours that it lacks is as if there were no objects of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from fairlead.core import codec
from fairlead.core.errors import OperatorError
from fairlead.core.times import parse_time
from fairlead.model.catalog import CATALOG
from fairlead.model.policy import evidence_rows
from fairlead.model.views import EVIDENCE_POLICIES
from fairlead.port.capabilities import FAIRLEAD, KUBERNETES, Capabilities
from fairlead.port.outcome import Conflict, Done, Refused
from fairlead.port.request import Request
from fairlead.runtime.remote.api import Remote
from fairlead.runtime.remote.settings import DEFAULT_SCHEDULER_NAME, ControlSettings

_LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
_QUEUES = "/fairlead/v1/queues"
# So long after its lease ended a component is taken to be gone; clocks differ.
_GONE_SECONDS = 60.0
_EMPTIED_BY = frozenset({"list", "deletecollection"})


async def capabilities(remote: Remote, forced: str) -> Capabilities:
    version = await _read(remote, "/version")
    # Several bindings have no form on the wire.
    found = replace(FAIRLEAD, together=False) if "+fairlead-" in version.get("gitVersion", "") else KUBERNETES
    if forced == "kubernetes":
        found = KUBERNETES
    lacking = {kind.resource for kind in CATALOG}
    for group, group_version in sorted({(kind.group, kind.version) for kind in CATALOG}):
        path = f"/apis/{group}/{group_version}" if group else f"/api/{group_version}"
        served = {each["name"] for each in (await _read(remote, path)).get("resources") or ()}
        lacking -= {
            kind.resource
            for kind in CATALOG
            if (kind.group, kind.version) == (group, group_version) and kind.plural in served
        }
    namespaced = () if found.collects else await _namespaced(remote)
    return replace(found, lacks=frozenset(lacking), namespaced=namespaced)


async def _namespaced(remote: Remote) -> tuple[tuple[str, str, str], ...]:
    """All that a namespace there may hold and that can be deleted."""
    served = [("", "v1", "/api/v1")]
    for each in (await _read(remote, "/apis")).get("groups") or ():
        version = (each.get("preferredVersion") or each["versions"][0])["version"]
        served.append((each["name"], version, f"/apis/{each['name']}/{version}"))
    found: list[tuple[str, str, str]] = []
    for group, version, path in served:
        for each in (await _read(remote, path)).get("resources") or ():
            may_be_left = each.get("namespaced") and "/" not in each["name"]
            if may_be_left and set(each.get("verbs") or ()) >= _EMPTIED_BY:
                found.append((group, version, each["name"]))
    return tuple(found)


async def is_taken_for(remote: Remote, name: str, user: str = "") -> bool:
    """Whether the server takes this client's requests for those of `name`, who is named as `user` where it is not who
    `remote` names always; not if it may not impersonate, or if
    something on the way drops the headers that say so."""
    body = codec.encode({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"})
    outcome = await remote.ask(
        Request("create", "authentication.k8s.io", "v1", "selfsubjectreviews", body=body), user=user
    )
    if isinstance(outcome, Done):
        found = codec.decode(outcome.body)
        return bool(found["status"]["userInfo"].get("username") == name)
    if isinstance(outcome, Refused) and outcome.retry != "later":
        return False
    raise NotYet(f"who this is was answered with: {outcome.message}")


async def ensure_policy(remote: Remote, found: Capabilities) -> None:
    """The EvidencePolicy that a Fairlead server begins with, where its kind was installed and nobody made one yet."""
    if found.collects or EVIDENCE_POLICIES.name in found.lacks:
        return
    body = codec.encode(evidence_rows.default_policy())
    outcome = await remote.ask(Request("create", "fairlead.dev", "v1", "evidencepolicies", body=body))
    if not isinstance(outcome, Done | Conflict):
        raise NotYet(f"the first EvidencePolicy could not be made: {outcome.message}")


async def check_is_free(remote: Remote, settings: ControlSettings, now: float) -> None:
    """OperatorError if somebody else is at work there on what this plane would do: they would undo each other's."""
    own = await _read(remote, _QUEUES)
    # A server without a scheduler tells of the plane elsewhere that it last heard of, with its name.
    is_own = own.get("scheduler") is not None and "plane" not in own
    if is_own and settings.scheduler_name == DEFAULT_SCHEDULER_NAME:
        raise OperatorError(
            "this server runs a scheduler and controllers of its own: start it with --without-controllers, or add"
            " --only scheduler and --scheduler-name NAME for pods that name it"
        )
    for name, concerned, then in (
        (
            "kube-controller-manager",
            not settings.only_scheduler,
            "add --only scheduler, and leave the workloads to it",
        ),
        (
            "kube-scheduler",
            settings.scheduler_name == DEFAULT_SCHEDULER_NAME,
            "stop it, or add --scheduler-name NAME for pods that name this one",
        ),
    ):
        if concerned and _is_held(await _read(remote, f"{_LEASES}/{name}"), now):
            raise OperatorError(f"{name} is at work there: {then}")


def describe(found: Capabilities, resources: Iterable[str], margin_seconds: float, user: str) -> list[str]:
    """What a person should know of it, at the start. `user`: in whose name it writes; "": the kubeconfig's."""
    if user:
        told = [f"its writes carry the name {user}"]
    else:
        told = [
            "the kubeconfig's user may not impersonate: writes carry that user's name in the audit, and a Fairlead"
            " server lets nobody but its plane say that a pod was released"
        ]
    if not found.fencing:
        told.append(
            f"this API has no fences: the leader stops writing {margin_seconds:g} s before its lease ends, and what"
            " arrives later is judged by uid and resourceVersion alone"
        )
    if not found.premises:
        told.append("what a write rests on is read just before it, not in its transaction")
    if not found.charging:
        told.append(
            "placement quotas are read just before a binding, and reservations marked by a second write after it"
        )
    if not found.collects:
        told.append("this plane collects garbage there and empties deleted namespaces")
    absent = sorted(found.lacks & set(resources))
    if absent:
        told.append(
            f"not served there, so taken to be empty until this is started again: {', '.join(absent)}"
        )
    if EVIDENCE_POLICIES.name in absent:
        told.append(
            "nodes are judged by the built-in EvidencePolicy; pods of a silent node are released on a person's word"
            " alone, because there is no object whose status could count releases: install the kinds with"
            " `fairlead kinds | kubectl apply --server-side -f -` and start this again"
        )
    return told


def _is_held(lease: dict[str, Any], now: float) -> bool:
    spec = lease.get("spec") or {}
    if not spec.get("holderIdentity"):
        return False
    try:
        renewed = parse_time(spec["renewTime"])
    except (KeyError, ValueError):
        return True
    return now < renewed + float(spec.get("leaseDurationSeconds") or 0) + _GONE_SECONDS


async def _read(remote: Remote, path: str) -> dict[str, Any]:
    """Nothing where there is nothing (404)."""
    answer = await remote.document(path)
    if answer.status == 404:
        return {}
    if answer.status in (401, 403):
        raise OperatorError(
            f"the server refuses {path} ({answer.status}): use a kubeconfig whose user may read and write what the"
            " scheduler and the controllers need"
        )
    if answer.status != 200:
        raise NotYet(f"{path} was answered with {answer.status}")
    try:
        found = codec.decode(answer.body)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise OperatorError(f"{path} was not answered with JSON: is that an API server?")
    return found


class NotYet(Exception):
    """It may answer later."""
