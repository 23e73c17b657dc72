"""What a verb gives back: a finished Reply, a Plan to commit first, a Watch to open, or what nodes have to be asked.

A verb is two pure functions: planning reads durable state and yields a Transaction; `finish` turns the
store's outcome into a Reply, into a further Plan, or into AGAIN: the state moved, plan the request anew.
`conversation.py` runs `plan -> submit -> finish` until something answers. What only a node knows
(what a pod printed, what it uses) is asked of it by `runtime/server/node_connections.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum

import msgspec

from fairlead.api.access.users import User
from fairlead.port.request import Reply
from fairlead.store.contract import CommitOutcome, CommittedChange, Entry, Transaction


class Again(Enum):
    """Plan the same request again on fresh state."""

    AGAIN = "again"


AGAIN = Again.AGAIN


class Plan(msgspec.Struct, frozen=True):
    transaction: Transaction
    finish: Callable[[CommitOutcome], Reply | Plan | Again]


@dataclass(frozen=True, slots=True)
class Watch:
    """Open a stream: first `initial` as ADDED, then every accepted change after `since`."""

    resource: str
    namespace: str
    since: int
    initial: tuple[Entry, ...]
    accepts: Callable[[Entry], bool] | None
    encode: (
        Callable[[str, CommittedChange, float], bytes] | None
    )  # (type, change, now); None: the shared frame
    bookmarks: bool
    bookmark: Callable[[int, bool], bytes]  # (revision, end of initial events) -> frame
    initial_end: bool  # send a marked bookmark after the initial events
    timeout_seconds: float
    grant: str = ""  # the AccessGrant that it was opened by, and ends with


class NodeAddress(msgspec.Struct, frozen=True):
    """Where a node's agent tells what only it knows, and the sha256 (hex) of the certificate it must show there."""

    name: str
    url: str
    certificate: str


@dataclass(frozen=True, slots=True)
class NodeStream:
    """Pass on what the node answers to GET `target`, as it comes. `refused` words what it says with a status that is
    not 200."""

    node: NodeAddress
    target: str
    refused: Callable[[int, str], Exception]
    grant: str = ""  # the AccessGrant that it was opened by, and ends with


@dataclass(frozen=True, slots=True)
class NodeQuestion:
    """Ask all of these nodes; `finish` gets what those answered that did in time. It may raise an ApiError."""

    nodes: tuple[NodeAddress, ...]
    target: str
    finish: Callable[[Mapping[str, bytes]], Reply]


Step = Reply | Plan | Watch | NodeStream | NodeQuestion


class Context(msgspec.Struct, frozen=True, gc=False):
    """What arrives with a request besides its text: who, when, and the entropy its ids are made of."""

    user: User
    now: float
    entropy: bytes
    request_id: str = ""
    user_agent: str = ""
    source: str = ""
    impersonator: User | None = None  # who signed in, where that is not `user`
    grant: str = ""  # the AccessGrant that the request is done by, where nothing else allows it
    decision: str = ""  # the decision of a plane that it carries out, by its id

    @property
    def signed_in(self) -> User:
        """Whose credentials these were: who answers for the request."""
        return self.impersonator or self.user


def decided_by(context: Context, decision: str) -> Context:
    """The same for what carries out a decision of a plane."""
    return msgspec.structs.replace(context, decision=decision) if decision else context
