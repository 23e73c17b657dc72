"""Mutants of the promises 7 to 11: isolation, bodies, audit, impersonation and tokens."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_DRIVERS = "tests/unit/agent/drivers"
_HTTP = "tests/unit/wire/test_http.py"
_RECORDING = "tests/unit/api/audit/test_recording.py"
_RUNS = "tests/unit/api/runbooks/test_rights.py"
_IMPERSONATION = "tests/unit/api/access/test_impersonation.py"

ISOLATION = (
    Mutant(
        7,
        "the agent follows links that a pod made, as the kernel does by itself",
        "agent/drivers/files_beneath.py",
        "_NO_MAGICLINKS | _NO_SYMLINKS | _BENEATH,\n        )",
        "0,\n        )",
        (
            f"{_DRIVERS}/test_files_beneath.py::test_nothing_leads_out",
            f"{_DRIVERS}/test_directories.py::test_links_in_the_way_of_a_mount_are_not_followed",
        ),
    ),
    Mutant(
        7,
        "a new file is written through an old name of a file elsewhere",
        "agent/drivers/files_beneath.py",
        "os.unlink(name, dir_fd=base)\n    except FileNotFoundError:\n        pass  # as it should be\n"
        "    return os.open(\n        name, os.O_WRONLY | os.O_CREAT | os.O_EXCL",
        "os.stat(name, dir_fd=base)\n    except FileNotFoundError:\n        pass\n"
        "    return os.open(\n        name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC",
        (f"{_DRIVERS}/test_files_beneath.py::test_a_new_file_is_not_written_through_an_old_name",),
        errors=("AssertionError", "OSError"),  # a link in its place is not followed all the same
    ),
    Mutant(
        7,
        "a pod's directory is open to every other user",
        "agent/drivers/directories.py",
        "_THROUGH, _OWN, _GROUP_THROUGH, _ANYBODY = 0o711, 0o700, 0o710, 0o777",
        "_THROUGH, _OWN, _GROUP_THROUGH, _ANYBODY = 0o711, 0o755, 0o755, 0o777",
        (f"{_DRIVERS}/test_directories.py::test_a_pod_is_closed_to_everybody_else",),
    ),
    Mutant(
        7,
        "pods may gain privileges though they did not ask",
        "agent/drivers/launching.py",
        'if not run.get("escalates"):',
        'if run.get("escalates"):',
        ("tests/e2e/test_isolation.py::test_nobody_gains_privileges_who_did_not_ask",),
    ),
    Mutant(
        7,
        "a pod that asks for another user runs where the agent is not root",
        "agent/pod/isolation.py",
        "if context.run_as_user not in (None, isolation.user):",
        "if context.run_as_user is None and isolation.user is None:",
        ("tests/unit/agent/pod/test_isolation.py::test_what_an_agent_without_root_cannot_give",),
    ),
    Mutant(
        7,
        "a node says that it isolates mounts where it does not",
        "agent/pod/isolation.py",
        "(ISOLATES_MOUNTS, isolation.mounts),",
        "(ISOLATES_MOUNTS, True),",
        ("tests/unit/agent/pod/test_isolation.py::test_a_node_says_what_it_isolates",),
    ),
)

BODIES = (
    Mutant(
        8,
        "the body of somebody unknown is read before they are refused",
        "wire/receiving.py",
        "            if owner is None:\n                exchange.body_unread",
        "            if owner is None and self._length < 0:\n                exchange.body_unread",
        (f"{_HTTP}::test_the_body_of_somebody_unknown_is_never_kept_and_the_request_is_handled_at_once",),
    ),
    Mutant(
        8,
        "bodies have no budget in common",
        "wire/budget.py",
        "if of_user > self.bytes_max - self.held - size:",
        "if size > self.bytes_max:",
        (f"{_HTTP}::test_a_body_that_the_budget_has_no_room_for_is_refused_before_it_is_kept",),
    ),
    Mutant(
        8,
        "what a body took of the budget is not given back",
        "wire/http.py",
        "self._listener.bodies.give_back(exchange.body_owner, exchange.body_bytes)",
        "pass",
        (f"{_HTTP}::test_bodies_are_paid_for_until_they_are_answered_or_their_client_is_gone",),
    ),
    Mutant(
        8,
        "of two Authorization headers the last one counts",
        "wire/receiving.py",
        'if name == b"authorization" and name in self._headers:',
        'if name == b"authorization" and not name:',
        (f"{_HTTP}::test_an_ambiguous_head_is_refused",),
    ),
    Mutant(
        8,
        "a request may have no Host, or several",
        "wire/receiving.py",
        "if self._hosts != 1 and",
        "if self._hosts > 9 and",
        (f"{_HTTP}::test_an_ambiguous_head_is_refused",),
    ),
)

AUDIT = (
    Mutant(
        9,
        "refusals of strangers stand among the lines of users",
        "api/audit/recording.py",
        "stream = STRANGERS if UNAUTHENTICATED in context.signed_in.groups else STREAM",
        "stream = STREAM",
        (f"{_RECORDING}::test_budgets_are_per_user_and_strangers_have_one_of_their_own",),
    ),
    Mutant(
        9,
        "one user's refusals use up the budget of all",
        "api/audit/recording.py",
        "spent = self._spent[spender] = self._spent.get(spender, 0) + 1",
        'spender = ""; spent = self._spent[spender] = self._spent.get(spender, 0) + 1',
        (f"{_RECORDING}::test_budgets_are_per_user_and_strangers_have_one_of_their_own",),
    ),
    Mutant(
        9,
        "reads of Secrets leave no line",
        "api/audit/rules.py",
        'AuditRule(AuditLevel.METADATA, verbs=READ_VERBS, resources=(Resources("", ("secrets",)),)),',
        "",
        (f"{_RECORDING}::test_reads_of_secrets_are_recorded_and_others_are_not",),
    ),
    Mutant(
        9,
        "a policy silences its own change",
        "api/audit/rules.py",
        "for rules in (ALWAYS, self.rules):",
        "for rules in (self.rules,):",
        (f"{_RECORDING}::test_no_policy_silences_writes_of_audit_policies",),
    ),
    Mutant(
        9,
        "lines that the disk did not take are not counted",
        "api/audit/recording.py",
        "self._untold += lines",
        "self._untold += 0",
        (f"{_RECORDING}::test_what_was_not_recorded_is_told_once",),
    ),
    Mutant(
        9,
        "a policy that is changed does not count before a restart",
        "api/audit/recording.py",
        "self._policy, self._tells_apart = policy, policy.tells_apart\n        self._known = self._known_under(policy)",
        "self._known = self._known_under(policy)",
        ("tests/unit/api/audit/test_in_force.py::test_a_policy_counts_from_its_commit_until_it_is_gone",),
    ),
)

IMPERSONATION = (
    Mutant(
        10,
        "everybody who is signed in may take any name",
        "api/access/impersonation.py",
        "        require(authorizer, asked)",
        "        if not signed_in.name:\n            require(authorizer, asked)",
        (f"{_IMPERSONATION}::test_only_an_admin_may_not_even_as_oneself",),
    ),
    Mutant(
        10,
        "who may take a name may take every group with it",
        "api/access/impersonation.py",
        "if group not in everyones:",
        "if not group:",
        (f"{_IMPERSONATION}::test_each_thing_asked_for_is_a_question_of_its_own",),
    ),
    Mutant(
        10,
        "who has the name of the controller of runs acts for them",
        "api/runbooks/acting.py",
        "user.name == RUNNER and is_plane(user)",
        "user.name == RUNNER",
        (f"{_RUNS}::test_who_has_no_more_than_the_name_of_the_controller_acts_for_no_run",),
    ),
    Mutant(
        10,
        "a run that a run creates has the rights of the controller",
        "api/runbooks/acting.py",
        '_BY_STEPS = ("create", "delete")',
        "_BY_STEPS = ()",
        (f"{_RUNS}::test_a_run_that_a_run_creates_is_of_who_created_the_first",),
    ),
    Mutant(
        10,
        "a run does not tell who took the name of its creator",
        "api/runbooks/stamping.py",
        "if acting is not None and not is_plane(acting):",
        "if acting is None:",
        (
            "tests/unit/api/test_override_persons.py::test_a_run_that_was_created_in_anothers_name_is_no_second_person",
        ),
    ),
    Mutant(
        10,
        "headers of impersonation are ignored",
        "wire/handler.py",
        "if exchange.impersonation:",
        "if exchange.impersonation and path == '':",
        ("tests/clients/test_impersonation.py::test_whoami_tells_of_the_other",),
    ),
    Mutant(
        10,
        "audit names only whom the request was taken for",
        "api/audit/recording.py",
        "user, taken_for = context.signed_in, context.user if context.impersonator is not None else None",
        "user, taken_for = context.user, None",
        ("tests/clients/test_impersonation.py::test_audit_names_both",),
    ),
)

TOKENS = (
    Mutant(
        11,
        "a stream goes on with another token of the same name",
        "api/access/authn.py",
        "return user in self._known",
        "return user.name in {each.name for each in self._known}",
        (
            "tests/unit/api/access/test_authn.py::test_another_token_of_the_same_name_is_not_the_one_that_signed_in",
        ),
    ),
    Mutant(
        11,
        "a watch lasts for as long as its client asks",
        "api/verbs/watch.py",
        "return min(float(asked), TIMEOUT_SECONDS_MAX)",
        "return float(asked)",
        ("tests/unit/api/test_watch.py::test_a_watch_ends_when_asked_to_and_within_an_hour",),
    ),
    Mutant(
        11,
        "a renewed certificate is used after the next start only",
        "runtime/credentials/renewing.py",
        "                self._renewed()\n",
        "",
        (
            "tests/unit/runtime/credentials/test_renewing.py::test_new_connections_see_the_new_certificate_and_trust_it_as_before",
        ),
    ),
    Mutant(
        11,
        "the file of a new token can be read by others",
        "runtime/private_files.py",
        "OWNER_ONLY = 0o600",
        "OWNER_ONLY = 0o644",
        ("tests/unit/cli/test_token_output.py::test_the_file_is_its_owners_alone_whatever_the_umask",),
    ),
)

SECURITY = (*ISOLATION, *BODIES, *AUDIT, *IMPERSONATION, *TOKENS)
