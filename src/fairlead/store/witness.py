"""Who knows from outside the database how far revisions were given out. The journal asks it when it is read.

`runtime/data/revision_mark.py` is the one of a data directory. A database that lost its newest transactions is as
consistent as any; only what was written elsewhere can tell. Pure.
"""

from __future__ import annotations

from typing import Protocol


class Witness(Protocol):
    @property
    def promised(self) -> int:
        """No revision above this one was ever given out; 0 if nothing is known."""
        ...

    @property
    def acknowledged(self) -> int:
        """Callers were told of this revision, and maybe of later ones; 0 if nothing is known."""
        ...

    def doubt(self, newest: int) -> str:
        """Why more was acknowledged than a database with this newest revision holds; "" if nothing says so."""
        ...

    def reach(self, revision: int) -> None:
        """Before a revision above `promised` is written: promise more, durably. OSError if that fails."""
        ...

    def acknowledge(self, revision: int) -> None:
        """This revision is durable, and callers are told so. A power cut may take the knowledge of it away again."""
        ...

    def settle(self, revision: int) -> None:
        """The doubt was dealt with: numbering goes on above this revision."""
        ...

    def close(self, revision: int) -> None:
        """The journal is closed in order, and this is its newest revision."""
        ...


class NoWitness:
    """For a journal without a directory: tests, copies, what is only read."""

    promised = acknowledged = 0

    def doubt(self, newest: int) -> str:
        return ""

    def reach(self, revision: int) -> None:
        return None

    def acknowledge(self, revision: int) -> None:
        return None

    def settle(self, revision: int) -> None:
        return None

    def close(self, revision: int) -> None:
        return None
