"""The kinds one server serves at the moment: the built-in ones, and those that CustomResourceDefinitions brought.

`api/custom.py` changes it when a definition is committed, within the step that publishes the commit, so that whoever
made the definition finds its kinds served. Everybody else reads it as the Catalog that it is; whoever keeps something
made of all kinds (discovery, OpenAPI) compares `changes`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fairlead.model.catalog import CATALOG, Catalog
from fairlead.model.custom.versions import precedence
from fairlead.model.kind import Kind


class Served(Catalog):
    """A catalog whose custom kinds come and go."""

    __slots__ = ("_fixed", "_owned", "changes")

    def __init__(self, fixed: Iterable[Kind] = CATALOG) -> None:
        self._fixed = tuple(fixed)
        self._owned: dict[str, tuple[Kind, ...]] = {}
        self.changes = 0
        super().__init__(self._fixed)

    def serve(self, owner: str, kinds: Sequence[Kind]) -> None:
        """From now on these are the kinds of `owner`, the most preferred version first. ValueError if one of them is
        served by somebody else; nothing has changed then."""
        owned = {**self._owned, owner: tuple(kinds)}
        self._take(owned)

    def withdraw(self, owner: str) -> None:
        """The kinds of `owner` are no longer served; nothing happens if there are none."""
        if owner in self._owned:
            self._take({name: kinds for name, kinds in self._owned.items() if name != owner})

    def of_owner(self, owner: str) -> tuple[Kind, ...]:
        return self._owned.get(owner, ())

    @property
    def custom(self) -> tuple[Kind, ...]:
        """Every custom kind in every version served."""
        return tuple(kind for kinds in self._owned.values() for kind in kinds)

    def _take(self, owned: dict[str, tuple[Kind, ...]]) -> None:
        custom = sorted(
            (kind for _, kinds in sorted(owned.items()) for kind in kinds),
            key=lambda kind: (kind.group, precedence(kind.version)),
        )
        found = Catalog((*self._fixed, *custom))  # raises before anything of this one is changed
        for slot in Catalog.__slots__:
            setattr(self, slot, getattr(found, slot))
        self._owned = owned
        self.changes += 1
