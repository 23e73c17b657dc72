"""Microseconds for one authorization with 1,000 bindings, and for a change of a role or binding.

    python bench/access.py [--json] [--bindings 1000] [--questions 200000]

The whole chain is asked, as for every request. Each binding has a role of its own with three rules, in one of 100
namespaces. Seconds are of processor time, so that what else the machine does counts less.

    one       a user who has one of the bindings
    all       a user who has all of them
    none      a user who has none, and is refused
    cold      the first question after a change, which finds the user's rules and indexes them
    other     a question that was not asked before, from a user whose rules are known
    warm      a question that was asked before
    resync    a binding is changed: what it takes to forget, parse and index it, without the question after it
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable

import msgspec

from fairlead.api.access.authz import builtin_chain
from fairlead.api.access.contract import Attributes, AuthorizerChain
from fairlead.api.access.rbac.grants import Grants
from fairlead.api.access.users import User
from fairlead.model.key import Key
from fairlead.model.kind import Json
from fairlead.model.kinds.role import ROLE
from fairlead.model.kinds.rolebinding import ROLE_BINDING
from fairlead.store.contract import ADDED, MODIFIED, CommittedChange, Entry
from fairlead.store.machine import Store
from fairlead.store.memory import MemoryJournal

NAMESPACES = 100
ROUNDS = 50
ONE, ALL, NONE = (User(name, groups=("system:authenticated",)) for name in ("one", "all", "none"))


def _change(resource: str, namespace: str, name: str, body: Json, type_: str = ADDED) -> CommittedChange:
    key = Key(resource, namespace, name)
    return CommittedChange(type_, Entry(key, name, 1, msgspec.json.encode(body)), None)


def _binding(number: int, subjects: list[str], type_: str = ADDED) -> CommittedChange:
    named = [{"kind": "User", "name": each} for each in subjects]
    body = {"roleRef": {"kind": "Role", "name": f"r{number}"}, "subjects": named}
    return _change(ROLE_BINDING.resource, f"team-{number % NAMESPACES}", f"b{number}", body, type_)


def filled(bindings: int) -> Grants:
    grants = Grants()
    rules = [
        {"apiGroups": [group], "resources": resources, "verbs": ["get", "list", "watch"]}
        for group, resources in (
            ("", ["pods", "services", "configmaps"]),
            ("apps", ["deployments", "deployments/scale"]),
            ("batch", ["jobs"]),
        )
    ]
    for number in range(bindings):
        grants.observe(
            [_change(ROLE.resource, f"team-{number % NAMESPACES}", f"r{number}", {"rules": rules})]
        )
        grants.observe([_binding(number, [ALL.name, *([ONE.name] if number == 7 else [])])])
    return grants


def _asked(user: User, name: str) -> Attributes:
    return Attributes(user, "get", "", "v1", "pods", "", "team-7", name)


def _each(act: Callable[[int], object], times: int) -> float:
    """Microseconds of one."""
    began = time.process_time()
    for number in range(times):
        act(number)
    return (time.process_time() - began) / times * 1e6


def measure(bindings: int, questions: int) -> dict[str, float]:
    grants = filled(bindings)
    journal = MemoryJournal()
    chain: AuthorizerChain = builtin_chain(Store(journal.recover(), journal), grants)
    found: dict[str, float] = {}
    subjects = [ALL.name]
    found["resync"] = _each(lambda number: grants.observe([_binding(0, subjects, MODIFIED)]), ROUNDS)
    for user in (ONE, ALL, NONE):
        asked = _asked(user, "web")
        expected = user is not NONE
        spent = 0.0
        for _ in range(ROUNDS):
            grants.observe([_binding(0, subjects, MODIFIED)])
            began = time.process_time()
            verdict = chain.authorize(asked)
            spent += time.process_time() - began
            assert verdict.allowed is expected
        found[f"{user.name} cold"] = spent / ROUNDS * 1e6
        names = [_asked(user, f"web-{number}") for number in range(min(questions, 10_000))]
        found[f"{user.name} other"] = _each(
            lambda number, names=names: chain.authorize(names[number]), len(names)
        )
        chain.authorize(asked)
        found[f"{user.name} warm"] = _each(lambda _, asked=asked: chain.authorize(asked), questions)
    return {name: round(value, 2) for name, value in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--bindings", type=int, default=1000)
    parser.add_argument("--questions", type=int, default=200_000)
    options = parser.parse_args()
    found = measure(options.bindings, options.questions)
    if options.json:
        print(json.dumps({"bench": "access", "bindings": options.bindings, "microseconds": found}, indent=2))
        return
    for name, value in found.items():
        print(f"{name:<12} {value:>10.2f} us")


if __name__ == "__main__":
    main()
