"""The API's entry: one request in, one Step out. Authorize, find the kind, hand over to the verb.

Called by `runtime/` for every request that `wire/` or an in-process client brings, and by the simulator. It
reads durable state and nothing else; whatever it wants changed is in the Plan it returns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import structs

from fairlead.api import body
from fairlead.api.access.asking import attributes_of
from fairlead.api.access.breakglass.using import under_grant
from fairlead.api.access.contract import Attributes, require
from fairlead.api.access.reviews import find_review, review
from fairlead.api.access.sign_in import SignIn
from fairlead.api.access.users import MASTERS
from fairlead.api.desk import Desk
from fairlead.api.empty_kinds import check_reads, find_empty
from fairlead.api.fencing import add_premises
from fairlead.api.forms import Form, check_whole, form_of, included_of
from fairlead.api.metrics import find_metrics, measure
from fairlead.api.plan import Context, Step
from fairlead.api.runbooks.acting import RUNNER, as_requester, is_runner, record_step, run_acting
from fairlead.api.subresources import TEXTS
from fairlead.api.subresources import VERBS as SUBRESOURCE_VERBS
from fairlead.api.verbs.create import create
from fairlead.api.verbs.delete import delete
from fairlead.api.verbs.deletecollection import deletecollection
from fairlead.api.verbs.get import get
from fairlead.api.verbs.list import list_objects
from fairlead.api.verbs.patch import patch
from fairlead.api.verbs.update import update
from fairlead.api.verbs.watch import watch
from fairlead.core import codec
from fairlead.core.errors import MethodNotAllowed, NotFound
from fairlead.model.kind import Kind
from fairlead.model.premise import Premises
from fairlead.port.request import Reply, Request
from fairlead.store.contract import Entry

Verb = Callable[[Desk, Request, Kind, Context], Step]

_VERBS: Mapping[str, Verb] = {
    "get": get,
    "list": list_objects,
    "watch": watch,
    "create": create,
    "update": update,
    "patch": patch,
    "delete": delete,
    "deletecollection": deletecollection,
}
_OF_COLLECTIONS = frozenset({"list", "create", "deletecollection"})
# What Kubernetes has and this server has not: the way round it.
_INSTEAD = {
    ("pods", "portforward"): "; the pod's own address (kubectl get pods -o wide) works on its node's machine",
}


class Api:
    """All verbs of all kinds, and all ways to sign in."""

    __slots__ = ("desk", "sign_in")

    def __init__(self, desk: Desk, sign_in: SignIn) -> None:
        self.desk = desk
        self.sign_in = sign_in

    def serves(self, request: Request) -> bool:
        """Whether the request's address names something that exists here."""
        address = request.group, request.version, request.plural
        known = (self.desk.catalog.find, find_review, find_metrics, find_empty)
        return any(find(*address) is not None for find in known)

    def plan(self, request: Request, context: Context) -> Step:
        """Raises ApiError for anything that cannot be served."""
        run = None
        if context.user.name == RUNNER and is_runner(context.user):
            run = run_acting(self.desk, request, context)
            context = context if run is None else as_requester(run, context)
        if request.bindings:
            # For all that is there, not for one name.
            spaces = {each.namespace for each in request.bindings}
            grants = [self._authorize(structs.replace(request, namespace=space), context) for space in spaces]
            grant = next(filter(None, grants), "")
        else:
            grant = self._authorize(request, context)
        if grant:
            held = self.desk.access_grants.holding(grant, context.now)
            assert held is not None, "it allowed the request a moment ago"
            context = structs.replace(context, grant=grant)
            return under_grant(self._plan(request, context, run), held, context.now)
        return self._plan(request, context, run)

    def _plan(self, request: Request, context: Context, run: Entry | None) -> Step:
        kind = self.desk.catalog.find(request.group, request.version, request.plural)
        if kind is None:
            measured = find_metrics(request.group, request.version, request.plural)
            if measured is not None:
                form_of(request)
                return measure(self.desk, request, measured, context)
            kind = find_empty(request.group, request.version, request.plural)
            if kind is None:
                return self._review(request, context)
            check_reads(request, kind)
        verb = _verb_for(request, kind)
        if request.subresource not in TEXTS and form_of(request) is Form.TABLE:
            included_of(request)  # both are refused before anything is written, not after
        step = verb(self.desk, request, kind, context)
        if request.premises and run is None and MASTERS not in context.user.groups:
            self._require_sight(request.premises, context)
        if run is not None:
            step = record_step(self.desk, step, run, context)
        return add_premises(step, request.premises, context.now) if request.premises else step

    def _require_sight(self, premises: Premises, context: Context) -> None:
        """Whether a premise holds tells of the object that it names: only who may read that may name it."""
        for premise in premises:
            key = premise.key
            plural, _, group = key.resource.partition(".")
            asked = Attributes(
                user=context.user, verb="get", group=group, version="*", plural=plural,
                namespace=key.namespace, name=key.name, now=context.now,
            )  # fmt: skip
            require(self.desk.authorizer, asked)

    def _review(self, request: Request, context: Context) -> Reply:
        """A question about access: answered, not stored."""
        question = find_review(request.group, request.version, request.plural)
        if question is None:
            raise NotFound(f"the server could not find the requested resource{self._elsewhere(request)}")
        if bool(request.namespace) is not question.namespaced:
            where = "needs a namespace" if question.namespaced else "is in no namespace"
            raise NotFound(f"the server could not find the requested resource: {question.plural} {where}")
        if request.verb != "create" or request.name:
            raise MethodNotAllowed(
                f"the server does not allow {request.verb} on {question.plural}; POST a question"
            )
        check_whole(request)
        asked = body.read_json(self.desk, request)
        answer = review(
            question,
            asked,
            context.user,
            self.desk.authorizer,
            self.sign_in,
            context.now,
            request.namespace,
        )
        return Reply(201, codec.encode(answer))

    def _elsewhere(self, request: Request) -> str:
        """In which version the resource is served, for who asks for another."""
        name = f"{request.plural}.{request.group}" if request.group else request.plural
        kind = self.desk.catalog.of_resource(name)
        return f": {name} are served in version {kind.version}, not {request.version}" if kind else ""

    def _authorize(self, request: Request, context: Context) -> str:
        """The AccessGrant by which it is allowed; "" if it is without one."""
        return require(self.desk.authorizer, attributes_of(request, context.user, context.now)).grant

    def grant_of(self, request: Request, context: Context) -> Context:
        """The same context, with the grant by which a request was allowed that has been answered."""
        if request.bindings:
            return context
        verdict = self.desk.authorizer.authorize(attributes_of(request, context.user, context.now))
        return structs.replace(context, grant=verdict.grant) if verdict.grant else context


def _verb_for(request: Request, kind: Kind) -> Verb:
    if request.namespace and not kind.namespaced:
        raise NotFound(
            f"the server could not find the requested resource: {kind.plural} are not in a namespace"
        )
    if request.subresource:
        if request.subresource not in kind.subresources:
            raise NotFound(
                "the server could not find the requested resource: "
                f'{kind.plural} have no subresource "{request.subresource}"'
                f"{_INSTEAD.get((kind.resource, request.subresource), '')}",
                group=kind.group,
                kind=kind.plural,  # kubectl debug reads details without looking whether there are any
            )
        verb = SUBRESOURCE_VERBS[request.subresource].get(request.verb)
    elif request.verb != "watch" and bool(request.name) is (request.verb in _OF_COLLECTIONS):
        verb = None
    elif kind.namespaced and not request.namespace and request.verb not in ("list", "watch"):
        raise MethodNotAllowed(
            f"{request.verb} of {kind.plural} needs a namespace: use /namespaces/NAMESPACE/{kind.plural}"
        )
    elif request.verb != "deletecollection" or kind.deletecollection:
        verb = _VERBS.get(request.verb)
    else:
        verb = None
    if verb is None:
        what = f"{kind.plural}/{request.subresource}" if request.subresource else kind.plural
        raise MethodNotAllowed(f"the server does not allow {request.verb} on {what}")
    return verb
