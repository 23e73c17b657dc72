"""Which OpenID Connect issuer lets people in, and how its tokens name them. Imports nothing: the command line reads it.

Chosen by the operator (`cli/serving.py`), obeyed by `openid.py`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OpenIdSettings:
    """`username_prefix`: "-" for none; "" for the issuer and # (no prefix for the claim `email`)."""

    issuer: str
    client_id: str
    username_claim: str = "sub"
    username_prefix: str = ""
    groups_claim: str = ""
    groups_prefix: str = ""
    required: tuple[tuple[str, str], ...] = ()

    @property
    def name_prefix(self) -> str:
        if self.username_prefix:
            return "" if self.username_prefix == "-" else self.username_prefix
        return "" if self.username_claim == "email" else f"{self.issuer}#"
