"""The way out of a plane whose API cannot judge in the transaction: what can be checked is read just before the write.

Between the plane and its driver where `Capabilities` are not complete (Kubernetes). A write is held back, and answered
here instead, or it goes on:

    our time as leader ends within the margin     Conflict: nothing is sent (laws.md 6)
    it rests on other objects (premises)          each is read anew; one at another revision: Conflict. Of neighbours
                                                  of its own kind that are to stay as they are, the first few
    it binds a pod, and quotas are served         its namespace's are read anew; other than in the mirror: Conflict
    it finalizes a namespace                      what that may hold is listed; what is left is deleted: Refused, later
    it rests on an object of a custom kind        the same; a 404 that does not name the object says that its kind is
                                                  not served just now, not that the object is gone: Refused, later
    it binds with a reservation                   the pod says so (`bound-with`); the Reservation controller marks it
    a read has no answer                          Refused, later

Between the read and the write somebody may still change something; then uid and resourceVersion of the object written
decide. After a Conflict the plane looks, and decides again once its mirrors show more; nothing is repeated (laws.md 4).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import msgspec
from msgspec import structs

from fairlead.control.instructions import Call, Instruction
from fairlead.core import codec
from fairlead.ledger.reservation import ANNOTATION, BOUND_WITH
from fairlead.model.catalog import CATALOG
from fairlead.model.custom.definition import DEFINITIONS, ESTABLISHED
from fairlead.model.premise import Premise
from fairlead.model.views import PLACEMENT_QUOTAS
from fairlead.port.capabilities import Capabilities
from fairlead.port.outcome import Conflict, Done, Outcome, Refused
from fairlead.port.request import READ_VERBS, Request

_DEFINITIONS = DEFINITIONS.partition(".")[0]
# Neighbours are named against a write that arrives late, after another decision; a read before it is sent cannot see
# that. It shows only whether the picture was right when it was decided, and those that come first in it show that best.
#: bound: plane | neighbours that are read before a write beside a Kubernetes |
#:        the others are not looked at; the object written is bound to its revision
NEIGHBOURS_MAX = 3
Versions = dict[str, int]  # the objects of one kind and namespace, by name, with their revisions


class _Meta(msgspec.Struct):
    name: str = ""
    resourceVersion: str = "0"  # noqa: N815 - the wire's name


class _Names(msgspec.Struct):
    plural: str = ""


class _Version(msgspec.Struct):
    name: str = ""
    served: bool = False


class _Definition(msgspec.Struct):
    """The spec of a CustomResourceDefinition, as far as it says where its objects are."""

    group: str = ""
    scope: str = ""
    names: _Names = msgspec.field(default_factory=_Names)
    versions: list[_Version] = []


class _Condition(msgspec.Struct):
    type: str = ""
    status: str = ""


class _Status(msgspec.Struct):
    conditions: list[_Condition] | None = None


class _Defined(msgspec.Struct):
    spec: _Definition
    status: _Status = msgspec.field(default_factory=_Status)

    @property
    def is_served(self) -> bool:
        return any(
            each.type == ESTABLISHED and each.status == "True" for each in self.status.conditions or ()
        )


class _Definitions(msgspec.Struct):
    items: list[_Defined] | None = None


class _Object(msgspec.Struct):
    metadata: _Meta = msgspec.field(default_factory=_Meta)
    items: list[_Object] | None = None


_decode = msgspec.json.Decoder(_Object).decode
_decode_definitions = msgspec.json.Decoder(_Definitions).decode


@dataclass(frozen=True, slots=True)
class _Look:
    """A read, and what it must show for the write to go on."""

    request: Request
    shows: Versions
    is_custom: bool = False


@dataclass(slots=True)
class _Held:
    write: Call
    looks: list[_Look]


class Narrow:
    """`may_act`: whether our time as leader lasts; `quotas`: those of a namespace as our mirror has them; `fenced`:
    a write with the leader's fence, where that is understood; `address`: group and version of a custom kind, None if
    its definition went and its objects with it."""

    def __init__(
        self,
        capabilities: Capabilities,
        new_call: Callable[[], int],
        may_act: Callable[[float], bool],
        quotas: Callable[[str], Versions],
        fenced: Callable[[Call], Call],
        address: Callable[[str], tuple[str, str] | None],
    ) -> None:
        self._capabilities = capabilities
        self._new_call, self._may_act, self._quotas, self._fenced = new_call, may_act, quotas, fenced
        self._address = address
        self._held: dict[int, _Held] = {}  # by the look that is under way
        self._settled: list[tuple[int, Outcome]] = []

    def outgoing(self, call: Call, now: float) -> tuple[Instruction, ...]:
        """What to send in place of this call; nothing if it is answered here (`take`)."""
        request = call.request
        if request.verb in READ_VERBS:
            return (call,)
        looks = self._looks(request)
        if request.premises and not self._capabilities.premises:
            call = structs.replace(call, request=structs.replace(request, premises=()))
        if request.subresource == "binding" and not self._capabilities.charging:
            plain = structs.replace(call.request, body=_plain_binding(request.body))
            call = structs.replace(call, request=plain)
        return self._go_on(_Held(call, looks), now)

    def answers(self, call: int) -> bool:
        return call in self._held

    def answered(self, call: int, outcome: Outcome, now: float) -> tuple[Instruction, ...]:
        """A look came back."""
        held = self._held.pop(call)
        look = held.looks.pop(0)
        is_gone = isinstance(outcome, Refused) and outcome.status == 404
        if is_gone and look.is_custom:
            is_gone = (
                isinstance(outcome, Refused) and bool(outcome.name) and outcome.name == look.request.name
            )
        if not isinstance(outcome, Done) and not is_gone:
            told = f"what it rests on could not be read: {outcome.message}"
            self._settle(held, Refused(503, "ServiceUnavailable", told, "later"))
            return ()
        if look.request.verb == "deletecollection":
            where = f"{look.request.plural} of namespace {look.request.namespace}"
            self._settle(held, Refused(503, "ServiceUnavailable", f"{where} are being deleted", "later"))
            return ()
        if look.request.plural == _DEFINITIONS:
            body = outcome.body if isinstance(outcome, Done) else b"{}"
            held.looks = _with_defined(held.looks, body, held.write.request.name)
            return self._go_on(held, now)
        found = _versions(outcome.body, look.request.verb == "list") if isinstance(outcome, Done) else {}
        if found and held.write.request.subresource == "finalize":
            empties = structs.replace(look.request, verb="deletecollection", query={})
            return self._go_on(_Held(held.write, [_Look(empties, {})]), now)
        if found != look.shows:
            where = f"{look.request.plural} {look.request.namespace}/{look.request.name}".rstrip("/")
            self._settle(held, Conflict("Conflict", f"{where} changed since this was decided"))
            return ()
        return self._go_on(held, now)

    def take(self) -> list[tuple[int, Outcome]]:
        """Answers to calls that were not sent."""
        settled, self._settled = self._settled, []
        return settled

    def _go_on(self, held: _Held, now: float) -> tuple[Instruction, ...]:
        if not self._may_act(now):
            self._settle(held, Conflict("Conflict", "this plane's time as leader is ending"))
            return ()
        if not held.looks:
            return (self._fenced(held.write),)
        number = self._new_call()
        self._held[number] = held
        return (Call(number, held.write.controller, held.looks[0].request),)

    def _settle(self, held: _Held, outcome: Outcome) -> None:
        self._settled.append((held.write.call, outcome))

    def _looks(self, request: Request) -> list[_Look]:
        if request.subresource == "finalize" and not self._capabilities.collects:
            held = (_content(*each, request.name) for each in self._capabilities.namespaced)
            return [_Look(_read(DEFINITIONS, ""), {}), *held]
        looks: list[_Look] = []
        if not self._capabilities.premises:
            found = map(self._premise, _worth_a_look(request))
            looks += [each for each in found if each is not None]
        kind = PLACEMENT_QUOTAS
        if (
            request.subresource == "binding"
            and not self._capabilities.charging
            and kind.name not in self._capabilities.lacks
        ):
            looks.append(_Look(_read(kind.name, request.namespace), self._quotas(request.namespace)))
        return looks

    def _premise(self, premise: Premise) -> _Look | None:
        """None if it is known to hold without a look; also of one that ends, which the decider's clock has judged."""
        if premise.uid:
            return None
        resource, namespace, name = premise.key
        shows = {name: premise.revision} if premise.revision else {}
        if CATALOG.of_resource(resource) is not None:
            return _Look(_read(resource, namespace, name), shows)
        address = self._address(resource)
        if address is None:
            return None
        plural = resource.partition(".")[0]
        return _Look(Request("get", *address, plural, namespace, name), shows, is_custom=True)


def _content(group: str, version: str, plural: str, namespace: str, *, is_custom: bool = False) -> _Look:
    """That a namespace holds none of these; one is enough to see that it does."""
    return _Look(Request("list", group, version, plural, namespace, query={"limit": "1"}), {}, is_custom)


def _with_defined(looks: list[_Look], body: bytes, namespace: str) -> list[_Look]:
    """With custom kinds as they are served now: some were not when this plane found out what a namespace may hold, or
    in another version."""
    served = [each.spec for each in _decode_definitions(body).items or () if each.is_served]
    known = {(spec.group, spec.names.plural) for spec in served}
    defined = [
        _content(spec.group, version.name, spec.names.plural, namespace, is_custom=True)
        for spec in served
        for version in [each for each in spec.versions if each.served][:1]
        if spec.scope == "Namespaced"
    ]
    return [each for each in looks if (each.request.group, each.request.plural) not in known] + defined


def _plain_binding(body: bytes) -> bytes:
    """An ordinary annotation, which the binding subresource copies to the pod in the same write."""
    found = codec.decode(body)
    annotations = found["metadata"].get("annotations", {})
    if ANNOTATION in annotations:
        found["metadata"]["annotations"] = {BOUND_WITH: annotations[ANNOTATION]}
    return codec.encode(found)


def _worth_a_look(request: Request) -> list[Premise]:
    own = f"{request.plural}.{request.group}" if request.group else request.plural
    neighbours = [each for each in request.premises if each.key.resource == own and each.revision]
    left_out = frozenset(neighbours[NEIGHBOURS_MAX:])
    return [each for each in request.premises if each not in left_out]


def _read(resource: str, namespace: str, name: str = "") -> Request:
    kind = CATALOG.of_resource(resource)
    assert kind is not None
    return Request(
        verb="get" if name else "list",
        group=kind.group,
        version=kind.version,
        plural=kind.plural,
        namespace=namespace,
        name=name,
    )


def _versions(body: bytes, is_list: bool) -> Versions:
    found = _decode(body)
    objects = found.items or [] if is_list else [found]
    return {each.metadata.name: int(each.metadata.resourceVersion) for each in objects}
