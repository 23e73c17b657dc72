"""All mutants, in the order of the promises they break."""

from __future__ import annotations

from tests.mutants.mutant import Mutant
from tests.mutants.table_api import API_AND_MORE
from tests.mutants.table_control import CONTROL
from tests.mutants.table_durability import DURABILITY
from tests.mutants.table_evidence import EVIDENCE
from tests.mutants.table_security import SECURITY
from tests.mutants.table_workloads import WORKLOADS

MUTANTS: tuple[Mutant, ...] = (*WORKLOADS, *EVIDENCE, *SECURITY, *DURABILITY, *API_AND_MORE, *CONTROL)
