"""POST serviceaccounts/NAME/token: a token for a service account (TokenRequest), bound to what it is used by.

`kubectl create token` and nodes ask for it, nodes for their pods' projected volumes. Nothing is stored but the line
for audit; the token counts while what it is bound to exists (`api/access/account_tokens.py`).
"""

from __future__ import annotations

from fairlead.api import body
from fairlead.api.access.account_tokens import ISSUER, BoundObject, Claims, TokenSubject
from fairlead.api.access.users import service_account_name
from fairlead.api.admission.policies.mutating import mutate
from fairlead.api.admission.policies.validating import validate
from fairlead.api.attempt import Attempt
from fairlead.api.audit.rules import object_target
from fairlead.api.desk import Desk
from fairlead.api.finding import find
from fairlead.api.objects import tree
from fairlead.api.options import dry_run
from fairlead.api.plan import Context, Plan
from fairlead.api.status import invalid
from fairlead.api.subresource_kinds import TOKEN_REQUEST
from fairlead.api.writing import plan_at
from fairlead.core import codec, ids
from fairlead.core.errors import BadRequest, Conflict, Forbidden, NotFound
from fairlead.core.problems import Problems
from fairlead.core.times import timestamp
from fairlead.model.key import Key
from fairlead.model.kind import Json, Kind
from fairlead.port.request import Reply, Request
from fairlead.store.contract import Entry, Transaction

KIND, _API_VERSION = TOKEN_REQUEST.kind, TOKEN_REQUEST.api_version
_DEFAULT_SECONDS, _MIN_SECONDS, _MAX_SECONDS = 3600, 600, 1 << 32
#: bound: tokens | audiences that a token of a service account names | 422
AUDIENCES_MAX = 32
_BINDABLE = {"Pod": "pods", "Secret": "secrets", "Node": "nodes"}


def create(desk: Desk, request: Request, kind: Kind, context: Context) -> Reply | Plan:
    asked = body.read_json(desk, request)
    for field, expected in (("kind", KIND), ("apiVersion", _API_VERSION)):
        if asked.get(field, expected) != expected:
            raise BadRequest(
                f"{field} is {asked[field]!r}, but this path takes {expected!r}: send that, or omit it"
            )
    body.check_structure(desk, KIND, asked, "Ignore")
    account = find(desk, kind, request)
    owner = tree(account)
    attempt = Attempt(
        kind=kind, verb="create", subresource="token", key=account.key, context=context, read=desk.sound,
        new=owner, old=owner, current=account, sent=asked, dry_run=dry_run(request.query),
    )  # fmt: skip
    if desk.policies.active:
        mutate(desk, attempt)
    spec: Json = asked.get("spec") or {}
    _check(kind, account.key.name, spec)
    about = _about(desk, context, account, spec.get("boundObjectRef") or {})
    now = int(context.now)
    lasts = spec.get("expirationSeconds") or _DEFAULT_SECONDS
    claims = Claims(
        iss=ISSUER,
        sub=service_account_name(account.key.namespace, account.key.name),
        aud=tuple(spec.get("audiences") or (ISSUER,)),
        exp=now + lasts,
        iat=now,
        nbf=now,
        jti=ids.uid(context.entropy),
        about=about,
    )
    if desk.policies.active:
        validate(desk, attempt)
    answer = _answer(account, spec, claims, desk.accounts.issue(claims), context.now)
    reply = Reply(201, codec.encode(answer), warnings=tuple(attempt.warnings))
    if attempt.dry_run:
        return reply
    target = object_target(kind, account.key, account.uid, "token")
    notes = desk.audit.accepted(
        context, "create", target, 201, policies=attempt.policies, annotations=attempt.annotations
    )
    return plan_at(Transaction((), tuple(attempt.preconditions), notes), lambda _: reply)


def _check(kind: Kind, name: str, spec: Json) -> None:
    problems = Problems()
    lasts = spec.get("expirationSeconds")
    if lasts is not None and lasts < _MIN_SECONDS:
        problems.invalid("spec.expirationSeconds", lasts, "may not specify a duration less than 10 minutes")
    if lasts is not None and lasts > _MAX_SECONDS:
        problems.invalid(
            "spec.expirationSeconds", lasts, "may not specify a duration larger than 2^32 seconds"
        )
    audiences = spec.get("audiences") or ()
    if len(audiences) > AUDIENCES_MAX:
        problems.too_many("spec.audiences", len(audiences), AUDIENCES_MAX)
    reference = spec.get("boundObjectRef") or {}
    if reference and reference.get("kind") not in _BINDABLE:
        problems.unsupported("spec.boundObjectRef.kind", reference.get("kind") or "", tuple(_BINDABLE))
    if reference and not reference.get("name"):
        problems.required("spec.boundObjectRef.name")
    if problems:
        raise invalid(kind, name, problems)


def _about(desk: Desk, context: Context, account: Entry, reference: Json) -> TokenSubject:
    """The account, and what the token is to be bound to."""
    own, namespace = BoundObject(account.key.name, account.uid), account.key.namespace
    node = context.user.node_name
    if node and reference.get("kind") != "Pod":
        raise _of_its_pods(node)
    if not reference:
        return TokenSubject(namespace, own)
    resource = _BINDABLE[reference["kind"]]
    key = Key(resource, "" if resource == "nodes" else namespace, reference["name"])
    found = desk.sound.get(key)
    if found is None:
        raise NotFound(f'{resource} "{key.name}" not found', kind=resource, name=key.name)
    if reference.get("uid") and reference["uid"] != found.uid:
        raise Conflict(
            f"the UID in the bound object reference ({reference['uid']}) does not match the UID in record. "
            f"The object might have been deleted and then recreated (spec.boundObjectRef.uid)"
        )
    bound = BoundObject(key.name, found.uid)
    if resource == "secrets":
        return TokenSubject(namespace, own, secret=bound)
    if resource == "nodes":
        return TokenSubject(namespace, own, node=bound)
    spec = tree(found).get("spec") or {}
    if spec.get("serviceAccountName") != own.name:
        raise BadRequest(
            f'cannot bind token for serviceaccount "{own.name}" to pod running with different serviceaccount name'
        )
    if node and spec.get("nodeName") != node:
        raise _of_its_pods(node)
    runs_on = desk.sound.get(Key("nodes", "", spec.get("nodeName") or ""))
    return TokenSubject(
        namespace,
        own,
        pod=bound,
        node=BoundObject(runs_on.key.name, runs_on.uid) if runs_on is not None else None,
    )


def _of_its_pods(node: str) -> Forbidden:
    return Forbidden(f'node "{node}" needs tokens that are bound to one of its pods (spec.boundObjectRef)')


def _answer(account: Entry, spec: Json, claims: Claims, token: str, now: float) -> Json:
    told: Json = {"audiences": list(claims.aud), "expirationSeconds": claims.exp - claims.iat}
    if spec.get("boundObjectRef"):
        told["boundObjectRef"] = spec["boundObjectRef"]
    metadata = {
        "name": account.key.name,
        "namespace": account.key.namespace,
        "creationTimestamp": timestamp(now),
    }
    status = {"token": token, "expirationTimestamp": timestamp(claims.exp)}
    return {"kind": KIND, "apiVersion": _API_VERSION, "metadata": metadata, "spec": told, "status": status}
