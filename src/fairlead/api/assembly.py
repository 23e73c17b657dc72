"""Everything that answers requests over one store: hub, kinds, audit, desk and API, made in one place.

Used by `runtime/server/serving.py`, `sim/processes/server.py` and `sim/stepped.py`. The store's driver hands each
batch of changes to `observe` before anybody is told of it, and then publishes it at the hub.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from fairlead.api.access.account_tokens import AccountTokens
from fairlead.api.access.authn import Tokens
from fairlead.api.access.authz import builtin_chain
from fairlead.api.access.breakglass.in_force import AccessGrants
from fairlead.api.access.rbac.grants import Grants
from fairlead.api.access.sign_in import SignIn
from fairlead.api.admission import AdmissionChain
from fairlead.api.admission.policies.in_force import Policies
from fairlead.api.apply.managing import Managing
from fairlead.api.audit.in_force import PolicyInForce
from fairlead.api.audit.recording import Audit, AuditMemory
from fairlead.api.brakes.in_force import Brakes
from fairlead.api.custom import CustomKinds
from fairlead.api.desk import Desk
from fairlead.api.flow.in_force import FlowControl
from fairlead.api.heard_nodes import HeardNodes
from fairlead.api.server import Api
from fairlead.api.spec_cache import SpecCache
from fairlead.model.files import load_tables
from fairlead.model.runbooks.measures import SeriesLabels
from fairlead.model.served import Served
from fairlead.store.contract import CommittedChange
from fairlead.store.machine import Store
from fairlead.store.watch import Hub

# What one of those that `Assembly.observe` tells goes by.
_HEEDED = frozenset().union(
    *(
        each.heeds
        for each in (CustomKinds, PolicyInForce, Grants, AccessGrants, FlowControl, Policies, Brakes)
    )
)


@dataclass(frozen=True, slots=True)
class Remembered:
    """What answers the same however often it is asked; servers of one process may share it."""

    chain: AdmissionChain = field(default_factory=AdmissionChain)
    alike: SpecCache = field(default_factory=SpecCache)
    managing: Managing = field(default_factory=Managing)
    audit: AuditMemory = field(default_factory=AuditMemory)
    make_audit: Callable[[AuditMemory], Audit] = lambda known: Audit(built_in=known)


class Assembly:
    def __init__(
        self,
        store: Store,
        tokens: Tokens,
        signing_key: bytes,
        remembered: Remembered | None = None,
        make_api: Callable[[Desk, SignIn], Api] = Api,
        series: SeriesLabels | None = None,
    ) -> None:
        """`signing_key`: the secret that tokens of service accounts are signed with. `series`: what runbooks may name
        of /metrics."""
        self.store = store
        self.hub = Hub(store)
        known = remembered or Remembered()
        self.served, tables, audit = Served(), load_tables().branch(), known.make_audit(known.audit)
        self.custom = CustomKinds(self.served, tables)
        self.audit_policy = PolicyInForce(audit)
        self.grants = Grants()
        self.access_grants = AccessGrants(self.grants)
        self.flow_control = FlowControl()
        self.policies = Policies()
        self.brakes = Brakes()
        self.troubles = (
            *self.custom.learn(store),
            *self.audit_policy.learn(store),
            *self.grants.learn(store),
            *self.access_grants.learn(store),
            *self.flow_control.learn(store),
            *self.policies.learn(store),
            *self.brakes.learn(store),
        )
        accounts = AccountTokens(store, signing_key)
        self.desk = Desk(
            catalog=self.served,
            tables=tables,
            read=store,
            authorizer=builtin_chain(store, self.grants, self.access_grants),
            grants=self.grants,
            access_grants=self.access_grants,
            accounts=accounts,
            chain=known.chain,
            audit=audit,
            spec_cache=known.alike,
            managing=known.managing,
            heard=HeardNodes(),
            policies=self.policies,
            brakes=self.brakes,
            series=series,
        )
        self.api = make_api(self.desk, SignIn(tokens, accounts))

    def observe(self, changes: tuple[CommittedChange, ...], now: float) -> list[str]:
        """What was committed is in force from here on; what of it cannot be understood is told. Where one of them fails
        the others know of the commit when that is raised."""
        self.desk.heard.observe(changes, now)
        self.custom.changed = set()
        for change in changes:
            if change.entry.key.resource in _HEEDED:
                break
        else:
            return []  # as it most often is
        troubles: list[str] = []
        failed: Exception | None = None
        for rules in (
            self.custom,
            self.audit_policy,
            self.grants,
            self.access_grants,
            self.flow_control,
            self.policies,
            self.brakes,
        ):
            try:
                troubles += rules.observe(changes)
            except Exception as error:  # noqa: BLE001 - a right that was taken away must not stay for another's fault
                failed = failed or error
        if failed is not None:
            raise failed
        return troubles
