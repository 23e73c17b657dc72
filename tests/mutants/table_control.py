"""Mutants of promise 18: grants, the chain of the audit log, freezes and the switch."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_GRANTS = "tests/unit/api/access/breakglass/test_grants.py"
_BRAKES = "tests/unit/api/brakes/test_brakes.py"
_CHAIN = "tests/unit/store/test_log_chain.py"

CONTROL = (
    Mutant(
        18,
        "a grant that was approved holds for ever",
        "api/access/breakglass/in_force.py",
        "if asked.now < held.ends:",
        "if held.ends:",
        (f"{_GRANTS}::test_it_ends_at_its_second",),
        errors=("AssertionError",),
    ),
    Mutant(
        18,
        "a question without an instant is answered by grants",
        "api/access/breakglass/in_force.py",
        "if not self._by_name or not asked.now or not asked.plural",
        "if not self._by_name or not asked.plural",
        (f"{_GRANTS}::test_a_question_without_an_instant_is_answered_as_if_there_were_no_grants",),
    ),
    Mutant(
        18,
        "a grant reaches the guard itself",
        "api/access/breakglass/in_force.py",
        "return guard and asked.verb not in _READ",
        "return False",
        (f"{_GRANTS}::test_no_grant_reaches_the_guard_or_gives_what_outlasts_it",),
    ),
    Mutant(
        18,
        "a write commits though its grant was revoked meanwhile",
        "api/access/breakglass/using.py",
        "return _guarded(step, AtRevision(held.key, held.revision))",
        "return step",
        (f"{_GRANTS}::test_a_write_under_a_grant_that_is_revoked_meanwhile_is_judged_anew",),
    ),
    Mutant(
        18,
        "a watch outlives the grant that opened it",
        "api/access/breakglass/using.py",
        "timeout_seconds=min(step.timeout_seconds, held.ends - now)",
        "timeout_seconds=step.timeout_seconds",
        (f"{_GRANTS}::test_a_watch_ends_with_the_grant_that_opened_it",),
    ),
    Mutant(
        18,
        "who asks for a grant approves it",
        "api/access/breakglass/judging.py",
        "if self._is_own():\n            raise attempt.forbidden(",
        "if False:\n            raise attempt.forbidden(",
        (f"{_GRANTS}::test_who_asks_does_not_approve",),
    ),
    Mutant(
        18,
        "somebody approves what they do not hold",
        "api/access/breakglass/judging.py",
        "        self._check_held()\n        return self._approved()",
        "        return self._approved()",
        (f"{_GRANTS}::test_nobody_approves_what_they_neither_hold_nor_may_bind",),
    ),
    Mutant(
        18,
        "lines are not linked to those before",
        "store/log_chain.py",
        "sha256(before + head + body)",
        "sha256(head + body)",
        (f"{_CHAIN}::test_a_chain_made_anew_is_found_by_a_head_that_was_noted",),
    ),
    Mutant(
        18,
        "the newest lines may go missing",
        "store/log_chain.py",
        "    if expected <= chain.newest:",
        "    if False:",
        (f"{_CHAIN}::test_a_break_shows_where_it_is",),
        errors=("AssertionError", "IndexError"),
    ),
    Mutant(
        18,
        "a brake keeps the plane from repairing",
        "api/brakes/judging.py",
        "    if is_plane(user) or user.node_name:\n        return\n",
        "",
        (f"{_BRAKES}::test_exceptions_the_plane_and_nodes_are_not_bound",),
    ),
    Mutant(
        18,
        "a create like one before passes a brake",
        "api/verbs/create.py",
        "desk.brakes.any and concerns_creates(",
        "False and concerns_creates(",
        (f"{_BRAKES}::test_a_create_like_one_before_is_judged_all_the_same",),
    ),
)
