"""All mutants, in the order of the promises they break."""

from __future__ import annotations

from tests.mutants.mutant import Mutant
from tests.mutants.table_security import SECURITY
from tests.mutants.table_workloads import WORKLOADS

MUTANTS: tuple[Mutant, ...] = (*WORKLOADS, *SECURITY)
