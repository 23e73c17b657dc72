"""What a refusal that says little is taken to be about: its reason names a kind only where its words do."""

from __future__ import annotations

import pytest

from fairlead.control.waits import guess_lifters
from fairlead.model.waiting import REFUSED, waiting_reason
from fairlead.port.outcome import Refused

QUOTA = 'pods "web-1" is forbidden: exceeded quota: team, requested: pods=1, used: pods=3, limited: pods=3'
RIGHTS = (
    'pods is forbidden: User "fairlead" cannot create resource "pods" in API group "" in the namespace "shop"'
)


@pytest.mark.parametrize(
    ("status", "message", "reason"),
    [
        (403, QUOTA, "WaitingForResourceQuota"),
        (403, RIGHTS, REFUSED),
        (404, 'namespaces "shop" not found', "WaitingForNamespace"),
    ],
)
def test_the_reason_is_what_the_words_say_and_whatever_may_lift_it_wakes(
    status: int, message: str, reason: str
) -> None:
    addresses = guess_lifters("shop", Refused(status, "Forbidden", message))
    assert waiting_reason(addresses) == reason
    assert {"resourcequotas/shop/", "limitranges/shop/", "namespaces//shop"} <= set(addresses)
