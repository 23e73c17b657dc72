"""What every verb needs within reach: kinds, field tables, durable state, who may what, admission, audit.

One per server, made by the runtime (or the simulator) and never changed, but for what it remembers of specs,
of whose fields were whose, of when nodes were heard, which admission policies are in force, and which are under way.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from fairlead.api.access.account_tokens import AccountTokens
from fairlead.api.access.breakglass.in_force import AccessGrants
from fairlead.api.access.contract import Authorizer
from fairlead.api.access.rbac.grants import Grants
from fairlead.api.admission import AdmissionChain
from fairlead.api.admission.policies.in_force import Policies
from fairlead.api.apply.managing import Managing
from fairlead.api.audit.recording import Audit
from fairlead.api.brakes.in_force import Brakes
from fairlead.api.heard_nodes import HeardNodes
from fairlead.api.pending_rules import RulesUnderWay
from fairlead.api.repeated_creates import Repeats
from fairlead.api.sound_reader import Sound
from fairlead.api.spec_cache import SpecCache
from fairlead.model.catalog import Catalog
from fairlead.model.fields import FieldTables
from fairlead.model.runbooks.measures import SeriesLabels
from fairlead.store.contract import Reader


@dataclass(frozen=True, slots=True)
class Desk:
    catalog: Catalog
    tables: FieldTables
    read: Reader
    authorizer: Authorizer
    grants: Grants
    access_grants: AccessGrants
    accounts: AccountTokens
    chain: AdmissionChain
    audit: Audit
    spec_cache: SpecCache = field(default_factory=SpecCache)
    managing: Managing = field(default_factory=Managing)
    repeats: Repeats = field(default_factory=Repeats)
    heard: HeardNodes = field(default_factory=HeardNodes)
    policies: Policies = field(default_factory=Policies)
    brakes: Brakes = field(default_factory=Brakes)
    series: SeriesLabels | None = None  # that this server tells at /metrics; None: nobody knows them here
    under_way: RulesUnderWay = field(default_factory=RulesUnderWay)
    sound: Reader = field(init=False)  # the same as `read`, but for objects that are damaged

    def __post_init__(self) -> None:
        object.__setattr__(self, "sound", Sound(self.read))
