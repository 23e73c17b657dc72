"""GET pods/NAME/log: what a container printed, as it is on its node (`kubectl logs`).

Which container is meant and whether the options make sense is decided here; what there is to read only the node's
agent knows, so it is asked, and its answer is passed on as it comes. What it does not have is told in kubelet's words,
from the status of the container.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from urllib.parse import quote, urlencode

from fairlead.api.desk import Desk
from fairlead.api.finding import find
from fairlead.api.node_addresses import no_answer, parse_node_address
from fairlead.api.objects import tree
from fairlead.api.plan import Context, NodeAddress, NodeStream
from fairlead.core.errors import ApiError, BadRequest, Invalid, NotFound, TooManyRequests
from fairlead.core.problems import Problems
from fairlead.core.times import parse_time
from fairlead.model.key import Key
from fairlead.model.kind import Json, Kind
from fairlead.port.query import parse_flag
from fairlead.port.request import Request

_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")
_STATUSES = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
_NUMBERS = {"tailLines": 0, "sinceSeconds": 1, "limitBytes": 1}  # the least that makes sense
_FLAGS = ("follow", "previous", "timestamps")
_DIGITS_MAX = 18


def get(desk: Desk, request: Request, kind: Kind, context: Context) -> NodeStream:
    pod = tree(find(desk, kind, request))
    container = _container(pod, request.query.get("container", ""))
    asked = _options(request.query)
    status = _status(pod, container)
    if asked.get("previous") and _rests(status):
        del asked["previous"]  # between two runs the newest is the previous one
    metadata = pod["metadata"]
    node = _node(desk, pod, container)
    path = "/".join(quote(each, safe="") for each in (metadata["namespace"], metadata["name"], container))
    target = f"/logs/{path}?{urlencode({'uid': metadata['uid'], **asked})}"

    def refused(code: int, message: str) -> Exception:
        if code == 404:
            return _nothing(metadata["name"], container, status, "previous" in asked)
        if code == 429:
            return TooManyRequests(f'node "{node.name}": {message}')
        return no_answer(node, message or f"it says {code}")

    return NodeStream(node, target, refused)


def _container(pod: Json, asked: str) -> str:
    names = {
        field: [each["name"] for each in pod["spec"].get(field) or () if each.get("name")]
        for field in _CONTAINERS
    }
    name = pod["metadata"]["name"]
    if asked:
        if not any(asked in each for each in names.values()):
            raise BadRequest(f"container {asked} is not valid for pod {name}")
        return asked
    containers, inits, ephemeral = names.values()
    if len(containers) == 1:
        return str(containers[0])
    choice = f"a container name must be specified for pod {name}, choose one of: {_listed(containers)}"
    if inits:
        choice += f" or one of the init containers: {_listed(inits)}"
    if ephemeral:
        choice += f" or one of the ephemeral containers: {_listed(ephemeral)}"
    raise BadRequest(choice)


def _listed(names: Iterable[str]) -> str:
    return f"[{' '.join(names)}]"


def _options(query: Mapping[str, str]) -> dict[str, str]:
    """Those that the node is to heed, checked."""
    problems = Problems()
    asked: dict[str, str] = {name: "true" for name in _FLAGS if parse_flag(query, name)}
    for name, least in _NUMBERS.items():
        text = query.get(name, "")
        if not text:
            continue
        digits = text.removeprefix("-")
        if not (digits.isascii() and digits.isdigit() and len(digits) <= _DIGITS_MAX):
            raise BadRequest(f"query parameter {name}: {text[:40]!r} is not a whole number")
        if int(text) < least:
            wrong = "must be greater than or equal to 0" if least == 0 else "must be greater than 0"
            problems.invalid(name, int(text), wrong)
        asked[name] = text
    since = query.get("sinceTime", "")
    if since:
        try:
            parse_time(since)
        except ValueError as error:
            raise BadRequest(f"query parameter sinceTime: {error}") from error
        if "sinceSeconds" in asked:
            problems.forbidden("", "at most one of `sinceTime` or `sinceSeconds` may be specified")
        asked["sinceTime"] = since
    if problems:
        raise Invalid(
            f'PodLogOptions.v1. "" is invalid: {problems.summary()}',
            causes=tuple(problems.causes),
            kind="PodLogOptions",
        )
    return asked


def _status(pod: Json, container: str) -> Json:
    status = pod.get("status") or {}
    for field in _STATUSES:
        for each in status.get(field) or ():
            if each.get("name") == container:
                found: Json = each
                return found
    return {}


def _rests(status: Json) -> bool:
    """Ended, and to be started again."""
    last = (status.get("lastState") or {}).get("terminated")
    return bool(last) and bool((status.get("state") or {}).get("waiting"))


def _node(desk: Desk, pod: Json, container: str) -> NodeAddress:
    name, pod_name = pod["spec"].get("nodeName") or "", pod["metadata"]["name"]
    if not name:
        raise BadRequest(
            f'container "{container}" in pod "{pod_name}" is waiting to start: the pod has no node yet; `fairlead'
            f" explain pod/{pod_name} -n {pod['metadata']['namespace']}` says why"
        )
    entry = desk.sound.get(Key("nodes", "", name))
    if entry is None:
        raise NotFound(
            f'nodes "{name}" not found: the node of pod "{pod_name}" is gone, and its logs with it',
            kind="nodes",
            name=name,
        )
    node = parse_node_address(entry.data)
    if node is None:
        raise BadRequest(
            f'node "{name}" of pod "{pod_name}" tells no logs: no agent has announced where to ask (hollow nodes'
            " only pretend: nothing runs there and nothing is printed)"
        )
    return node


def _nothing(pod: str, container: str, status: Json, previous: bool) -> ApiError:
    """The node has no such log."""
    if previous:
        return BadRequest(f'previous terminated container "{container}" in pod "{pod}" not found')
    waiting = (status.get("state") or {}).get("waiting")
    if waiting is not None or not status:
        reason = (waiting or {}).get("reason") or "ContainerCreating"
        told = f": {waiting['message']}" if waiting and waiting.get("message") else ""
        return BadRequest(f'container "{container}" in pod "{pod}" is waiting to start: {reason}{told}')
    return BadRequest(f'container "{container}" in pod "{pod}" is not available')
