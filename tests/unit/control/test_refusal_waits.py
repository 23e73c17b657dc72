"""What a refusal that says little is taken to be about: its reason names a kind only where its words do."""

from __future__ import annotations

import pytest

from fairlead.control.refusal_waits import Waits, guess_lifters
from fairlead.model.key import Key
from fairlead.model.views import Anything, Meta
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


@pytest.mark.parametrize(
    "resource",
    [
        "validatingadmissionpolicies.admissionregistration.k8s.io",
        "validatingadmissionpolicybindings.admissionregistration.k8s.io",
        "mutatingadmissionpolicies.admissionregistration.k8s.io",
        "mutatingadmissionpolicybindings.admissionregistration.k8s.io",
    ],
)
def test_whoever_is_refused_by_a_policy_is_woken_when_it_changes_or_goes(resource: str) -> None:
    waits, waiter = Waits(), ("replicaset", Key("replicasets.apps", "shop", "web"))
    policy = Anything(metadata=Meta(name="p", uid="u"))
    assert waits.add(waiter, (f"{resource}//p",), waits.changes)
    assert waits.eased(resource, Anything(metadata=Meta(name="other", uid="v")), None) == []
    assert waits.eased(resource, policy, None) == [waiter]


@pytest.mark.parametrize("status", [401, 403, 413, 422])
def test_a_refusal_by_a_policy_names_it_and_its_binding(status: int) -> None:
    said = "ValidatingAdmissionPolicy 'few.example.com' with binding 'all' denied request: too many"
    addresses = guess_lifters("shop", Refused(status, "Invalid", f'pods "web" is forbidden: {said}'))
    assert waiting_reason(addresses) == "WaitingForValidatingAdmissionPolicy"
    assert addresses == (
        "validatingadmissionpolicies.admissionregistration.k8s.io//few.example.com",
        "validatingadmissionpolicybindings.admissionregistration.k8s.io//all",
    )
