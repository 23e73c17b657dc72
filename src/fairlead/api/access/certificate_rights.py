"""Who may approve a certificate request, who may issue its certificate, and which are approved by rule.

Rights are about what is written, not about the address it is written to: whoever changes Approved or Denied needs the
verb `approve` on the signer, whoever writes the certificate needs `sign`, as Kubernetes' own admission has it. Asked by
`api/writing.py` of every write that passed admission, and by `runtime/server/certificate_signing.py`. Pure.
"""

from __future__ import annotations

from fairlead.api.access.contract import Attributes, Authorizer, require
from fairlead.api.access.users import NODE_PREFIX, NODES, User
from fairlead.api.attempt import Attempt
from fairlead.model.kind import Json
from fairlead.model.kinds.certificatesigningrequest import (
    APPROVED,
    DENIED,
    GROUP,
    KIND,
    KUBELET_CLIENT,
    VERSION,
    is_true,
)
from fairlead.model.kinds.workload import part

_CLIENT_USAGES = frozenset({"digital signature", "client auth"})
_CLIENT_USAGES_RSA = _CLIENT_USAGES | {"key encipherment"}
_SUBRESOURCES = (
    ("selfnodeclient", "Auto approving self kubelet client certificate after SubjectAccessReview."),
    ("nodeclient", "Auto approving kubelet client certificate after SubjectAccessReview."),
)


def check_signing(attempt: Attempt, authorizer: Authorizer) -> None:
    """Forbidden if the write approves or issues what its writer may not."""
    new, old = attempt.new, attempt.old
    if attempt.kind.resource != KIND.resource or new is None or old is None:
        return
    user, signer = attempt.context.user, str(part(old, "spec").get("signerName") or "")
    if any(is_true(new, each) != is_true(old, each) for each in (APPROVED, DENIED)):
        _require(authorizer, user, "approve", signer)
    if part(new, "status").get("certificate") != part(old, "status").get("certificate"):
        _require(authorizer, user, "sign", signer)


def _require(authorizer: Authorizer, user: User, verb: str, signer: str) -> None:
    """On the signer itself, or on all of its domain."""
    domain = f"{signer.partition('/')[0]}/*"
    named, all_of_domain = (
        Attributes(user=user, verb=verb, group=GROUP, version=VERSION, plural="signers", name=name)
        for name in (signer, domain)
    )
    if not authorizer.authorize(all_of_domain).allowed:
        require(authorizer, named)


def approving_rule(request: Json, subject: tuple[str, tuple[str, ...]], authorizer: Authorizer) -> str:
    """Why a request needs no person to approve it; "" if it does. `subject`: the name and the groups that it asks for.

    As in Kubernetes: certificates of nodes, for those who may create `certificatesigningrequests/selfnodeclient` (their
    own name) or `/nodeclient` (any node's).
    """
    spec = part(request, "spec")
    name, groups = subject
    usages = frozenset(spec.get("usages") or ())
    if spec.get("signerName") != KUBELET_CLIENT or usages not in (_CLIENT_USAGES, _CLIENT_USAGES_RSA):
        return ""
    if groups != (NODES,) or not name.startswith(NODE_PREFIX):
        return ""
    extra = tuple((key, tuple(values)) for key, values in (spec.get("extra") or {}).items())
    user = User(spec.get("username") or "", spec.get("uid") or "", tuple(spec.get("groups") or ()), extra)
    for subresource, reason in _SUBRESOURCES:
        if subresource == "selfnodeclient" and user.name != name:
            continue
        asked = Attributes(
            user=user,
            verb="create",
            group=GROUP,
            version=VERSION,
            plural=KIND.plural,
            subresource=subresource,
        )
        if authorizer.authorize(asked).allowed:
            return reason
    return ""
