"""Identities derived from entropy that arrives with the request: uids, name suffixes.

The runtime draws the entropy (16 bytes a request); the simulator numbers requests. Nothing here is random.
"""

from __future__ import annotations

from hashlib import blake2b

# Kubernetes' alphabet for generated names: no vowels and no look-alikes, so that no words appear.
_SUFFIX_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH = 5
# Of each digit, its lower two bits under the two that stand for the variant of RFC 9562.
_VARIANTS = {digit: "89ab"[int(digit, 16) & 3] for digit in "0123456789abcdef"}
#: bound: objects | length of a generated name | the prefix is shortened
GENERATED_NAME_MAX = 63


def uid(entropy: bytes, position: int = 0) -> str:
    """A version 4 shaped UUID, the same for the same entropy and position."""
    salt = position.to_bytes(8, "big") if position else b""  # which is all zeros as well
    digest = blake2b(entropy, digest_size=16, salt=salt).hexdigest()
    variant = _VARIANTS[digest[16]]
    return f"{digest[:8]}-{digest[8:12]}-4{digest[13:16]}-{variant}{digest[17:20]}-{digest[20:]}"


def name_suffix(entropy: bytes, attempt: int = 0) -> str:
    """Five characters for generateName, the same for the same entropy and attempt."""
    number = int.from_bytes(
        blake2b(entropy, digest_size=8, salt=attempt.to_bytes(8, "big"), person=b"name").digest()
    )
    letters = []
    for _ in range(_SUFFIX_LENGTH):
        number, index = divmod(number, len(_SUFFIX_ALPHABET))
        letters.append(_SUFFIX_ALPHABET[index])
    return "".join(letters)


def fnv_name(data: bytes) -> str:
    """Up to ten characters that stand for these bytes, as Kubernetes' controllers call a revision: the decimal digits
    of FNV-1 with 32 bits, each as a letter of the alphabet."""
    value = 0x811C9DC5
    for byte in data:
        value = (value * 0x01000193 & 0xFFFFFFFF) ^ byte
    return "".join(_SUFFIX_ALPHABET[ord(digit) % len(_SUFFIX_ALPHABET)] for digit in str(value))


def generated_name(prefix: str, entropy: bytes, attempt: int = 0) -> str:
    """generateName's rule: the prefix is cut so that prefix and suffix fit in 63 characters."""
    return prefix[: GENERATED_NAME_MAX - _SUFFIX_LENGTH] + name_suffix(entropy, attempt)
