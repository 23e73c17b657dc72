"""What a plane starts with: manifests from files and folders, created in order through the API like anybody's.

Used by `planes.py`. Where a kind lives is asked of the API's discovery, so custom kinds need nothing more.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from fairlead.core.errors import UsageError
from fairlead.testing.access import Access

_SERVED_SECONDS = 30.0
_LOOK_SECONDS = 0.005
_SUFFIXES = (".yaml", ".yml", ".json")
_CRD = "CustomResourceDefinition"


def create(access: Access, manifests: Iterable[str | Path | Mapping[str, Any]]) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    collections: dict[tuple[str, str], str] = {}
    for manifest, source in _objects(manifests):
        version, kind = str(manifest.get("apiVersion", "")), str(manifest.get("kind", ""))
        metadata = manifest.get("metadata") or {}
        where = collections.get((version, kind)) or _collection(access, version, kind, source)
        collections[version, kind] = where
        path = where.replace("{namespace}", str(metadata.get("namespace") or "default"))
        status, answer = access.request("POST", path, manifest)
        if status == 409 and answer.get("reason") == "AlreadyExists":
            status, answer = access.request("GET", f"{path}/{metadata.get('name')}")
        if status >= 400:
            raise UsageError(
                f"{source}: {kind} {metadata.get('name')} cannot be created: {answer['message']}"
            )
        if kind == _CRD:
            answer = _served(access, f"{path}/{metadata['name']}")
        made.append(answer)
    return made


def _objects(
    manifests: Iterable[str | Path | Mapping[str, Any]],
) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Objects in the order of files, with where they are from."""
    for manifest in manifests:
        if isinstance(manifest, Mapping):
            yield from ((each, "an object") for each in _unpacked(manifest))
            continue
        path = Path(manifest)
        files = sorted(p for p in path.iterdir() if p.suffix in _SUFFIXES) if path.is_dir() else [path]
        for file in files:
            for document in _documents(file):
                yield from ((each, str(file)) for each in _unpacked(document))


def _documents(file: Path) -> list[Any]:
    import yaml  # here, because a plane that starts empty need not pay for it

    try:
        text = file.read_text()
        return [each for each in yaml.load_all(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader)) if each]
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} is no YAML: {error}") from error


def _unpacked(document: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    if not isinstance(document, Mapping):
        raise UsageError(f"a manifest must be an object, not {type(document).__name__}")
    listed = document.get("items")
    return listed if str(document.get("kind", "")).endswith("List") and listed is not None else [document]


def _collection(access: Access, version: str, kind: str, source: str) -> str:
    """The path of all objects of a kind; `{namespace}` in it stands for one."""
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    status, answer = access.request("GET", root)
    for resource in answer.get("resources", ()) if status == 200 else ():
        if resource["kind"] == kind and "/" not in resource["name"]:
            inside = "/namespaces/{namespace}" if resource["namespaced"] else ""
            return f"{root}{inside}/{resource['name']}"
    raise UsageError(
        f"{source}: this plane serves no {version} {kind}; give its CustomResourceDefinition in crds"
    )


def _served(access: Access, path: str) -> dict[str, Any]:
    """A custom kind that is established: what comes next may use it."""
    deadline = time.monotonic() + _SERVED_SECONDS
    while True:
        found: dict[str, Any] = access.request("GET", path).body
        conditions = (found.get("status") or {}).get("conditions") or ()
        if any(each["type"] == "Established" and each["status"] == "True" for each in conditions):
            return found
        if time.monotonic() > deadline:
            raise UsageError(f"{path} was not established within {_SERVED_SECONDS:.0f} s: {list(conditions)}")
        time.sleep(_LOOK_SECONDS)
