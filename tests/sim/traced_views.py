"""Views that tell which of their fields are read: copies of a class of their own, which notes and is else the same.

    tracer = Tracer(note)                   note(resource, field)
    tracer.traced("pods", pod).status.phase      notes ("pods", "status.phase")

Fields are those of `decision/footprint.py`: two levels, entries of annotations and conditions apart. What C code
reads of a view (encoding it) is not noted; that nothing is decided on it is what `scrambled_views.py` shows.
Used by `declared_reads.py`.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
from msgspec import structs

from fairlead.core.bounded_dict import BoundedDict
from fairlead.decision.footprint import ANY, IDENTITY
from fairlead.model.views import Anything, Condition, Stored, View

Note = Callable[[str, str], None]
_KEPT_MAX = 50_000  # views of one run
_metadata = msgspec.json.Decoder(Anything).decode


class _Annotations(dict[str, str]):
    """A map that tells which of its entries are asked for."""

    def __init__(self, entries: dict[str, str], note: Callable[[str], None]) -> None:
        super().__init__(entries)
        self._note = note

    def _whole(self) -> None:
        self._note("metadata.annotations")

    def get(self, key: str, default: Any = None) -> Any:
        self._note(f"metadata.annotations[{key}]")
        return super().get(key, default)

    def __getitem__(self, key: str) -> str:
        self._note(f"metadata.annotations[{key}]")
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        self._note(f"metadata.annotations[{key}]")
        return super().__contains__(key)

    def __iter__(self) -> Iterator[str]:
        self._whole()
        return super().__iter__()

    def keys(self) -> Any:
        self._whole()
        return super().keys()

    def items(self) -> Any:
        self._whole()
        return super().items()

    def values(self) -> Any:
        self._whole()
        return super().values()

    def __eq__(self, other: object) -> bool:
        self._whole()
        return super().__eq__(other)

    __hash__ = None


class ReadTracer:
    def __init__(self, note: Note) -> None:
        self._note = note
        self._classes: dict[tuple[str, str, type], type] = {}
        self._made: BoundedDict[tuple[str, int], tuple[View, View]] = BoundedDict(_KEPT_MAX)

    def traced(self, resource: str, view: Any) -> Any:
        """This view, seen through; the same copy for the same view."""
        if view is None or not isinstance(view, View):
            return view
        kept = self._made.get((resource, id(view)))
        if kept is not None and kept[0] is view:
            return kept[1]
        made = self._stored(resource, view) if isinstance(view, Stored) else self._copy(resource, "", view)
        self._made.keep((resource, id(view)), (view, made))
        return made

    def _copy(self, resource: str, path: str, view: View) -> Any:
        values = {}
        for field in structs.fields(view):
            value = getattr(view, field.name)
            where = f"{path}.{field.encode_name}" if path else field.encode_name
            if isinstance(value, View) and not path:
                value = self._copy(resource, where, value)
            elif where == "metadata.annotations":
                value = _Annotations(value, lambda entry: self._note(resource, entry))
            elif where == "status.conditions":
                value = tuple(self._condition(resource, each) for each in value)
            values[field.name] = value
        return self._class(resource, path, type(view))(**values)

    def _condition(self, resource: str, condition: Any) -> Any:
        if not isinstance(condition, Condition):
            return condition
        path = f"status.conditions[{condition.type}]"
        copied = {each: getattr(condition, each) for each in condition.__struct_fields__}
        return self._class(resource, path, type(condition))(**copied)

    def _class(self, resource: str, path: str, base: type) -> type:
        found = self._classes.get((resource, path, base))
        if found is None:
            is_entry = path.endswith("]")
            names = {
                each.name: path if is_entry else f"{path}.{each.encode_name}" if path else each.encode_name
                for each in structs.fields(base)
                if not (is_entry and each.name == "type")
            }
            # What has fields of its own to read, or entries, notes those.
            nested = {"metadata", "spec", "status", "annotations", "conditions"}
            found = self._noting(resource, base, {k: v for k, v in names.items() if k not in nested}, names)
            self._classes[resource, path, base] = found
        return found

    def _noting(self, resource: str, base: type, told: dict[str, str], names: dict[str, str]) -> type:
        note = self._note

        def read(self: Any, name: str) -> Any:
            value = object.__getattribute__(self, name)
            if name in told:
                field = told[name]
                if field not in IDENTITY:
                    note(resource, field)
            elif name in names and not isinstance(value, View | _Annotations | tuple):
                note(resource, names[name])  # a spec that is plain JSON
            return value

        def equals(self: Any, other: object) -> bool:
            if not isinstance(other, base):
                return False
            names_of = structs.fields(base)
            return all(getattr(self, each.name) == getattr(other, each.name) for each in names_of)

        def body(namespace: dict[str, Any]) -> None:
            namespace["__getattribute__"] = read
            namespace["__eq__"] = equals
            namespace["__hash__"] = base.__hash__

        return types.new_class(base.__name__, (base,), {"frozen": True}, body)

    def _stored(self, resource: str, view: Stored) -> Any:
        """An object of any kind: what is asked of its metadata is noted, and of the rest that it was looked at."""
        made = self._classes.get((resource, "", Stored))
        if made is None:
            made = self._classes[resource, "", Stored] = self._noting_stored(resource)
        return made(**{each: getattr(view, each) for each in view.__struct_fields__})

    def _noting_stored(self, resource: str) -> type:
        told = {
            "mentions_owners": "metadata.ownerReferences",
            "mentions_deletion": "metadata.deletionTimestamp",
            "data": ANY,
        }

        def read(stored: Any, name: str) -> Any:
            if name == "metadata":
                found = _metadata(Stored.__getattribute__(stored, "data")).metadata
                return self._copy(resource, "metadata", found)
            if name in told:
                self._note(resource, told[name])
            return Stored.__getattribute__(stored, name)

        def body(namespace: dict[str, Any]) -> None:
            namespace["__getattribute__"] = read

        return types.new_class("Stored", (Stored,), {"frozen": True}, body)
