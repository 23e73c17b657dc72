"""A node's own certificate, with its key in one file: made once, signed by itself, known by its digest.

Read by the node's endpoint (`endpoint.py`). `fairlead up` makes those of its local nodes before they start, since
it has `cryptography` at hand on a first start and an agent would have to import it.
"""

from __future__ import annotations

import ssl
from hashlib import sha256
from pathlib import Path

from fairlead.runtime.private_files import read_private, write_private

FILE = "endpoint.pem"


def ensure(directory: Path, host: str, now: float) -> bytes:
    """The file's content; made if it is missing."""
    return read_private(directory / FILE) or make(directory, host, now)


def make(directory: Path, host: str, now: float) -> bytes:
    from fairlead.runtime.credentials import certificates  # slow to import: only where one is made

    pair = certificates.new_node(host, now)
    write_private(directory / FILE, pair.key + pair.certificate)
    return pair.key + pair.certificate


def digest(content: bytes) -> str:
    """What it is announced by. ValueError if there is no certificate in it."""
    text = content.decode("ascii")
    return sha256(ssl.PEM_cert_to_DER_cert(text[text.index("-----BEGIN CERTIFICATE") :])).hexdigest()
