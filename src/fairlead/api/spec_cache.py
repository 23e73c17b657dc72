"""What came of specs before: what admission made of one, and which stored ones need nothing more.

In kinds that say so (`Kind.beside_spec`) the spec stands alone: its structure, defaults, validation and warnings depend
on nothing else, and are found once for each (`model/specs.py`). What some steps of admission make of it depends on the
namespace as well, and on the resources that these steps name (`AdmissionStep.of_spec`), which is why that is kept here,
by server. `verbs/create.py` asks and tells `SpecCache`, `verbs/patch.py` asks `settled_spec`; both go the long way
otherwise, which is also the only one that refuses anything.

Trees of specs that are handed out are shared: nobody changes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from fairlead.core import codec
from fairlead.core.bounded_dict import BoundedDict
from fairlead.model.fields import FieldTables
from fairlead.model.kind import Json, Kind
from fairlead.model.shapes import fits
from fairlead.model.specs import SPEC_BYTES_MAX, KnownSpec, derived, spec_of, stored_spec
from fairlead.store.contract import Entry

_KEPT = 256
_tree = msgspec.json.Decoder(dict[str, Any]).decode


class CachedSpec(msgspec.Struct, frozen=True):
    """What a spec of a new object became."""

    spec: Json
    encoded: msgspec.Raw
    status: Json
    fields: bytes  # which fields of the spec its author came to own (`api/apply/managing.py`)
    warnings: tuple[str, ...]
    rests_on: tuple[Sequence[Entry], ...]  # what admission looked at; another list is another answer


class SpecCache:
    """One per desk. Bounded: the oldest go."""

    __slots__ = ("_taken",)

    def __init__(self) -> None:
        self._taken: BoundedDict[tuple[str, KnownSpec], CachedSpec] = BoundedDict(_KEPT)

    def find(
        self, kind: Kind, namespace: str, spec: msgspec.Raw, rests_on: tuple[Sequence[Entry], ...]
    ) -> CachedSpec | None:
        found = self._taken.get((namespace, spec_of(kind.resource, bytes(spec))))
        if found is None:
            return None
        # A list that nothing was changed in is the same one (`store/objects.py`).
        for then, now in zip(found.rests_on, rests_on, strict=True):
            if then is not now:
                return None
        return found

    def keep(
        self,
        kind: Kind,
        namespace: str,
        came: msgspec.Raw,
        new: Json,
        fields: bytes,
        rests_on: tuple[Sequence[Entry], ...],
    ) -> None:
        """`new` was admitted with a spec that came like this, and nothing is wrong with it."""
        given, encoded = bytes(came), codec.encode(new["spec"])
        if len(given) > SPEC_BYTES_MAX or len(encoded) > SPEC_BYTES_MAX:
            return
        spec = _tree(encoded)
        taken = CachedSpec(
            spec=spec,
            encoded=msgspec.Raw(encoded),
            status=codec.clone(new["status"]),
            fields=fields,
            warnings=tuple(kind.warnings({"metadata": {}, "spec": spec})),
            rests_on=rests_on,
        )
        self._taken.keep((namespace, spec_of(kind.resource, given)), taken)


def settled_spec(tables: FieldTables, kind: Kind, encoded: msgspec.Raw) -> Json | None:
    """The tree of a stored spec whose structure is right and which defaults would leave as it is; None: not so.

    The node, which a binding adds at the end, makes no difference to either.
    """
    known, node = stored_spec(kind.resource, bytes(encoded))
    spec = _settled(known, tables, kind)
    return {**spec, "nodeName": node.decode()} if spec is not None and node else spec


@derived
def _settled(known: KnownSpec, tables: FieldTables, kind: Kind) -> Json | None:
    whole = {"metadata": {}, "spec": _tree(known.encoded)}
    if not fits(tables, kind.schema, whole):
        return None
    kind.defaults(whole)
    return _tree(known.encoded) if codec.encode(whole["spec"]) == known.encoded else None
