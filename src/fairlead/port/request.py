"""A request to an API and its reply, as data. Every way to reach the API speaks these.

`wire/` makes a Request of HTTP and HTTP of a Reply; in-process callers and the simulator build Requests
themselves. Query keys and values are Kubernetes' own (`labelSelector`, `dryRun`, `fieldValidation`, ...).
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from fairlead.model.premise import Premises
from fairlead.port.items import Items

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"

READ_VERBS = frozenset({"get", "list", "watch"})

_NO_QUERY: Mapping[str, str] = {}


class Binding(msgspec.Struct, frozen=True, gc=False):
    """A pod, and the node that it is to have."""

    namespace: str
    name: str
    uid: str
    node: str
    decision: str = ""  # by its id, for the audit line


class Request(msgspec.Struct, frozen=True, gc=False):
    """One call. `verb` is Kubernetes' request verb: get, list, watch, create, update, patch, delete,
    deletecollection. A write commits only while all its `premises` hold: those of the effect, and a leader's fence."""

    verb: str
    group: str
    version: str
    plural: str  # "deployments"; a group-resource, "deployments.apps", is `Key.resource`
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    query: Mapping[str, str] = _NO_QUERY
    body: bytes = b""
    content_type: str = JSON
    accept: str = JSON
    premises: Premises = ()
    manager: str = ""  # who writes, for metadata.managedFields; "": as the client calls itself
    decision: str = ""  # the decision of a plane that it carries out, by its id, for the audit line
    # Of a create of pods/binding without a name: several that are one transaction. Has no form on the wire.
    bindings: tuple[Binding, ...] = ()


class Reply(msgspec.Struct, frozen=True, gc=False):
    """The answer to anything but a watch."""

    status: int
    content: bytes | Items
    content_type: str = JSON
    warnings: tuple[str, ...] = ()
    retry_after_seconds: int = 0
    each: tuple[bool, ...] = ()  # of several bindings, which were made; nothing is said of the others

    @property
    def body(self) -> bytes:
        """The content in one piece: what every caller wants but the one that sends it on."""
        return self.content if isinstance(self.content, bytes) else bytes(self.content)
