"""What one user may be told of by name; of the rest they are told how much there is.

Documents that tell of many namespaces at once (explain, plan, queues, decisions, audit) are given a Sight with the
question: whoever may read the document as such sees all of it, a tenant what is in namespaces that they may read.
`wire/documents.py` decides which of the two it is, by the same authorizer as everything else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from fairlead.api.access.contract import Authorizer, reading
from fairlead.api.access.users import User

T = TypeVar("T")


class Sight:
    """Of one user, for the time of one answer. Without an authorizer: everything."""

    __slots__ = ("_authorizer", "_seen", "_user")

    def __init__(self, authorizer: Authorizer | None = None, user: User | None = None) -> None:
        self._authorizer = authorizer
        self._user = user
        self._seen: dict[tuple[str, str, str], bool] = {}

    @property
    def is_whole(self) -> bool:
        return self._authorizer is None

    def sees(self, resource: str, namespace: str, name: str = "") -> bool:
        """Whether objects of this group-resource (`pods`, `deployments.apps`) may be named, there and by this name."""
        if self._authorizer is None or self._user is None:
            return True
        place = (resource, namespace, name)
        found = self._seen.get(place)
        if found is None:
            asked = reading(self._user, resource, namespace, name)
            found = self._seen[place] = self._authorizer.authorize(asked).allowed
        return found

    def namespaces(self, spaces: Iterable[str]) -> frozenset[str] | None:
        """Those of these whose pods may be named; None: all there are. For work that is done elsewhere."""
        return None if self.is_whole else frozenset(each for each in spaces if self.sees("pods", each))

    def shown(self, items: Iterable[T], place: Callable[[T], tuple[str, str, str]]) -> tuple[list[T], int]:
        """Those that may be named, and how many others there are."""
        kept: list[T] = []
        hidden = 0
        for each in items:
            if self.sees(*place(each)):
                kept.append(each)
            else:
                hidden += 1
        return kept, hidden


EVERYTHING = Sight()
