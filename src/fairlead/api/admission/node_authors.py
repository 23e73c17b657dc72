"""Who took a node out of use, when and why: kept on the Node for as long as it holds, so that nobody has to guess.

    spec.unschedulable turns true     fairlead.dev/author and -/cordoned-at are stamped; fairlead.dev/reason is the
                                      author's own, given with the write, before or after it
    while it is true                  author and time stay as they were stamped, whatever a write says of them
    it turns false                    all three go
    a person adds a taint             fairlead.dev/taint-authors says who, by key and effect, until that taint goes

Taints of controllers and nodes have no author: what they mean and which evidence they stand for is theirs to tell.
"""

from __future__ import annotations

from fairlead.api.admission.step import AdmissionStep
from fairlead.api.attempt import Attempt
from fairlead.core import codec
from fairlead.core.errors import BadRequest
from fairlead.core.times import timestamp
from fairlead.model.kind import Json
from fairlead.model.marks import AUTHOR, CORDONED_AT, REASON, TAINT_AUTHORS

_SYSTEM = "system:"


def _admit(attempt: Attempt) -> None:
    assert attempt.new is not None
    before, after = _cordoned(attempt.old), _cordoned(attempt.new)
    user, at = attempt.context.user.name, timestamp(attempt.context.now)
    known = _annotations(attempt.old)
    wanted: dict[str, str | None]
    if after and not before:
        wanted = {AUTHOR: user, CORDONED_AT: at}
    elif after:
        wanted = {name: known.get(name) for name in (AUTHOR, CORDONED_AT)}
    else:
        wanted = dict.fromkeys((AUTHOR, CORDONED_AT, REASON) if before else (AUTHOR, CORDONED_AT))
    wanted[TAINT_AUTHORS] = _taint_authors(attempt, known.get(TAINT_AUTHORS), f"{user} {at}")
    attempt.new = _annotated(attempt.new, wanted)


def _taint_authors(attempt: Attempt, text: str | None, author: str) -> str | None:
    """By key and effect, as JSON; those of before are kept while their taint is there."""
    before, after = _taints(attempt.old), _taints(attempt.new)
    if before == after:
        return text
    known = _decoded(text)
    is_person = not attempt.context.user.name.startswith(_SYSTEM)
    authors = {
        name: known.get(name, author) for name in after if name in known or (name not in before and is_person)
    }
    return codec.encode(authors).decode() if authors else None


def _decoded(text: str | None) -> dict[str, str]:
    if not text:
        return {}
    try:
        found = codec.decode(text.encode())
    except BadRequest:
        return {}
    return {str(name): str(author) for name, author in found.items()} if isinstance(found, dict) else {}


def _taints(node: Json | None) -> list[str]:
    taints = ((node or {}).get("spec") or {}).get("taints") or ()
    return sorted(f"{each.get('key')}:{each.get('effect')}" for each in taints)


def _cordoned(node: Json | None) -> bool:
    return bool(((node or {}).get("spec") or {}).get("unschedulable"))


def _annotations(node: Json | None) -> dict[str, str]:
    return ((node or {}).get("metadata") or {}).get("annotations") or {}


def _annotated(node: Json, wanted: dict[str, str | None]) -> Json:
    """A node that is as wanted already is returned as it is."""
    annotations = _annotations(node)
    left = {name: value for name, value in annotations.items() if name not in wanted}
    left.update((name, value) for name, value in wanted.items() if value is not None)
    if left == annotations:
        return node
    metadata = {name: value for name, value in (node.get("metadata") or {}).items() if name != "annotations"}
    return {**node, "metadata": {**metadata, "annotations": left} if left else metadata}


STEP = AdmissionStep(
    "NodeAuthors",
    _admit,
    frozenset({"create", "update", "patch"}),
    frozenset({"nodes"}),
    does="keeps on a Node who cordoned it, when and why, and which person put which taint",
)
