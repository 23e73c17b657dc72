"""Mutants of the promises 15 to 17: the API, the command line, and planes beside a Kubernetes."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_UPSTREAM = "tests/unit/api/test_as_upstream_does.py"
_POLICIES = "tests/unit/api/admission/test_validating.py"

API = (
    Mutant(
        15,
        "a write that was judged by an older policy is committed",
        "api/admission/policies/evaluating.py",
        "self.attempt.preconditions.append(condition)",
        "pass",
        (f"{_POLICIES}::test_a_write_that_was_judged_by_an_older_policy_is_judged_anew",),
    ),
    Mutant(
        15,
        "creates that are alike are not shown to policies",
        "api/verbs/create.py",
        "same = like(request, kind, context) if not judged else None",
        "same = like(request, kind, context)",
        (f"{_POLICIES}::test_creates_that_are_alike_are_judged_one_by_one",),
    ),
    Mutant(
        15,
        "rules of custom kinds refuse what has not changed",
        "model/custom/rules.py",
        "elif unchanged:",
        "elif not seen and unchanged:",
        (
            "tests/unit/api/custom/test_rules.py::test_what_stands_is_not_judged_again_when_something_else_changes",
        ),
    ),
    Mutant(
        15,
        "CustomResourceDefinitions in protobuf lose what their schemas say",
        "model/protobuf.py",
        'return found["schema"] if "schema" in found else found.get("allows", False)',
        'return found.get("allows", False)',
        ("tests/unit/model/test_protobuf.py::test_schemas_of_custom_kinds_are_read_whole",),
    ),
    Mutant(
        15,
        "a binding raises the generation of its pod",
        "api/subresources/binding.py",
        'metadata = dict(old["metadata"])',
        'metadata = {**old["metadata"], "generation": old["metadata"].get("generation", 0) + 1}',
        (f"{_UPSTREAM}::test_a_binding_is_no_new_generation",),
    ),
    Mutant(
        15,
        "a DaemonSet's replacement has the name of the pod before it",
        "reconcile/daemonset/decider.py",
        "attempt = meta.revision",
        "attempt = 0",
        (
            "tests/unit/reconcile/daemonset/test_decider.py::test_who_takes_the_place_of_a_pod_has_another_name",
        ),
    ),
    Mutant(
        15,
        "a Job does not say that none of its pods is ready",
        "reconcile/job/decider.py",
        'always=("ready", "terminating"))',
        "always=())",
        (
            "tests/unit/reconcile/job/test_decider.py::test_what_is_ready_and_ending_is_told_also_where_it_is_none",
        ),
        errors=("KeyError",),  # it has no such field
    ),
    Mutant(
        15,
        "a pod with scheduling gates says nothing at its creation",
        "model/kinds/pod/kind.py",
        'if pod["spec"].get("schedulingGates"):',
        'if pod["spec"].get("schedulingGates") and status.get("phase") is None:',
        (f"{_UPSTREAM}::test_a_gated_pod_says_so_from_its_first_moment",),
        errors=("KeyError",),  # it has no conditions at all
    ),
    Mutant(
        15,
        "a Status body ends without a newline",
        "api/status.py",
        r'return _encode(body) + b"\n"',
        "return _encode(body)",
        (f"{_UPSTREAM}::test_a_status_ends_with_a_newline",),
    ),
    Mutant(
        15,
        "yes and no are texts, as YAML 1.2 has it",
        "core/yaml_text.py",
        "|yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF|[yYnN])",
        ")",
        ("tests/unit/core/test_yaml_text.py::test_plain_values_are_those_of_json_and_all_else_is_text",),
    ),
    Mutant(
        15,
        "duplicate keys are refused though the client asks for a warning",
        "api/body.py",
        'if findings and level == "Strict":',
        "if findings:",
        (
            "tests/unit/api/apply/test_managing.py::test_a_field_given_twice_is_warned_of_unless_nobody_wants_to_know",
        ),
        errors=("AssertionError", "KeyError"),
    ),
    Mutant(
        15,
        "requests of the pod as a whole are stored and ignored",
        "ledger/pod_needs.py",
        "if spec.resources.requests:",
        "if spec.resources.requests and not spec.containers:",
        (
            "tests/unit/model/kinds/pod/test_level_resources.py"
            "::test_the_pod_as_a_whole_counts_instead_of_its_containers_where_it_says_so",
        ),
    ),
    Mutant(
        15,
        "the overhead of a RuntimeClass is lost",
        "api/admission/runtime_class.py",
        'spec["overhead"] = dict(fixed)',
        "spec.pop('overhead', None)",
        ("tests/unit/api/test_runtime_class.py::test_a_pod_gets_what_its_class_says",),
        errors=("AssertionError", "KeyError"),
    ),
    Mutant(
        15,
        "claims of a StatefulSet are not refused",
        "api/admission/claims_of_sets.py",
        'frozenset({"statefulsets.apps"}),',
        'frozenset({"statefulsets"}),',
        (f"{_UPSTREAM}::test_a_set_with_claims_is_refused_in_words_and_one_that_is_there_can_be_changed",),
        errors=("KeyError",),  # what was made has no message
    ),
    Mutant(
        15,
        "balance is scored by what is used and not by what the pod changes",
        "schedule/plugins/balanced_allocation.py",
        "change = np.where(both, (before - after) / 4, 0.0)",
        "change = np.where(both, (0.5 - after) / 4, 0.0)",
        ("tests/unit/schedule/test_plugins.py::test_nodes_used_in_like_shares_are_worth_more",),
    ),
    Mutant(
        15,
        "an adopted ReplicaSet's revision does not count",
        "reconcile/deployment/history.py",
        "return max((revision_of(old.metadata.annotations) for old in olds), default=0) + 1",
        "return len(olds) + 1",
        ("tests/unit/reconcile/deployment/test_decider.py::test_the_revision_of_an_adopted_set_counts",),
    ),
    Mutant(
        15,
        "a pod of a hollow node outlives its activeDeadlineSeconds",
        "agent/hollow/pod.py",
        "deadline = pod.spec.active_deadline_seconds",
        "deadline = None",
        ("tests/unit/agent/hollow/test_decider.py::test_a_pod_that_outlives_its_deadline_fails",),
    ),
    Mutant(
        15,
        "args without a command run nothing",
        "agent/pod/launch.py",
        "if not container.command and not container.args:",
        "if not container.command:",
        ("tests/unit/agent/test_pods.py::test_args_alone_are_the_command_where_images_mean_nothing",),
    ),
)

COMMAND_LINE = (
    Mutant(
        16,
        "an unknown object is an empty table",
        "cli/objects.py",
        "        except NotFound:\n            return False\n        return True",
        "        except NotFound:\n            return True\n        return True",
        ("tests/transcript/test_exit_codes.py::test_what_does_not_exist",),
    ),
    Mutant(
        16,
        "short names of kinds are not understood",
        "cli/resources.py",
        'kind.lower(), *entry.get("shortNames", ())))',
        "kind.lower()))",
        ("tests/transcript/test_exit_codes.py::test_what_does_not_exist",),
    ),
    Mutant(
        16,
        "a mistyped kind is told without what may have been meant",
        "cli/resources.py",
        """return f' (did you mean "{found[0]}"?)' if found else \"\"""",
        'return ""',
        ("tests/transcript/test_cli.py::test_the_command_line_prints_what_the_transcript_shows",),
    ),
    Mutant(
        16,
        "what is not found has the exit code of any error",
        "core/errors.py",
        'reason, status, exit_code = "NotFound", 404, 7',
        'reason, status, exit_code = "NotFound", 404, 1',
        ("tests/transcript/test_exit_codes.py::test_what_does_not_exist",),
    ),
    Mutant(
        16,
        "a time of day that is yet to come is of today",
        "cli/moments.py",
        "if day is None and told > here:",
        "if day == '' and told > here:",
        ("tests/unit/cli/test_moments.py::test_times",),
        errors=("AssertionError", "UsageError"),
    ),
    Mutant(
        16,
        "what nodes and controllers did is shown as what people did",
        "cli/audit.py",
        "and not (self.people and user.startswith(_MACHINE))",
        "",
        ("tests/unit/cli/test_audit_filter.py::test_people_are_those_who_are_no_machines",),
    ),
    Mutant(
        16,
        "the help lacks a group of verbs",
        "cli/main.py",
        "for title, verbs in _VERBS.items():",
        "for title, verbs in list(_VERBS.items())[1:]:",
        ("tests/transcript/test_cli_documented.py::test_the_help_shows_every_verb",),
    ),
    Mutant(
        16,
        "check ends well though it found damage",
        "cli/check.py",
        "return 0 if checked.findings.sound and not checked.log_lost else DAMAGED",
        "return 0",
        (
            "tests/unit/runtime/data/test_checking.py::test_it_says_what_a_backup_has_of_changes_that_were_lost",
        ),
    ),
)

BESIDE = (
    Mutant(
        17,
        "nobody collects garbage or empties namespaces beside a Kubernetes without controllers",
        "runtime/remote/process.py",
        "if not found.collects:",
        "if found.collects:",
        (
            "tests/clients/test_control.py::test_nodes_garbage_and_namespaces_are_seen_to_where_nobody_else_does",
        ),
    ),
    Mutant(
        17,
        "its writes carry the name of the kubeconfig's user",
        "runtime/remote/process.py",
        'self._user = USER if await discovering.is_taken_for(named, USER) else ""',
        'self._user = ""',
        ("tests/clients/test_control.py::test_it_writes_in_its_own_name_and_may_release_pods",),
    ),
    Mutant(
        17,
        "a namespace is finalized while something may be left in it",
        "control/read_before_write.py",
        'if request.subresource == "finalize" and not self._capabilities.collects:',
        'if request.subresource == "finalize" and self._capabilities.collects:',
        (
            "tests/unit/control/test_read_before_write.py::test_a_namespace_is_finalized_only_when_nothing_is_left_of_any_kind",
        ),
    ),
    Mutant(
        17,
        "a revision that Kubernetes wrote with a null is taken for another, and pods restart",
        "reconcile/revisions.py",
        "return {key: _without_nulls(value) for key, value in tree.items() if value is not None}",
        "return {key: _without_nulls(value) for key, value in tree.items()}",
        (
            "tests/unit/reconcile/test_revisions.py::test_a_revision_that_kubernetes_made_is_taken_over_and_no_pod_restarts",
        ),
    ),
    Mutant(
        17,
        "revisions are called otherwise than Kubernetes calls them",
        "reconcile/revisions.py",
        "codec.encode_as_go(_data(template)) + str(collisions).encode()",
        "codec.encode(_data(template)) + str(collisions).encode()",
        ("tests/unit/reconcile/test_revisions.py::test_a_set_s_revision_is_called_as_kubernetes_calls_it",),
    ),
    Mutant(
        17,
        "explain fails there as if the pod were not there",
        "cli/client.py",
        'if answer.status == 404 and path.startswith(_OWN) and not answer.body.startswith(b"{"):',
        "if answer.status == 404 and path.startswith(_OWN) and not answer.body:",
        ("tests/unit/cli/test_other_servers.py::test_they_say_plainly_that_they_do_not_work_there",),
    ),
    Mutant(
        17,
        "pods wait for a turn that no object could give them",
        "reconcile/nodes/release.py",
        "if self._policy is None:\n            told = (",
        "if self._policy is None:\n            return _Step(TURN)\n            told = (",
        (
            "tests/unit/reconcile/nodes/test_built_in_policy.py::test_where_the_policy_is_built_in_a_person_has_the_word",
        ),
    ),
    Mutant(
        17,
        "definitions of the kinds of fairlead.dev leave out what may be left out",
        "api/definitions.py",
        "_property(tables, each) for each in found.fields.values()}",
        "_property(tables, each) for each in found.fields.values() if each.required}",
        (
            "tests/unit/api/test_definitions.py::test_its_schema_is_structural_and_has_a_status_where_the_kind_has",
        ),
    ),
)

API_AND_MORE = (*API, *COMMAND_LINE, *BESIDE)
