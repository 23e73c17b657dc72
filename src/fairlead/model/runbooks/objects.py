"""Templates of objects that a step creates: what is wrong with one is told when the Runbook is written.

Values are not judged here, because most are filled in later; which fields there are is. Called by `procedure.py`.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

from fairlead.core.problems import Problems
from fairlead.model.cel.static import StaticType
from fairlead.model.kind import Json, Kind

_DIGEST_BYTES = 5
_NAME_MAX = 40


def name_for(run_name: str, run_uid: str, step: str) -> str:
    """The name of what a step of a run creates: whoever looks after a crash knows where."""
    digest = blake2b(f"{run_uid}\n{step}".encode(), digest_size=_DIGEST_BYTES).hexdigest()
    return f"{run_name[:_NAME_MAX].rstrip('-.')}-{digest}"


def check_object(tree: Json, kind: Kind, static: StaticType | None, path: str, problems: Problems) -> None:
    metadata = tree.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        problems.wrong_type(f"{path}.metadata", metadata, "an object")
        return
    for field in ("name", "generateName", "uid", "ownerReferences"):
        if metadata and field in metadata:
            problems.forbidden(
                f"{path}.metadata.{field}", "the run gives the name, so that no step is done twice"
            )
    for field in ("labels", "annotations"):
        if metadata and not isinstance(metadata.get(field, {}), dict):
            problems.wrong_type(f"{path}.metadata.{field}", metadata[field], "an object")
    if metadata and not isinstance(metadata.get("namespace", ""), str):
        problems.wrong_type(f"{path}.metadata.namespace", metadata["namespace"], "a string")
    if metadata and metadata.get("namespace") and not kind.namespaced:
        problems.forbidden(f"{path}.metadata.namespace", f"{kind.plural} are in no namespace")
    if tree.get("status") is not None:
        problems.forbidden(f"{path}.status", "a status is what controllers report")
    if static is not None:
        _check_fields(tree, static, path, problems)


def _check_fields(value: Any, static: StaticType, path: str, problems: Problems) -> None:
    """A text may stand anywhere: it may be filled in with anything."""
    expected = {"map": dict, "list": list}.get(static.name)
    if static.name == "dyn" or isinstance(value, str) or value is None:
        return
    if expected is not None and not isinstance(value, expected):
        problems.wrong_type(path, value, "an object" if expected is dict else "a list")
    elif expected is None and isinstance(value, dict | list):
        problems.wrong_type(path, value, f"a {static.name}")
    elif isinstance(value, dict):
        for name, below in value.items():
            found = static.field(name)
            if found is None:
                problems.invalid(f"{path}.{name}", below, "there is no such field")
            else:
                _check_fields(below, found, f"{path}.{name}", problems)
    elif isinstance(value, list):
        for index, below in enumerate(value):
            _check_fields(below, static.element(), f"{path}[{index}]", problems)
