"""What a kind is: one frozen descriptor that `api/` interprets. `api/` never compares kind names.

A kind's file in `model/kinds/` builds one of these; `model/catalog.py` lists them all. Objects are plain
JSON trees (`Json`) on their way through the API; structure (types, unknown fields) has been checked against
the field table named `schema` before any function below sees an object, so they may trust the types of
fields that are present, but not that optional fields are present.

The order in which `api/` calls these on create: `defaults` -> admission -> `validate`.
On update: `defaults` -> admission -> `validate` -> `validate_update(new, old, problems)`.
On a status write: `validate_status(new, old, problems)`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fairlead.core.problems import Problems

Json = dict[str, Any]
Cell = str | int | bool | None


@dataclass(frozen=True, slots=True)
class Column:
    """One column of Table output (`kubectl get`). `cell(object, now)` gets seconds since the epoch.

    `type` and `format` are OpenAPI's; `priority` 0 is always shown, 1 only with `-o wide`.
    """

    name: str
    cell: Callable[[Json, float], Cell]
    type: str = "string"
    format: str = ""
    priority: int = 0
    description: str = ""


@dataclass(frozen=True, slots=True)
class Scale:
    """Where the scale subresource finds its numbers. Paths are tuples of keys, e.g. ("spec", "replicas")."""

    spec_replicas: tuple[str, ...]
    status_replicas: tuple[str, ...]
    selector: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Conversion:
    """How another version shows an object of this one. Neither tree is changed; they may share what is in them."""

    api_version: str
    schema: str
    convert: Callable[[Json], Json]
    back: Callable[[Json], Json]


def _nothing(obj: Json) -> None:
    """No defaults."""


def _anything(obj: Json, problems: Problems) -> None:
    """Nothing to object to."""


def _any_change(new: Json, old: Json, problems: Problems) -> None:
    """Every change is allowed."""


def _at_once(obj: Json, asked_seconds: int | None) -> int:
    """Deletion is immediate, whatever grace was asked for."""
    return 0


def _never(new: Json, old: Json) -> bool:
    """No write of this kind is a heartbeat."""
    return False


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind as data. Defaults are what most kinds want."""

    group: str  # "" for core
    version: str
    kind: str
    plural: str
    namespaced: bool
    schema: str  # type name in the field tables
    singular: str = ""  # defaults to kind in lower case
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()  # of: status, scale, binding, eviction, finalize, log, token, approval
    scale: Scale | None = None
    columns: tuple[Column, ...] = ()  # without NAME; empty means AGE only
    # Maps of the metadata that a write to the status may change as well; upstream's strategies differ by kind.
    status_metadata: tuple[str, ...] = ("labels", "annotations")
    status_on_create: bool = False  # a status sent with create is kept (nodes register with theirs)
    deletecollection: bool = True  # a DELETE without a name deletes them all
    shows_deleted: bool = False  # a completed deletion answers with the object instead of a Status
    ends_when_deleted: bool = False  # takes no finalizers: what holds while it exists ends as it is deleted
    generation: bool = True  # bumped when anything but metadata and status changes
    name_rule: str = "subdomain"  # of: subdomain, label, label1035, path-segment (see model/names.py)
    finalizers_spec: tuple[str, ...] = ()  # spec.finalizers set at create (namespaces)
    # The name that follows from the content ("" if it says too little); filled in at create if none is given.
    name_of: Callable[[Json], str] | None = None
    defaults: Callable[[Json], None] = _nothing
    # What of them a write of the status needs, whose spec is the stored one and has had its defaults. None: all.
    status_defaults: Callable[[Json], None] | None = None
    # Given where structure, defaults, validation and warnings of a spec follow from the spec alone, so that they need
    # be found only once for all that have the same: the defaults of everything else.
    beside_spec: Callable[[Json], None] | None = None
    # Where there are texts, and times, on whose value nothing depends: of objects that differ in no others, what came
    # of creating one comes of creating the next (`api/repeated_creates.py`).
    free_texts: tuple[tuple[str, ...], ...] = ()
    free_times: tuple[tuple[str, ...], ...] = ()
    validate: Callable[[Json, Problems], None] = _anything
    validate_update: Callable[[Json, Json, Problems], None] = _any_change
    validate_status: Callable[[Json, Json, Problems], None] = _any_change
    # Field selectors beyond metadata.name and metadata.namespace: path -> value as text.
    selectable: Mapping[str, Callable[[Json], str]] = field(default_factory=dict)
    # Seconds of grace for a deletion; 0 removes at once. `asked` is gracePeriodSeconds or None.
    grace_seconds: Callable[[Json, int | None], int] = _at_once
    # True for writes that audit counts instead of recording (lease renewals, heartbeats).
    heartbeat: Callable[[Json, Json], bool] = _never
    # Top-level fields whose values never reach audit, records or logs.
    sensitive: tuple[str, ...] = ()
    # Warnings for accepted but doubtful input, shown to the client as Warning headers.
    warnings: Callable[[Json], list[str]] = lambda obj: []
    # Kinds in several versions:
    # Stored bytes as this version shows them, whatever version and schema they were written in; None: as they are.
    # What this version shows already stays as it is.
    presented: Callable[[bytes], bytes] | None = None
    stored_version: str = ""  # the version in which it is stored, if that is another
    conversions: tuple[Conversion, ...] = ()  # to the other versions, where they have other fields
    status_annotations: tuple[str, ...] = ()  # annotations in which a part of the status travels
    # Custom kinds only, which `model/custom/kinds.py` makes of a CustomResourceDefinition:
    # Instead of `model/structure.py`: drops what the schema does not know, adding its paths to the list, and returns
    # what cannot be decoded.
    structure: Callable[[Json, list[str]], Problems] | None = None
    # Rules in CEL, which see the object as it was as well (None: it is new); asked last, of what is right otherwise.
    rules: Callable[[Json, Json | None, Problems], None] | None = None
    # The published OpenAPI v3 schema of the whole object; None: made from the field tables.
    openapi: Json | None = None
    list_kind_name: str = ""  # defaults to kind + List
    definition: str = ""  # name of the CustomResourceDefinition it stands in
    # Of group, version and plural, found once because every request asks for them several times. `resource` is the
    # store's name: `pods`, `deployments.apps`.
    api_version: str = field(init=False, repr=False, compare=False)
    resource: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        named = f"{self.group}/{self.version}" if self.group else self.version
        object.__setattr__(self, "api_version", named)
        object.__setattr__(self, "resource", f"{self.plural}.{self.group}" if self.group else self.plural)

    @property
    def stored_api_version(self) -> str:
        return f"{self.group}/{self.stored_version}" if self.stored_version else self.api_version

    def as_stored(self, obj: Json) -> Json:
        """An object of this version in the one in which it is stored."""
        for each in self.conversions:
            if each.api_version == self.stored_api_version:
                return each.convert(obj)
        return obj

    @property
    def list_kind(self) -> str:
        return self.list_kind_name or f"{self.kind}List"

    @property
    def singular_name(self) -> str:
        return self.singular or self.kind.lower()
