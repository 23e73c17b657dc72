"""A running server, and requests that schemathesis makes up from the documents that the server publishes of itself.

Used by `test_openapi_fuzz.py`. What is made up is bent a little, or nearly nothing of it would be found: half of the
names are those of objects that exist, and bodies say the name that the address says.
"""

from __future__ import annotations

import random
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from schemathesis.core.result import Ok

from fairlead.model.catalog import CATALOG
from tests.fuzz import tides
from tests.running import Running
from tests.samples import SAMPLES
from tests.unit.api.things import KINDS, collection, sample

FUZZED, KEPT = "shop", "kept"
FIELDS = 4  # of each type, besides those it must have


class Plane:
    """The server with one object of each kind in the namespace that is fuzzed, and witnesses in another."""

    def __init__(self, directory: Path) -> None:
        self.server = Running(directory / "data", arguments=("--without-controllers",))
        self.url = f"https://127.0.0.1:{self.server.port}"
        self.session = requests.Session()
        self.session.trust_env = False
        self.session.verify = str(self.server.directory / "identity" / "ca.crt")
        self.session.headers["Authorization"] = f"Bearer {self.server.token}"
        for name in (FUZZED, KEPT):
            self.make(
                "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            )
        self.make(tides.DEFINITIONS, tides.DEFINITION)
        self.witnesses = [
            self._witness(name) for name in ("ConfigMap", "Secret", "Pod", "Deployment", "Lease")
        ]

    def _witness(self, name: str) -> tuple[str, str]:
        made = self.make(collection(KINDS[name], KEPT), sample(name))
        return f"{collection(KINDS[name], KEPT)}/{made['metadata']['name']}", str(made["metadata"]["uid"])

    def make(self, address: str, obj: Any) -> Any:
        answer = self.session.post(self.url + address, json=obj, timeout=120)
        assert answer.status_code == 201, answer.text
        return answer.json()

    def fill(self) -> None:
        """One object of each kind, where there is none any more."""
        for name in SAMPLES:
            if name != "Namespace":
                self.session.post(self.url + collection(KINDS[name], FUZZED), json=sample(name), timeout=120)
        self.session.post(self.url + tides.DEFINITIONS, json=tides.DEFINITION, timeout=120)
        self.session.post(self.url + tides.ADDRESS.format(FUZZED), json=tides.TIDE, timeout=120)

    def document(self, path: str) -> Any:
        """Waits for that of the custom kind: its definition may have been deleted, and be made anew."""
        for _ in range(100):
            answer = self.session.get(f"{self.url}/openapi/v3/{path}", timeout=120)
            if answer.status_code == 200:
                return answer.json()
            time.sleep(0.2)
            self.fill()
        raise AssertionError(f"there is no document {path}: {answer.text}")

    def lost(self) -> list[str]:
        """Witnesses that are not what they were."""
        found = []
        for address, uid in self.witnesses:
            answer = self.session.get(self.url + address, timeout=120)
            if answer.status_code != 200 or answer.json()["metadata"]["uid"] != uid:
                found.append(f"{address}: {answer.status_code}")
        return found

    def resident(self) -> int:
        for line in Path(f"/proc/{self.server.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        raise AssertionError("the system does not tell the memory of a process")


def operations(document: Any, chance: random.Random) -> list[Any]:
    thin(document["components"]["schemas"], chance)
    with _quietly():
        schema = schemathesis.openapi.from_dict(document)
        found = []
        for result in schema.get_all_operations():
            assert isinstance(result, Ok), result
            found.append(result.ok())
        return found


def validate(document: Any) -> None:
    """By the schema that the OpenAPI initiative publishes for the version that the document says it is of."""
    with _quietly():
        schemathesis.openapi.from_dict(document).validate()


def thin(schemas: dict[str, Any], chance: random.Random) -> None:
    """Leave only some fields of each type, others each time: whole pods take the library seconds to make up."""
    for schema in schemas.values():
        fields = schema.get("properties", {})
        needed = [*schema.get("required", ()), "apiVersion", "kind", "metadata", "spec", "status"]
        others = [name for name in fields if name not in needed]
        chance.shuffle(others)
        for name in others[FIELDS:]:
            del fields[name]


def cases(operation: Any, count: int, chance: random.Random) -> Iterator[Any]:
    """That many requests for an operation, half of them such as the document forbids."""
    found: list[Any] = []
    for mode in (schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE):
        with _quietly():

            @seed(chance.randrange(2**32))
            @settings(
                max_examples=count,
                deadline=None,
                database=None,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            @given(operation.as_strategy(generation_mode=mode))
            def gather(case: Any) -> None:
                found.append(case)

            try:
                gather()
            except Exception as error:
                # Of some operations nothing can be made that the document forbids.
                if mode is schemathesis.GenerationMode.POSITIVE or "Unsatisfi" not in type(error).__name__:
                    raise
    return (bent(case, chance) for case in found)


_NAMES = {"tides": "spring"} | {
    kind.plural: SAMPLES[kind.kind]["metadata"]["name"] for kind in CATALOG if kind.kind in SAMPLES
}


def bent(case: Any, chance: random.Random) -> Any:
    """The case, made to find something where that is left to chance, and not to wait for ever."""
    where = case.path_parameters if isinstance(case.path_parameters, dict) else {}
    parts = case.path.split("/")
    if "namespace" in where and chance.random() < 0.9:
        where["namespace"] = FUZZED
    if "name" in where and chance.random() < 0.9:
        plural = parts[parts.index("{name}") - 1]
        where["name"] = _NAMES.get(plural, "absent")
    if where.get("name") in (KEPT, FUZZED, "default") or where.get("namespace") == KEPT:
        where["name" if "name" in where else "namespace"] = "absent"
    if isinstance(case.query, dict):
        for waits in ("watch", "follow"):
            case.query.pop(waits, None)
    body = case.body
    if case.method.upper() in ("POST", "PUT", "DELETE") and chance.random() < 0.9:
        case.media_type = "application/json"
    if isinstance(body, dict) and isinstance(body.get("metadata"), dict) and chance.random() < 0.8:
        body["metadata"]["name"] = where.get("name") or f"made-{chance.randrange(1000)}"
        for said in ("namespace", "resourceVersion", "uid", "generateName"):
            body["metadata"].pop(said, None)
        for said in ("apiVersion", "kind"):
            body.pop(said, None)
    return case


@contextmanager
def _quietly() -> Iterator[None]:
    """Whatever the library warns of is about itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
