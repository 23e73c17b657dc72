"""A budget of bytes that users share: of the bodies of requests, and of what watches leave in their connections.

One rule shares it: a user may hold as much as is still free afterwards. One user alone gets half of the budget, two get
a third each, and whoever comes next always finds something left.

The listener has one for bodies: each connection takes from it before it reads a body, and gives back once the request
is answered or its client is gone. A body whose length is announced is paid for before its first byte is read, a chunked
one as it arrives. The fan-out of watches has another (`fanout.py`).
"""

from __future__ import annotations


class ByteBudget:
    """The bytes in use, by user."""

    __slots__ = ("_held", "bytes_max", "held", "refused")

    def __init__(self, bytes_max: int) -> None:
        self.bytes_max = bytes_max
        self.held = 0
        self.refused = 0
        self._held: dict[str, int] = {}

    def take(self, user: str, size: int) -> bool:
        """Whether there is room for so many bytes more of this user; if so they are taken."""
        of_user = self._held.get(user, 0) + size
        if of_user > self.bytes_max - self.held - size:
            self.refused += 1
            return False
        self._held[user] = of_user
        self.held += size
        return True

    def give_back(self, user: str, size: int) -> None:
        self.held -= size
        left = self._held[user] - size
        if left:
            self._held[user] = left
        else:
            del self._held[user]
