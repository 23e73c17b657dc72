"""Makes the certificate authority, the server's certificate, the plane's as a client, and a node's own. EC P-256.

The only file that imports `cryptography`, which takes as long to import as all else together: `identity.py`
imports this file only when something must be made.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

AUTHORITY_DAYS = 3650
SERVER_DAYS = 365
# A node's certificate is known by its digest, not by who signed it or until when.
NODE_DAYS = 3650
# Certificates are valid from a day before now: the clock of an agent that starts, or of a client, may be behind.
_BACKDATED = timedelta(days=1)


class Pair(NamedTuple):
    certificate: bytes  # PEM
    key: bytes  # PEM
    not_after: float  # seconds since the epoch


def new_authority(now: float) -> Pair:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "fairlead-ca")])
    start = datetime.fromtimestamp(int(now), UTC)
    end = start + timedelta(days=AUTHORITY_DAYS)
    certificate = (
        _builder(name, name, key.public_key(), start, end)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(key_usage(signs_certificates=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    return _pair(certificate, key, end)


def new_server(authority_certificate: bytes, authority_key: bytes, hosts: Iterable[str], now: float) -> Pair:
    """Raises ValueError if the authority's files are not what they should be."""
    names = x509.SubjectAlternativeName([_alternative(host) for host in hosts])
    use = ExtendedKeyUsageOID.SERVER_AUTH
    return _signed(authority_certificate, authority_key, "fairlead-server", use, names, now)


def new_client(authority_certificate: bytes, authority_key: bytes, common_name: str, now: float) -> Pair:
    """For who opens connections. Raises ValueError like `new_server`."""
    use = ExtendedKeyUsageOID.CLIENT_AUTH
    return _signed(authority_certificate, authority_key, common_name, use, None, now)


def new_node(host: str, now: float) -> Pair:
    """Signed by itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "fairlead-node")])
    start = datetime.fromtimestamp(int(now), UTC)
    end = start + timedelta(days=NODE_DAYS)
    certificate = (
        _builder(name, name, key.public_key(), start, end)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(key_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([_alternative(host)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    return _pair(certificate, key, end)


def _signed(
    authority_certificate: bytes,
    authority_key: bytes,
    common_name: str,
    use: x509.ObjectIdentifier,
    names: x509.SubjectAlternativeName | None,
    now: float,
) -> Pair:
    authority = x509.load_pem_x509_certificate(authority_certificate)
    signer = serialization.load_pem_private_key(authority_key, password=None)
    if not isinstance(signer, ec.EllipticCurvePrivateKey) or signer.public_key() != authority.public_key():
        raise ValueError("the key does not belong to the certificate")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
    start = datetime.fromtimestamp(int(now), UTC)
    end = min(start + timedelta(days=SERVER_DAYS), authority.not_valid_after_utc)
    authority_id = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())
    builder = (
        _builder(name, authority.subject, key.public_key(), start, end)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(key_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([use]), critical=False)
        .add_extension(authority_id, critical=False)
    )
    if names is not None:
        builder = builder.add_extension(names, critical=False)
    return _pair(builder.sign(signer, hashes.SHA256()), key, end)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, start: datetime, end: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(start - _BACKDATED)
        .not_valid_after(end)
    )


def key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _alternative(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _pair(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey, end: datetime) -> Pair:
    encoded_key = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return Pair(certificate.public_bytes(serialization.Encoding.PEM), encoded_key, end.timestamp())
