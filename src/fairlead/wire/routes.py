"""Addresses: from method and path to a Request of the API, or None where the path names no resource.

/api/v1/RESOURCE[/NAME[/SUBRESOURCE]]                          group ""
/api/v1/namespaces/NS/RESOURCE[/NAME[/SUBRESOURCE]]
/apis/GROUP/VERSION/... the same

And back: `request_target` is where a client finds what a Request names. The query parameter `fence` is the text of a
request's premises, RESOURCE/NAMESPACE/NAME@REVISION each, with commas between them (`with_premises`). One that names
an object by its uid has UID! or UID!INSTANT in place of the revision. Beside it, `decision` is the id of the decision
that a plane elsewhere carries out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import parse_qsl, quote, unquote, urlencode

from msgspec import structs

from fairlead.core import yaml_text
from fairlead.core.errors import BadRequest, MethodNotAllowed
from fairlead.core.problems import show
from fairlead.model.key import Key
from fairlead.model.premise import Premise
from fairlead.port.request import JSON, Request

_NONE: Mapping[str, str] = {}
# Most requests go to few addresses: those of collections, and of what is renewed.
_PATHS_KEPT, _PATH_KEPT_MAX = 1024, 256
FENCE = "fence"
DECISION = "decision"
_PREMISES_KEPT = 256  # a leader sends the same with each of its writes
_DIGITS_MAX = 19  # of a revision
_DECISION_ID = re.compile(r"[0-9a-f]{8}-[0-9]{1,12}", re.ASCII)
_INSTANT = re.compile(r"(\d{1,11}(\.\d{1,9})?)?", re.ASCII)
_NAMESPACE_SUBRESOURCES = frozenset({"status", "finalize"})
_WRITES = {b"POST": "create", b"PUT": "update", b"PATCH": "patch"}
_METHODS = {
    "get": "GET",
    "list": "GET",
    "watch": "GET",
    "create": "POST",
    "update": "PUT",
    "patch": "PATCH",
    "delete": "DELETE",
    "deletecollection": "DELETE",
}


def split_target(target: bytes) -> tuple[str, Mapping[str, str]]:
    """Path (decoded) and query of a request target."""
    path, _, query = target.partition(b"?")
    if path[:1] != b"/":
        path = _without_origin(path)
    try:
        text = path.decode("ascii")
        pairs = _pairs(parse_qsl(query.decode("ascii"), keep_blank_values=True)) if query else _NONE
    except (UnicodeDecodeError, ValueError) as error:
        raise BadRequest(
            "the request address is not valid: it must be ASCII, with other characters percent-encoded"
        ) from error
    return text, pairs


def _pairs(found: list[tuple[str, str]]) -> Mapping[str, str]:
    """If something is given twice the first counts, as for Kubernetes; but checks can be excluded one by one."""
    pairs = dict(reversed(found))
    if "exclude" in pairs:
        pairs["exclude"] = ",".join(value for name, value in found if name == "exclude")
    return pairs


def _without_origin(target: bytes) -> bytes:
    """Clients of a proxy send the whole address (RFC 9112 3.2.2); only its path is ours."""
    scheme, separator, rest = target.partition(b"://")
    if not separator or scheme.lower() not in (b"http", b"https"):
        raise BadRequest("the request address is not valid: it must begin with /")
    return b"/" + rest.partition(b"/")[2]


def resource_request(
    method: bytes,
    path: str,
    query: Mapping[str, str],
    body: bytes,
    content_type: str,
    accept: str,
) -> Request | None:
    address = _address(path) if len(path) <= _PATH_KEPT_MAX else _parse_address(path)
    if address is None:
        return None
    verb = _WRITES.get(method) or _verb(method, address.name, query)
    if content_type != JSON and content_type.partition(";")[0].strip().lower() == yaml_text.MEDIA_TYPE:
        body, content_type = yaml_text.to_json(body) if body else body, JSON
    return Request(verb, *address, query, body, content_type, accept)


def with_premises(request: Request) -> Request:
    """With what its query says of them. Apart from the address, so that a refusal can tell what was wanted."""
    query = dict(request.query)
    text = query.pop(FENCE, "")
    premises = tuple(map(_premise, text.split(","))) if text else ()
    decision = query.pop(DECISION, "")
    if decision and not _DECISION_ID.fullmatch(decision):
        raise BadRequest(
            f"query parameter {DECISION}: {show(decision)} is not the id of a decision, TERM-NUMBER"
        )
    return structs.replace(request, query=query, premises=premises, decision=decision)


@lru_cache(maxsize=_PREMISES_KEPT)
def _premise(text: str) -> Premise:
    address, _, revision = text.rpartition("@")
    parts = address.split("/")
    uid, named, until = revision.partition("!")
    if named and uid and len(parts) == 3 and _INSTANT.fullmatch(until):
        return Premise(Key(*parts), 0, uid, float(until or 0))
    is_number = revision.isascii() and revision.isdigit() and len(revision) <= _DIGITS_MAX
    if len(parts) != 3 or not is_number:
        raise BadRequest(
            f"query parameter {FENCE}: {show(text)} is not of the form RESOURCE/NAMESPACE/NAME@REVISION"
        )
    return Premise(Key(*parts), int(revision))


def _text_of(premise: Premise) -> str:
    version = f"{premise.uid}!{premise.until or ''}" if premise.uid else premise.revision
    return f"{'/'.join(premise.key)}@{version}"


class _Address(NamedTuple):
    group: str
    version: str
    resource: str
    namespace: str
    name: str
    subresource: str


@lru_cache(maxsize=_PATHS_KEPT)
def _address(path: str) -> _Address | None:
    return _parse_address(path)


def _parse_address(path: str) -> _Address | None:
    parts = path.split("/")
    if len(parts) < 2:
        return None
    if "%" in path:
        parts = [unquote(part) for part in parts]
    if parts[-1] == "" and len(parts) > 2:
        parts.pop()
    if parts[1] == "api" and len(parts) > 3:
        group, version, rest = "", parts[2], parts[3:]
    elif parts[1] == "apis" and len(parts) > 4:
        group, version, rest = parts[2], parts[3], parts[4:]
    else:
        return None
    namespace = ""
    if (
        rest[0] == "namespaces"
        and len(rest) > 2
        and not (rest[2] in _NAMESPACE_SUBRESOURCES and len(rest) == 3)
    ):
        namespace, rest = rest[1], rest[2:]
    if len(rest) > 3:
        return None
    name = rest[1] if len(rest) > 1 else ""
    subresource = rest[2] if len(rest) > 2 else ""
    return _Address(
        group=group,
        version=version,
        resource=rest[0],
        namespace=namespace,
        name=name,
        subresource=subresource,
    )


def _verb(method: bytes, name: str, query: Mapping[str, str]) -> str:
    if method in (b"GET", b"HEAD"):
        if method == b"GET" and query.get("watch") in ("1", "true", "True"):
            return "watch"
        return "get" if name else "list"
    if method == b"DELETE":
        return "delete" if name else "deletecollection"
    raise MethodNotAllowed(f"the server does not allow the method {method.decode(errors='replace')}")


def request_target(request: Request) -> tuple[str, str]:
    """Method and target of a request, as a client sends them."""
    parts = ["apis", request.group] if request.group else ["api"]
    parts.append(request.version)
    if request.namespace:
        parts += ["namespaces", request.namespace]
    parts += [part for part in (request.plural, request.name, request.subresource) if part]
    query = dict(request.query)
    if request.premises:
        query[FENCE] = ",".join(map(_text_of, request.premises))
        if request.decision:
            query[DECISION] = request.decision
    if request.verb == "watch":
        query["watch"] = "true"
    path = "/" + "/".join(quote(part, safe=":") for part in parts)
    return _METHODS[request.verb], f"{path}?{urlencode(query)}" if query else path
