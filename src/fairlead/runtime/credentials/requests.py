"""Reads and signs certificate requests with the authority of a data directory. Imported when there is one to sign.

Called by `runtime/server/certificate_signing.py`, in a thread. Like `certificates.py` it imports `cryptography`.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from fairlead.runtime.credentials.certificates import key_usage

#: bound: tokens | a certificate that was asked for is valid for | less than asked
CERTIFICATE_SECONDS = 365 * 24 * 3600
_RSA_BITS_MIN = 2048
_BACKDATED = timedelta(minutes=5)


class RequestError(Exception):
    """It cannot be signed. The message is for its status."""


class RequestSubject(NamedTuple):
    name: str
    groups: tuple[str, ...]


def read_subject(pem: bytes) -> RequestSubject:
    """Whom a request asks to be. RequestError if it cannot be read or was not signed with its own key."""
    found = _load(pem).subject
    names = [str(each.value) for each in found.get_attributes_for_oid(NameOID.COMMON_NAME)]
    groups = [str(each.value) for each in found.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]
    return RequestSubject(names[0] if names else "", tuple(groups))


def sign(authority: bytes, key: bytes, pem: bytes, seconds: int, now: float) -> bytes:
    """A certificate to sign in with (PEM). What the request says beyond its subject and its key is not taken over."""
    request = _load(pem)
    issuer = x509.load_pem_x509_certificate(authority)
    signer = serialization.load_pem_private_key(key, password=None)
    if not isinstance(signer, ec.EllipticCurvePrivateKey) or signer.public_key() != issuer.public_key():
        raise RequestError("the authority's key does not belong to its certificate")
    public = request.public_key()
    if isinstance(public, rsa.RSAPublicKey) and public.key_size < _RSA_BITS_MIN:
        raise RequestError(f"an RSA key needs {_RSA_BITS_MIN} bits at least, not {public.key_size}")
    if not isinstance(public, rsa.RSAPublicKey | ec.EllipticCurvePublicKey | ed25519.Ed25519PublicKey):
        raise RequestError("the key must be RSA, EC or Ed25519")
    start = datetime.fromtimestamp(int(now), UTC)
    end = min(start + timedelta(seconds=min(seconds, CERTIFICATE_SECONDS)), issuer.not_valid_after_utc)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(request.subject)
        .issuer_name(issuer.subject)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(start - _BACKDATED)
        .not_valid_after(end)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(key_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False
        )
        .sign(signer, hashes.SHA256())
    )
    return certificate.public_bytes(serialization.Encoding.PEM)


def _load(pem: bytes) -> x509.CertificateSigningRequest:
    try:
        request = x509.load_pem_x509_csr(pem)
        if not request.is_signature_valid:
            raise RequestError("it is not signed with its own key")
        _ = request.subject
    except (ValueError, InvalidSignature, UnsupportedAlgorithm) as error:
        raise RequestError(f"it is not a PKCS#10 request that can be read: {error}") from error
    return request
