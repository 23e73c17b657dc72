"""What kubectl would print of a plain `get`, asked of the API directly: for questions that are asked again and again.

A kubectl takes a tenth of a second of a processor, most of it to start. Tests of what kubectl shows run kubectl; tests
that wait for something (`converging.py`) or set a scene ask here. A command line that is not plain is not answered:
kubectl is run for it.
"""

from __future__ import annotations

import base64
import http.client
import json
import re
import shlex
import ssl
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

import yaml

from fairlead.model.catalog import CATALOG
from fairlead.model.kind import Kind

Json = dict[str, Any]
_FIELD = re.compile(r"^\{((?:\.[A-Za-z]\w*)+)\}$")  # a path of plain fields
_BY_NAME: dict[str, Kind] = {}
for _kind in reversed(tuple(CATALOG)):  # the preferred version is the first
    for _name in (_kind.plural, _kind.kind.lower(), *_kind.short_names, _kind.resource):
        _BY_NAME[_name] = _kind


class Credentials(NamedTuple):
    host: str
    port: int
    token: str
    authority: str


class Question(NamedTuple):
    """A plain `get`: one object if it has a name, else a list."""

    kind: Kind
    name: str
    options: dict[str, str]
    everywhere: bool
    output: str


def plain_question(line: str) -> Question | None:
    """What a command line asks for; None where kubectl has more to do than to ask."""
    words = shlex.split(line)
    if len(words) < 2 or words.pop(0) != "get":
        return None
    named: list[str] = []
    options: dict[str, str] = {}
    everywhere, output = False, ""
    while words:
        word = words.pop(0)
        if word in ("-l", "--selector") and words:
            options["labelSelector"] = words.pop(0)
        elif word.startswith("--field-selector="):
            options["fieldSelector"] = word.partition("=")[2]
        elif word in ("-A", "--all-namespaces"):
            everywhere = True
        elif word == "-o" and words:
            output = words.pop(0)
        elif word.startswith("-"):
            return None
        else:
            named.append(word)
    if len(named) == 1 and named[0].count("/") == 1:
        named = named[0].split("/")
    kind = _BY_NAME.get(named[0]) if named else None
    if kind is None or len(named) > 2 or not _is_plain(output, single=len(named) == 2):
        return None
    return Question(kind, named[1] if len(named) == 2 else "", options, everywhere, output)


def _is_plain(output: str, *, single: bool) -> bool:
    return output in ("json", "name") or (
        single and bool(_FIELD.match(output.removeprefix("jsonpath="))) and output.startswith("jsonpath=")
    )


class Reader:
    """Asks one API, as whoever the kubeconfig names, over one connection."""

    def __init__(self, credentials: Credentials) -> None:
        self._token = credentials.token
        tls = ssl.create_default_context(cadata=credentials.authority)
        self._connection = http.client.HTTPSConnection(
            credentials.host, credentials.port, timeout=60, context=tls
        )

    def request(self, method: str, target: str, body: Json | None = None) -> tuple[int, Json]:
        headers = {
            "Accept": "application/json",
            "Authorization": f"Bearer {self._token}",
            "Content-Type": "application/json",
        }
        sent = None if body is None else json.dumps(body)
        for again in (True, False):
            try:
                self._connection.request(method, target, sent, headers)
                answer = self._connection.getresponse()
                return answer.status, json.loads(answer.read())
            except (OSError, http.client.HTTPException):
                self._connection.close()  # a server may end a connection that was idle
                if not again:
                    raise
        raise AssertionError

    def get(self, asked: Question, namespace: str) -> str | None:
        """As kubectl prints it; None where it would fail, in words of its own."""
        kind = asked.kind
        root = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
        inside = f"/namespaces/{namespace or 'default'}" if kind.namespaced and not asked.everywhere else ""
        name = f"/{quote(asked.name)}" if asked.name else ""
        query = f"?{urlencode(asked.options)}" if asked.options else ""
        try:
            status, found = self.request("GET", f"{root}{inside}/{kind.plural}{name}{query}")
        except (OSError, http.client.HTTPException):
            return None
        return _printed(kind, asked, found) if status == 200 else None


def _printed(kind: Kind, asked: Question, found: Json) -> str:
    if asked.output == "json":
        return json.dumps(found)
    if asked.output == "name":
        called = f"{kind.kind.lower()}.{kind.group}" if kind.group else kind.kind.lower()
        listed = [found] if asked.name else found["items"]
        return "".join(f"{called}/{each['metadata']['name']}\n" for each in listed)
    value: Any = found
    for field in asked.output.removeprefix("jsonpath=").strip("{}").split(".")[1:]:
        value = value.get(field) if isinstance(value, dict) else None
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def reader_of(kubeconfig: Path) -> Reader | None:
    """None for somebody who signs in otherwise than by a token."""
    return _reader(kubeconfig.read_text())  # a server that starts again may serve elsewhere


@cache
def _reader(kubeconfig: str) -> Reader | None:
    found = yaml.safe_load(kubeconfig)
    cluster, user = found["clusters"][0]["cluster"], found["users"][0]["user"]
    if "token" not in user or "certificate-authority-data" not in cluster or len(found["users"]) > 1:
        return None
    address = urlsplit(cluster["server"])
    authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
    return Reader(Credentials(address.hostname or "", address.port or 443, user["token"], authority))
