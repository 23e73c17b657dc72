"""Signing in with a certificate: whom it names. TLS has verified by whom it was signed; the time is judged here.

`wire/` makes a ClientCertificate of what a client showed, `sign_in.py` asks. The common name is the user, organizations
are groups, as Kubernetes has it. A certificate of this plane's authority that is not meant for clients never gets here.
"""

from __future__ import annotations

from typing import NamedTuple

from fairlead.api.access.users import AUTHENTICATED, CREDENTIAL_ID, User
from fairlead.core.errors import Unauthorized


class ClientCertificate(NamedTuple):
    name: str
    groups: tuple[str, ...]
    serial: str
    begins: float
    ends: float


def user_of(shown: ClientCertificate, at: float) -> User:
    """Unauthorized if it names nobody, or not now."""
    if not shown.name:
        raise Unauthorized("the client's certificate names nobody: its subject needs a common name (CN)")
    if not shown.begins <= at < shown.ends:
        state = "has expired" if at >= shown.ends else "is not valid yet"
        raise Unauthorized(f'the client\'s certificate of "{shown.name}" {state}: ask for a new one')
    groups = shown.groups if AUTHENTICATED in shown.groups else (*shown.groups, AUTHENTICATED)
    return User(shown.name, "", groups, ((CREDENTIAL_ID, (f"X509SERIAL={shown.serial}",)),))
