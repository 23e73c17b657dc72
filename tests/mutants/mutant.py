"""A mutant: one small deliberate break of the sources, and the tests that must fail of it.

A row of the tables `table_*.py`, which `runner.py` carries out and `test_mutants.py` checks.
"""

from __future__ import annotations

from dataclasses import dataclass

#: The promises that were made when live use had broken them. Each has its mutants.
PROMISES: dict[int, str] = {
    1: "a server that is gone ends no pod, and no second one runs where at most one may",
    2: "a released binding gives its quota to its replacement",
    3: "a refusal that another object may lift is a wait",
    4: "suspect capacity justifies nothing",
    5: "the plane runs on the steady clock",
    6: "progress, explain and conditions name the same owner and reason",
    7: "the agent follows no link that a pod made, and pods are closed to each other",
    8: "who asks is known before the body is read",
    9: "audit has streams and budgets of its own, and a policy that cannot silence its change",
    10: "impersonation is honoured, refused or audited, never ignored",
    11: "streams end with their token, certificates are renewed while the server runs",
    12: "bit rot is found, and what is damaged is not absent",
    13: "many watches cost no other client",
    14: "proxy, nodes and deletions when files or disk run out",
    15: "the API does as Kubernetes does",
    16: "the command line names, dates and ends as documented",
    17: "beside a Kubernetes the controllers work as well",
    18: "what people put in force ends when it says, reaches no further than it says, and leaves its trace",
}

#: What a broken promise looks like in a test: a failed assertion, `pytest.raises` without its error, or `(one,) = found`
#: where none was found.
UNPACKED = "Unpacked"
ASSERTED = ("AssertionError", "Failed", UNPACKED)


@dataclass(frozen=True)
class Mutant:
    point: int  # of PROMISES
    broken: str  # what no longer holds, in a sentence
    file: str  # below src/fairlead
    text: str  # occurs there exactly once
    replacement: str
    killers: tuple[str, ...]  # node ids, without parameters; at least one case of each must fail
    errors: tuple[str, ...] = ASSERTED  # names of the errors they may fail with

    @property
    def name(self) -> str:
        return f"{self.point}-{self.file.removesuffix('.py').replace('/', '.')}-{self.broken}"
