"""What tenants need to read documents that tell of the whole plane, and which lines of its logs are theirs.

Mounted by `mounting.py` beside the documents (`extensions.py`, `explanations.py`). A tenant is whoever has a role in
some namespace: they read the logs and queues, and see what is about objects that they may get. A pod is explained to
those who may get it; a plan is made for those who may create pods there.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from fairlead.api.access.contract import Attributes
from fairlead.api.access.rbac.grants import Grants
from fairlead.api.access.sight import Sight
from fairlead.api.access.users import User
from fairlead.core import codec
from fairlead.explain.masking import masked_objects, masked_victims
from fairlead.store.contract import Note
from fairlead.wire.documents import Needs

_NOWHERE = ("", "", "")  # an object that nobody but those who see everything may get


class _Target(msgspec.Struct, frozen=True):
    group: str = ""
    resource: str = ""
    namespace: str = ""
    name: str = ""


class _Line(msgspec.Struct, frozen=True):
    object: _Target | str = ""


class _Meta(msgspec.Struct, frozen=True):
    namespace: str = ""


class _Pod(msgspec.Struct, frozen=True):
    metadata: _Meta = _Meta()


class _Wanted(msgspec.Struct, frozen=True):
    pod: _Pod = _Pod()


class _Question(msgspec.Struct, frozen=True):
    items: tuple[_Wanted, ...] = ()


_line = msgspec.json.Decoder(_Line).decode
_question = msgspec.json.Decoder(_Question).decode


def any_tenant(grants: Grants) -> Needs:
    """Nothing but a role somewhere."""

    def needs(user: User, path: str, body: bytes) -> Iterable[Attributes] | None:
        return () if grants.namespaces_of(user) else None

    return needs


def who_may_get_the_pod(prefix: str) -> Needs:
    """Of an address PREFIX/NAMESPACE/POD[/...]."""

    def needs(user: User, path: str, body: bytes) -> Iterable[Attributes] | None:
        parts = path.removeprefix(prefix).split("/")[1:]
        return (_about_pods(user, "get", parts[0], parts[1]),) if len(parts) >= 2 else None

    return needs


def who_may_create_the_pods(user: User, path: str, body: bytes) -> Iterable[Attributes] | None:
    """Of a plan, in every namespace that it is about. What is no question for a plan, nothing lets a tenant ask."""
    try:
        asked = _question(body)
    except msgspec.MsgspecError:
        return None
    spaces = sorted({each.pod.metadata.namespace for each in asked.items})
    return tuple(_about_pods(user, "create", space) for space in spaces) or None


def _about_pods(user: User, verb: str, namespace: str, name: str = "") -> Attributes:
    return Attributes(user=user, verb=verb, version="v1", plural="pods", namespace=namespace, name=name)


def place_of(line: bytes) -> tuple[str, str, str]:
    """Group-resource, namespace and name of what a line of the audit log or of the decisions is about."""
    about = _line(line).object
    if isinstance(about, str):
        return place_of_key(about)
    if not about.namespace:
        return _NOWHERE
    resource = f"{about.resource}.{about.group}" if about.group else about.resource
    return resource, about.namespace, about.name


def place_of_key(text: str) -> tuple[str, str, str]:
    """Of RESOURCE/NAMESPACE/NAME; what is RESOURCE/NAME is in no namespace, and of nobody."""
    resource, _, rest = text.partition("/")
    namespace, slash, name = rest.partition("/")
    return (resource, namespace, name) if slash else _NOWHERE


def without_others(note: Note, sight: Sight) -> Note:
    """A line without the names of objects of others that it touches, such as pods that had to leave for its own."""
    if b'"victims"' not in note.body and b'"about"' not in note.body:
        return note
    record = codec.decode(note.body)
    if record.get("victims"):
        spaces = [str(each["key"][1]) for each in record["victims"]]
        record["victims"] = masked_victims(record, sight.namespaces(spaces))
    if record.get("about"):
        spaces = [part[1] for each in record["about"] if len(part := each.split("/")) == 3]
        record["about"] = masked_objects(record, sight.namespaces(spaces))
    return msgspec.structs.replace(note, body=codec.encode(record))
