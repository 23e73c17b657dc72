"""Keys of an OpenID Connect issuer: fetched over HTTPS as its discovery document says, kept, fetched again when needed.

`server/serving.py` starts `OpenIdKeys.run`, `api/access/openid.py` asks `verify`, which never waits: a token with a key
that is not known yet is refused, and the keys are fetched, at most every few seconds, so that the next try finds it. An
issuer that is away takes nothing away: known keys stay. `cryptography` is imported with the first key.
"""

from __future__ import annotations

import asyncio
import json
import logging
import ssl
import urllib.request
from base64 import urlsafe_b64decode
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from fairlead.core.errors import UsageError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric import ec, rsa

    PublicKey = rsa.RSAPublicKey | ec.EllipticCurvePublicKey

log = logging.getLogger("fairlead.openid")

_DISCOVERY = "/.well-known/openid-configuration"
#: bound: tokens | bytes of an identity provider's documents | they are not read further
DOCUMENT_BYTES_MAX = 1024 * 1024
#: bound: tokens | keys of an identity provider | the rest is left out
KEYS_MAX = 64
_REFRESH_SECONDS, _AGAIN_SECONDS, _TIMEOUT_SECONDS = 3600.0, 5.0, 10.0


def check_issuer(issuer: str) -> None:
    """UsageError if keys cannot be fetched from there."""
    found = urlsplit(issuer)
    if found.scheme != "https" or not found.netloc or found.query or found.fragment:
        raise UsageError(f"--oidc-issuer-url {issuer}: give an https:// address without query and fragment")


class OpenIdKeys:
    def __init__(self, issuer: str, authority: Path | None = None) -> None:
        """`authority`: a file with certificates by which to know the issuer; None: those of the machine."""
        self._issuer, self._authority = issuer, authority
        self._keys: dict[str, PublicKey] = {}
        self._wanted = asyncio.Event()

    def verify(self, algorithm: str, key: str, signed: bytes, signature: bytes) -> bool:
        found = self._keys.get(key)
        if found is None:
            self._wanted.set()
            return False
        return _is_signed(found, algorithm, signed, signature)

    async def run(self) -> None:
        while True:
            try:
                self._keys = await asyncio.to_thread(self._fetched)
            except (OSError, ValueError, KeyError, TypeError) as error:
                log.warning("the keys of %s could not be fetched, known ones stay: %s", self._issuer, error)
            await asyncio.sleep(_AGAIN_SECONDS)
            self._wanted.clear()
            try:
                await asyncio.wait_for(self._wanted.wait(), _REFRESH_SECONDS)
            except TimeoutError:
                continue

    def _fetched(self) -> dict[str, PublicKey]:
        document = self._get(self._issuer.rstrip("/") + _DISCOVERY)
        if document.get("issuer") != self._issuer:
            raise ValueError(f"its discovery document is of {document.get('issuer')!r}")
        address = str(document["jwks_uri"])
        check_issuer(address)
        keys = self._get(address)["keys"]
        found = {str(each.get("kid", "")): _parsed(each) for each in keys[:KEYS_MAX]}
        return {name: key for name, key in found.items() if key is not None}

    def _get(self, address: str) -> dict[str, Any]:
        context = ssl.create_default_context(cafile=str(self._authority) if self._authority else None)
        opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=context), _NoRedirects())
        with opener.open(address, timeout=_TIMEOUT_SECONDS) as answer:
            found = json.loads(answer.read(DOCUMENT_BYTES_MAX))
        if not isinstance(found, dict):
            raise ValueError(f"{address} is no JSON object")
        return found


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Keys are read where the issuer says, and nowhere else."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _parsed(key: dict[str, Any]) -> PublicKey | None:
    """None: of a sort that is not understood."""
    from cryptography.hazmat.primitives.asymmetric import ec, rsa

    if key.get("use", "sig") != "sig":
        return None
    if key.get("kty") == "RSA":
        return rsa.RSAPublicNumbers(_number(key["e"]), _number(key["n"])).public_key()
    if key.get("kty") == "EC" and key.get("crv") == "P-256":
        return ec.EllipticCurvePublicNumbers(
            _number(key["x"]), _number(key["y"]), ec.SECP256R1()
        ).public_key()
    return None


def _number(text: str) -> int:
    return int.from_bytes(urlsafe_b64decode(text + "=" * (-len(text) % 4)), "big")


def _is_signed(key: PublicKey, algorithm: str, signed: bytes, signature: bytes) -> bool:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa, utils

    try:
        if algorithm == "RS256" and isinstance(key, rsa.RSAPublicKey):
            key.verify(signature, signed, padding.PKCS1v15(), hashes.SHA256())
            return True
        if algorithm == "ES256" and isinstance(key, ec.EllipticCurvePublicKey) and len(signature) == 64:
            first, second = (int.from_bytes(part, "big") for part in (signature[:32], signature[32:]))
            key.verify(utils.encode_dss_signature(first, second), signed, ec.ECDSA(hashes.SHA256()))
            return True
    except InvalidSignature:
        return False
    return False
