"""Mutants of the promises 12 to 14: damage, many watches, and what runs out."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

DAMAGE = (
    Mutant(
        12,
        "rows of the store are not compared with their digests",
        "store/recovery.py",
        "elif digest != version_digest(revision, key, uid, code, previous, repr(at), data):",
        "elif digest == 0:",
        ("tests/unit/store/test_bit_flips.py::test_of_the_database",),
    ),
    Mutant(
        12,
        "revisions that were lost are given out again",
        "store/sqlite.py",
        "until = max(promised, recovered.revision, self._witness.acknowledged) + 1",
        "until = recovered.revision + 1",
        (
            "tests/unit/store/test_lost_revisions.py::test_a_log_that_was_removed_is_missed_and_numbering_goes_on_above_the_mark",
        ),
    ),
    Mutant(
        12,
        "a store that is older than its mark is taken as it is",
        "runtime/data/revision_mark.py",
        "return self._log_lost or mark_doubt(self._mark, newest, self._acknowledged)",
        "return self._log_lost",
        ("tests/unit/store/test_lost_revisions.py::test_an_older_database_that_was_put_back_is_noticed",),
    ),
    Mutant(
        12,
        "an ordinary power cut raises an alarm",
        "runtime/data/revision_mark.py",
        "if newest < mark.promised - BLOCK - _SLACK:",
        "if newest < mark.promised:",
        (
            "tests/unit/store/test_lost_revisions.py::test_a_transaction_that_was_cut_off_while_it_was_written_raises_no_alarm",
        ),
    ),
    Mutant(
        12,
        "whose an address is, is taken from what stands in for a damaged claim",
        "api/sound_reader.py",
        "    def newest(self, key: Key) -> Entry | None:\n        if self._read.damaged and key in self._read.damaged:\n"
        "            raise damage_error(self._read.damaged[key])",
        "    def newest(self, key: Key) -> Entry | None:",
        ("tests/unit/api/test_damaged.py::test_whose_an_address_is_whose_claim_is_damaged_is_not_known",),
    ),
    Mutant(
        12,
        "a damaged object reads as whatever stands in for it",
        "api/sound_reader.py",
        "    def get(self, key: Key) -> Entry | None:\n        if self._read.damaged and key in self._read.damaged:\n"
        "            raise damage_error(self._read.damaged[key])",
        "    def get(self, key: Key) -> Entry | None:",
        ("tests/unit/api/test_damaged.py::test_it_is_named_with_the_remedy_by_all_who_ask_for_it",),
    ),
    Mutant(
        12,
        "check does not compare old versions with their digests",
        "store/checking.py",
        "if isinstance(entry, str) and (key, revision) not in known:",
        "if isinstance(entry, str) and not revision:",
        ("tests/transcript/test_cli.py::test_the_command_line_prints_what_the_transcript_shows",),
    ),
)

WATCHES = (
    Mutant(
        13,
        "a turn of the fan-out ends when everybody was told",
        "wire/fanout.py",
        "if now() >= deadline:",
        "if now() < 0:",
        (
            "tests/unit/wire/test_fanout.py::test_a_turn_ends_in_time_however_many_wait_and_all_get_everything",
        ),
    ),
    Mutant(
        13,
        "a user with many watches keeps others waiting",
        "wire/fanout.py",
        "            del ready[user]\n            if queue:\n                ready[user] = queue  # the next user comes first",
        "            if not queue:\n                del ready[user]",
        ("tests/unit/wire/test_fanout.py::test_a_user_with_many_watches_does_not_keep_another_waiting",),
    ),
    Mutant(
        13,
        "watchers that do not read hold as much memory as they like",
        "wire/fanout.py",
        "if not self.budget.take(user, size):",
        "if not self.budget.take(user, size) and not user:",
        (
            "tests/unit/wire/test_fanout.py::test_clients_that_do_not_read_hold_no_more_than_their_users_share",
        ),
    ),
    Mutant(
        13,
        "who does not read for long is never cut",
        "wire/fanout.py",
        "if receiver.user_name in self._waiting:",
        "if not receiver.user_name:",
        ("tests/unit/wire/test_fanout.py::test_who_does_not_read_for_long_is_cut_if_others_wait",),
    ),
)

RUNNING_OUT = (
    Mutant(
        14,
        "the proxy does not bind again what it could not bind",
        "runtime/node/service_proxy.py",
        "        if missing:\n",
        "        if missing and self._closed:\n",
        (
            "tests/unit/runtime/node/test_service_proxy.py::test_a_process_without_file_descriptors_binds_as_soon_as_it_has_some",
        ),
        errors=("AssertionError", "TimeoutError"),
    ),
    Mutant(
        14,
        "a node may give itself a role",
        "api/access/node_access.py",
        '_OWN_DOMAINS = ("kubelet.kubernetes.io", "node.kubernetes.io")',
        '_OWN_DOMAINS = ("kubelet.kubernetes.io", "node.kubernetes.io", "node-role.kubernetes.io")',
        ("tests/unit/api/access/test_authz.py::test_labels_of_kubernetes_that_a_node_may_set_on_itself",),
    ),
    Mutant(
        14,
        "a node announces the endpoint of another for its own",
        "api/access/node_access.py",
        "if wanted[NODE_CERTIFICATE] == other.certificate or (same_address and _is_ready(data)):",
        "if wanted[NODE_CERTIFICATE] == other.certificate and same_address and not _is_ready(data):",
        ("tests/unit/api/access/test_authz.py::test_a_node_cannot_announce_the_endpoint_of_another",),
    ),
    Mutant(
        14,
        "a deletion is refused on a full disk",
        "store/room.py",
        "if transaction.claim == FREEING:",
        "if transaction.claim == RUN:",
        ("tests/unit/store/test_machine.py::test_deletions_have_as_much_room_as_there_is",),
    ),
    Mutant(
        14,
        "runs of runbooks take the room that deletions need",
        "store/room.py",
        "min(RUN_BYTES_MAX, self._left - self._kept)",
        "min(RUN_BYTES_MAX, self._left)",
        ("tests/unit/store/test_machine.py::test_runs_of_runbooks_leave_half_of_the_room_to_deletions",),
    ),
    Mutant(
        14,
        "deletions take the room that leases need",
        "runtime/data/reserve.py",
        "return max(0, self._pages.free_bytes() - LEASES_BYTES)",
        "return self._pages.free_bytes()",
        ("tests/unit/runtime/data/test_reserve.py::test_deletions_leave_what_leases_need",),
    ),
)

DURABILITY = (*DAMAGE, *WATCHES, *RUNNING_OUT)
