"""Shuffle sharding: each flow is dealt a small hand of its level's queues, by a number that follows from its name.

Two flows seldom have the same hand, so that one which fills all queues of its own leaves others a queue that is not
full. Pure; called when a flow is seen for the first time (`matching.py`).
"""

from __future__ import annotations

from bisect import insort
from hashlib import sha256

_NUMBER_BYTES = 8


def number_of(schema: str, distinguisher: str) -> int:
    """The number that stands for a flow: 64 bits of a digest of its schema and what tells it from the others."""
    told = f"{len(schema)}:{schema}:{distinguisher}".encode()
    return int.from_bytes(sha256(told).digest()[:_NUMBER_BYTES], "big")


def deal(number: int, queues: int, hand_size: int) -> tuple[int, ...]:
    """So many different queues of all, each hand as likely as any other for numbers that are."""
    dealt: list[int] = []  # in order
    hand = []
    for taken in range(min(hand_size, queues)):
        number, card = divmod(number, queues - taken)
        for before in dealt:  # the card counts only those that are not dealt yet
            if card >= before:
                card += 1
        insort(dealt, card)
        hand.append(card)
    return tuple(hand)
