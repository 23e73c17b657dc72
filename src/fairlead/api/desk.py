"""What every verb needs within reach: kinds, field tables, durable state, admission, audit.

One per server, made by the runtime (or the simulator) and never changed.
"""

from __future__ import annotations

from dataclasses import dataclass

from fairlead.api.access import Authorizer
from fairlead.api.admission import Chain
from fairlead.api.audit import Audit
from fairlead.model.catalog import Catalog
from fairlead.model.fields import FieldTables
from fairlead.store.contract import Reader


@dataclass(frozen=True, slots=True)
class Desk:
    catalog: Catalog
    tables: FieldTables
    read: Reader
    authorizer: Authorizer
    chain: Chain
    audit: Audit
