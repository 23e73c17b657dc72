"""What views of all kinds share, and how code names a resource that it reads. The rest of this package builds on it."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import msgspec

from fairlead.model.key import Key

Json = dict[str, Any]


class View(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """What all views share: unknown fields are skipped, names are Kubernetes'."""


class Owner(View, frozen=True):
    kind: str
    name: str
    uid: str
    api_version: str = ""
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class Meta(View, frozen=True):
    name: str
    uid: str
    namespace: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str = ""
    deletion_timestamp: str = ""
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: tuple[Owner, ...] = ()
    finalizers: tuple[str, ...] = ()

    @property
    def revision(self) -> int:
        return int(self.resource_version)

    @property
    def controller(self) -> Owner | None:
        """The one owner that manages it."""
        for owner in self.owner_references:
            if owner.controller:
                return owner
        return None


class Condition(View, frozen=True):
    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: str = ""
    last_update_time: str = ""
    observed_generation: int = 0
    last_heartbeat_time: str = ""
    owner: str = ""  # who has the next step (`model/reasons.py`)


class Anything(View, frozen=True):
    """An object of any kind, metadata only."""

    metadata: Meta


_metadata = msgspec.json.Decoder(Anything).decode


class Stored(View, frozen=True):
    """An object of any kind as it is stored, for those who decide on metadata of every kind. It shares all it holds
    with the store; its metadata is decoded whenever it is asked for. Its bytes are searched once: most objects mention
    neither owners nor a deletion, and of those nothing needs to be decoded."""

    key: Key
    uid: str
    revision: int
    data: bytes
    mentions_owners: bool
    mentions_deletion: bool

    @staticmethod
    def of(key: Key, uid: str, revision: int, data: bytes) -> Stored:
        owners, deletion = b'"ownerReferences"' in data, b'"deletionTimestamp"' in data
        return Stored(
            key=key, uid=uid, revision=revision, data=data, mentions_owners=owners, mentions_deletion=deletion
        )

    @property
    def metadata(self) -> Meta:
        return _metadata(self.data).metadata

    @property
    def owners(self) -> tuple[Owner, ...]:
        return self.metadata.owner_references if self.mentions_owners else ()

    @property
    def deleting(self) -> bool:
        return self.mentions_deletion and bool(self.metadata.deletion_timestamp)


T_co = TypeVar("T_co", bound=View, covariant=True)


class Resource(Generic[T_co]):
    """A stored resource and the view of it: how code names what it reads, with its type."""

    __slots__ = ("api_version", "kind", "name", "type")

    def __init__(self, name: str, api_version: str, kind: str, view: type[T_co]) -> None:
        self.name = name
        self.api_version = api_version
        self.kind = kind
        self.type = view

    def __repr__(self) -> str:
        return f"Resource({self.name})"
