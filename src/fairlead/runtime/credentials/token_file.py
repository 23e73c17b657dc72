"""The token table on disk, `identity/tokens.json`: digests and users. A token is shown once, when made.

`fairlead token` changes it, the server reads it at start and again when it has changed (`TokenFile.changed`).
Changes are read-modify-replace under a lock, so two commands at once both take effect.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fairlead.api.access.authn import Tokens, token_digest
from fairlead.api.access.users import MASTERS, NODE_PREFIX, NODES, VIEWERS, User
from fairlead.core.errors import DataDirectoryError, FormatError, NotFound, UsageError
from fairlead.core.times import timestamp
from fairlead.runtime.private_files import hold_lock, read_private, write_private

FORMAT = 2
_FORMAT_OF_ROLES = 1  # of a table that an older fairlead understands: without the role user
ROLES = ("admin", "viewer", "node", "user")
ADMIN_NAME = "admin"
#: bound: tokens | tokens | `fairlead token create` refuses
TOKENS_MAX = 10_000
#: bound: tokens | groups that a token names | `fairlead token create` refuses
GROUPS_MAX = 32

_GROUPS_OF_ROLES = {"admin": (MASTERS,), "viewer": (VIEWERS,)}
_GROUP_MAX = 253  # characters
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._@-]{0,126}[A-Za-z0-9])?")
_NODE_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class TokenEntry:
    """One line of the table."""

    name: str
    role: str
    digest: str
    created: str
    groups: tuple[str, ...] = ()  # beside that of the role

    @property
    def user(self) -> User:
        if self.role == "node":
            return User(NODE_PREFIX + self.name, groups=(NODES, *self.groups))
        return User(self.name, groups=(*_GROUPS_OF_ROLES.get(self.role, ()), *self.groups))


def new_token() -> str:
    """256 bits of chance; the prefix lets scanners of repositories recognise a leaked one."""
    return "fairlead_" + secrets.token_urlsafe(32)


def render(entries: Iterable[TokenEntry]) -> bytes:
    """The table's text."""
    ordered = sorted(entries, key=lambda entry: entry.name)
    tokens = [{key: value for key, value in asdict(entry).items() if value != ()} for entry in ordered]
    newer = any(entry.groups or entry.role == "user" for entry in ordered)
    document = {"format": FORMAT if newer else _FORMAT_OF_ROLES, "tokens": tokens}
    return json.dumps(document, indent=2).encode() + b"\n"


def check_name(role: str, name: str) -> None:
    rule = _NODE_NAME if role == "node" else _NAME
    if not rule.fullmatch(name):
        allowed = (
            "lower-case letters, digits, '-' and '.'" if role == "node" else "letters, digits and '._@-'"
        )
        raise UsageError(
            f"{name!r} is not a name for a {role} token: use {allowed}, with a letter or digit at both ends"
        )


def check_groups(groups: tuple[str, ...]) -> None:
    if len(groups) > GROUPS_MAX:
        raise UsageError(f"a token may name {GROUPS_MAX} groups at most, not {len(groups)}")
    for group in groups:
        if not group or len(group) > _GROUP_MAX or not group.isprintable():
            raise UsageError(
                f"{group!r} is not a name for a group: use 1 to {_GROUP_MAX} printable characters"
            )
        if group.startswith("system:"):
            raise UsageError(f"group {group!r} belongs to the plane: choose a role with --role instead")


class TokenFile:
    """The table of one data directory."""

    __slots__ = ("_seen", "path")

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen: tuple[int, int, int] | None = None

    def entries(self) -> tuple[TokenEntry, ...]:
        """All entries, by name; none if there is no file yet."""
        data = read_private(self.path)
        return () if data is None else _parse(data, self.path)

    def tokens(self) -> Tokens:
        """The table as authentication uses it."""
        self._seen = self._stamp()
        return Tokens({entry.digest: entry.user for entry in self.entries()})

    def changed(self) -> Tokens | None:
        """A new table if the file was replaced since it was last read, otherwise None. One stat call."""
        return None if self._stamp() == self._seen else self.tokens()

    def create(self, role: str, name: str, now: float, groups: tuple[str, ...] = ()) -> str:
        """Add an entry and return its token, which is kept nowhere."""
        check_name(role, name)
        check_groups(groups)
        token = new_token()

        def add(entries: list[TokenEntry]) -> None:
            if any(entry.name == name for entry in entries):
                raise UsageError(
                    f"a token named {name!r} exists: choose another name, or revoke it first with"
                    f" `fairlead token revoke {name}`"
                )
            if len(entries) >= TOKENS_MAX:
                raise UsageError(
                    f"there are {TOKENS_MAX} tokens already: revoke some with `fairlead token revoke`"
                )
            entries.append(TokenEntry(name, role, token_digest(token), timestamp(now), groups))

        self._change(add)
        return token

    def admit(self, token: str, role: str, name: str, now: float) -> None:
        """Let this very token in under this name, replacing the entry of that name."""
        entry = TokenEntry(name, role, token_digest(token), timestamp(now))

        def replace(entries: list[TokenEntry]) -> None:
            entries[:] = [other for other in entries if other.name != name] + [entry]

        self._change(replace)

    def revoke(self, name: str) -> TokenEntry:
        """Remove an entry; a running server notices within a second."""
        gone: list[TokenEntry] = []

        def remove(entries: list[TokenEntry]) -> None:
            gone.extend(entry for entry in entries if entry.name == name)
            if not gone:
                raise NotFound(f"there is no token named {name!r}: `fairlead token list` shows all")
            entries[:] = [entry for entry in entries if entry.name != name]

        self._change(remove)
        return gone[0]

    def _change(self, edit: Callable[[list[TokenEntry]], None]) -> None:
        with hold_lock(self.path.with_suffix(".lock")):
            entries = list(self.entries())
            edit(entries)
            write_private(self.path, render(entries))

    def _stamp(self) -> tuple[int, int, int] | None:
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size


def _parse(data: bytes, path: Path) -> tuple[TokenEntry, ...]:
    try:
        document: Any = json.loads(data)
        version = document["format"]
        if isinstance(version, int) and version > FORMAT:
            raise FormatError(f"{path} was written by a newer fairlead (format {version}): use that version")
        entries = tuple(
            TokenEntry(**{**entry, "groups": tuple(entry.get("groups", ()))}) for entry in document["tokens"]
        )
        if not all(entry.role in ROLES and _DIGEST.fullmatch(entry.digest) for entry in entries):
            raise ValueError("an entry has an unknown role or no digest")
        if not all(isinstance(each.get("groups", []), list) for each in document["tokens"]):
            raise ValueError("the groups of an entry are no list")
    except (ValueError, TypeError, KeyError) as error:
        raise DataDirectoryError(
            f"{path} is damaged ({error}): restore it from a backup, or remove it: the token in the"
            " kubeconfig is then let in again at the next start"
        ) from error
    return entries
