"""Writes the tables of the documentation that are facts of the code: kinds, errors, limits, admission.

    python docs/generate.py           rewrite them
    python docs/generate.py --check   exit 1 if one of them is not current

A table stands between `<!-- generated: NAME -->` and `<!-- end -->`; everything outside is written by hand.
Deterministic: the same code gives the same bytes. `tests/docs/test_generated.py` runs the check.
"""

from __future__ import annotations

import importlib
import re
import sys
import textwrap
from collections.abc import Callable, Iterable
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from fairlead.api.admission import DEFAULT_STEPS
from fairlead.cli.main import INTERRUPTED, PIPE_CLOSED
from fairlead.core import errors
from fairlead.ledger import repair
from fairlead.model import evidence_rows, plane_knobs, reasons
from fairlead.model.catalog import CATALOG
from fairlead.model.fields import MapOf
from fairlead.model.files import load_tables
from fairlead.runtime.server import retention as kept_history
from fairlead.runtime.settings import ServeSettings
from fairlead.schedule.registry import PLUGINS
from fairlead.store.machine import Limits

DOCS = Path(__file__).parent
_BLOCK = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


class Bound(NamedTuple):
    """One row of a table of limits: where the constant is, in which unit to show it, what happens beyond it."""

    what: str
    module: str  # below `fairlead.`
    constant: str
    unit: str  # of: "", bytes, seconds
    beyond: str


REQUESTS = (
    Bound("request body", "wire.http", "BODY_BYTES_MAX", "bytes", "413, connection closed"),
    Bound(
        "bodies of all requests together",
        "wire.listener",
        "BODIES_BYTES_MAX",
        "bytes",
        "429 to a user who holds as much as is still free",
    ),
    Bound(
        "request line and headers together",
        "wire.http",
        "HEADER_BYTES_MAX",
        "bytes",
        "431, connection closed",
    ),
    Bound("levels of objects and arrays in a body", "core.codec", "DEPTH_MAX", "", "400"),
    Bound("values in a body of YAML", "core.yaml_text", "NODES_MAX", "", "413: send it as JSON"),
    Bound("an answer as indented YAML", "core.yaml_text", "BLOCK_BYTES_MAX", "bytes", "its YAML is JSON"),
    Bound("problems named in one answer", "core.problems", "PROBLEMS_MAX", "", "the rest is left out"),
    Bound("unknown fields named in one answer", "model.structure", "UNKNOWN_MAX", "", "the rest is left out"),
    Bound("warnings about fields in one answer", "api.body", "_WARNED_MAX", "", "the rest is left out"),
    Bound("length of `fieldManager`", "api.options", "FIELD_MANAGER_MAX", "bytes", "422"),
    Bound(
        "length of a manager's name that is made of the User-Agent",
        "api.managing",
        "MANAGER_NAME_BYTES_MAX",
        "bytes",
        "cut off",
    ),
    Bound(
        "entries of updates in managedFields",
        "model.apply.managers",
        "UPDATE_ENTRIES_MAX",
        "",
        "the oldest become one, `ancient-changes`",
    ),
    Bound("`Impersonate-*` headers of one request", "api.impersonation", "HEADERS_MAX", "", "400"),
    Bound("objects named by one `fence`", "api.fencing", "FENCES_MAX", "", "400"),
    Bound("operations of one JSON patch", "model.patch.jsonpatch", "OPERATIONS_MAX", "", "413"),
    Bound("bytes one JSON patch may copy", "model.patch.jsonpatch", "COPIED_BYTES_MAX", "bytes", "413"),
    Bound("times a request is planned anew on a conflict", "api.conversation", "ATTEMPTS_MAX", "", "503"),
    Bound(
        "names tried for one `generateName`",
        "api.verbs.create",
        "_NAME_ATTEMPTS_MAX",
        "",
        "409 AlreadyExists",
    ),
)
CONNECTIONS = (
    Bound(
        "open connections",
        "wire.listener",
        "CONNECTIONS_MAX",
        "",
        "the oldest without a known user gives way; else the new one is closed",
    ),
    Bound(
        "file descriptors that connections leave to the rest",
        "wire.listener",
        "FILES_RESERVED",
        "",
        "the same",
    ),
    Bound(
        "connections that have not finished TLS",
        "wire.accepting",
        "HANDSHAKES_MAX",
        "",
        "the oldest gives way",
    ),
    Bound(
        "TLS must be finished within", "wire.accepting", "HANDSHAKE_SECONDS", "seconds", "the client is cut"
    ),
    Bound(
        "a handshake does not give way for",
        "wire.accepting",
        "HANDSHAKE_PATIENCE_SECONDS",
        "seconds",
        "new ones wait in the backlog",
    ),
    Bound("connections that wait to be accepted", "wire.accepting", "BACKLOG_MAX", "", "they wait longer"),
    Bound(
        "a server without file descriptors accepts again after",
        "wire.accepting",
        "ACCEPT_AGAIN_SECONDS",
        "seconds",
        "-",
    ),
    Bound(
        "after the last answer a client must leave within",
        "wire.accepting",
        "CLOSING_SECONDS",
        "seconds",
        "it is cut",
    ),
    Bound(
        "a request must have arrived within", "wire.listener", "REQUEST_SECONDS", "seconds", "it is closed"
    ),
    Bound("an idle connection is kept for", "wire.listener", "IDLE_SECONDS", "seconds", "it is closed"),
    Bound(
        "a watch without `timeoutSeconds` lasts, or up to twice as long",
        "api.verbs.watch",
        "TIMEOUT_SECONDS_DEFAULT",
        "seconds",
        "ends",
    ),
    Bound(
        "a watch with `timeoutSeconds` lasts at most",
        "api.verbs.watch",
        "TIMEOUT_SECONDS_MAX",
        "seconds",
        "ends",
    ),
    Bound("a bookmark is sent every", "wire.watching", "BOOKMARK_SECONDS", "seconds", "-"),
    Bound(
        "room kept on the disk",
        "runtime.reserve",
        "RESERVE_BYTES",
        "bytes",
        "only leases and deletions are written",
    ),
    Bound("the write-ahead log, from the start", "runtime.reserve", "WAL_BYTES", "bytes", "it grows"),
    Bound("free besides, before it is kept again", "runtime.reserve", "RESERVE_MARGIN_BYTES", "bytes", "507"),
    Bound("empty pages taken on a full disk", "runtime.reserve", "PAGES_BYTES", "bytes", "507"),
    Bound("of them, for leases alone", "runtime.reserve", "LEASES_BYTES", "bytes", "a deletion is 507"),
    Bound("a lease that is written on a full disk", "store.room", "LEASE_BYTES_MAX", "bytes", "507"),
    Bound(
        "history while the disk is full",
        "runtime.store_driver",
        "SHORT_HISTORY_SECONDS",
        "seconds",
        "410: list again",
    ),
    Bound("changes buffered for a watcher", "store.watch", "BUFFER_CHANGES_MAX", "", "the watcher is cut"),
    Bound("bytes buffered for a watcher", "store.watch", "BUFFER_BYTES_MAX", "bytes", "the watcher is cut"),
    Bound(
        "time of a turn in which watches are told of changes",
        "wire.fanout",
        "TURN_SECONDS",
        "seconds",
        "other clients are served before the next turn",
    ),
    Bound(
        "bytes of a change sent to a watcher at once",
        "wire.watching",
        "PIECE_BYTES",
        "bytes",
        "the rest follows when it is the watcher's turn again",
    ),
    Bound("bytes set aside for a watcher that does not read", "wire.fanout", "STALLED_BYTES", "bytes", "-"),
    Bound(
        "the same for all watchers together",
        "wire.fanout",
        "WATCHES_BYTES_MAX",
        "bytes",
        "watchers of a user who holds as much as is still free wait",
    ),
    Bound(
        "a watcher for which others wait must read within",
        "wire.fanout",
        "STALLED_SECONDS",
        "seconds",
        "it is cut",
    ),
    Bound(
        "bytes of a stream encrypted ahead", "wire.http", "STREAM_BYTES_AHEAD", "bytes", "no more are sent"
    ),
    Bound(
        "changes read at once for one behind",
        "store.watch",
        "CATCH_UP_CHANGES_MAX",
        "",
        "it takes another turn",
    ),
    Bound("a stopping server waits for", "runtime.server", "GRACE_SECONDS", "seconds", "the rest is cut"),
)
OBJECTS = (
    Bound("length of a name that is a DNS subdomain", "model.names", "SUBDOMAIN_MAX", "", "422"),
    Bound("length of a label value, and of names that are DNS labels", "model.names", "LABEL_MAX", "", "422"),
    Bound("length of a port's name", "model.names", "PORT_NAME_MAX", "", "422"),
    Bound("length of a generated name", "core.ids", "GENERATED_NAME_MAX", "", "the prefix is shortened"),
    Bound("annotations of one object", "model.metadata", "ANNOTATIONS_BYTES_MAX", "bytes", "422"),
    Bound("data of one ConfigMap or Secret", "model.kinds.keyed_data", "TOTAL_BYTES_MAX", "bytes", "422"),
    Bound("grace of a deletion", "api.deletion", "GRACE_SECONDS_MAX", "seconds", "it is shortened to this"),
    Bound(
        "released pods that a refusal for quota names",
        "api.handing",
        "HOLDERS_TOLD_MAX",
        "",
        "the others are counted",
    ),
    Bound("unconfirmed evictions of one budget", "ledger.disruption", "DISRUPTED_PODS_MAX", "", "429"),
    Bound("weight of a plugin, or of a scored resource", "model.plugin_names", "WEIGHT_MAX", "", "422"),
    Bound("classes of a policy", "model.kinds.schedulingpolicy", "CAPACITY_CLASSES_MAX", "", "422"),
    Bound("rules of an AuditPolicy", "model.kinds.auditpolicy", "RULES_MAX", "", "422"),
    Bound("texts in each list of a rule", "model.kinds.auditpolicy", "VALUES_MAX", "", "422"),
    Bound("rows of an EvidencePolicy", "model.evidence_rows", "ROWS_MAX", "", "422"),
    Bound("`afterSeconds` of a row", "model.evidence_rows", "ACT_SECONDS_MAX", "seconds", "422"),
    Bound("ports of a Service with node ports", "api.admission.node_ports", "NODE_PORTS_MAX", "", "422"),
    Bound("time a reservation may ask for", "model.kinds.reservation", "TTL_SECONDS_MAX", "seconds", "422"),
    Bound("CustomResourceDefinitions", "api.admission.definitions", "DEFINITIONS_MAX", "", "403"),
    Bound("versions of one", "model.kinds.customresourcedefinition", "VERSIONS_MAX", "", "422"),
    Bound("columns of a version", "model.kinds.customresourcedefinition", "COLUMNS_MAX", "", "422"),
    Bound(
        "selectable fields of a version",
        "model.kinds.customresourcedefinition",
        "SELECTABLE_FIELDS_MAX",
        "",
        "422",
    ),
    Bound("schemas in the schema of a version", "model.custom.structural", "SCHEMA_NODES_MAX", "", "422"),
    Bound("states of all patterns of a version", "model.custom.plain_rules", "SCHEMA_STATES_MAX", "", "422"),
    Bound("memory of a pattern", "model.custom.patterns", "PATTERN_BYTES_MAX", "bytes", "422"),
    Bound("steps of a JSON path", "model.custom.jsonpath", "PATH_STEPS_MAX", "", "422"),
    Bound("steps of judging one custom object", "model.custom.validating", "VALIDATION_STEPS_MAX", "", "422"),
    Bound(
        "unknown fields of a custom object named",
        "model.custom.shaping",
        "UNKNOWN_FIELDS_MAX",
        "",
        "dropped unnamed",
    ),
)
STORE = (
    Bound(
        "operations of one transaction",
        "store.contract",
        "OPERATIONS_MAX",
        "",
        "collections are deleted in parts",
    ),
    Bound("lines of the audit log", "store.lines", "NOTES_MAX", "", "the oldest go"),
    Bound("damaged rows of history that are named", "store.past", "DAMAGED_ROWS_MAX", "", "the rest is not"),
    Bound("problems that `fairlead check` names", "store.checking", "PROBLEMS_MAX", "", "the rest is not"),
    Bound("stretches of lost revisions", "store.mending", "LOST_RANGES_MAX", "", "the oldest are joined"),
    Bound("history is compacted every", "runtime.store_driver", "COMPACT_IDLE_SECONDS", "seconds", "-"),
    Bound(
        "the same while there is much to forget",
        "runtime.store_driver",
        "COMPACT_BUSY_SECONDS",
        "seconds",
        "-",
    ),
    Bound(
        "rows forgotten at once", "runtime.store_driver", "COMPACT_ROWS", "", "the rest is for the next time"
    ),
    Bound(
        "pages in the write-ahead log",
        "store.sqlite",
        "CHECKPOINT_PAGES",
        "",
        "they are moved to the database",
    ),
)
AUDIT = (
    Bound("changed fields named in one line", "model.diff", "FIELDS_MAX", "", "`...` stands for the rest"),
    Bound(
        "refusals, and recorded reads, of one user in one second",
        "api.audit_policy",
        "DEFAULT_POLICY.refusals_per_second_max",
        "",
        "not kept",
    ),
    Bound(
        "refusals of all who are not signed in",
        "api.audit_policy",
        "DEFAULT_POLICY.strangers_per_second_max",
        "",
        "not kept",
    ),
    Bound(
        "lines of heartbeats in one second, where a rule asks for them",
        "api.audit_policy",
        "DEFAULT_POLICY.heartbeats_per_second_max",
        "",
        "counted",
    ),
    Bound("lines in one answer", "runtime.extensions", "_AUDIT_LINES_MAX", "", "ask again with `after`"),
)
TOKENS = (
    Bound("tokens", "runtime.token_file", "TOKENS_MAX", "", "`fairlead token create` refuses"),
    Bound(
        "a certificate that ends is looked for every",
        "runtime.renewing",
        "CERTIFICATES_SECONDS",
        "seconds",
        "-",
    ),
    Bound("a changed token table is noticed within", "runtime.server", "TOKENS_SECONDS", "seconds", "-"),
    Bound(
        "a certificate of the server is renewed this long before its end",
        "runtime.identity",
        "RENEW_BEFORE_SECONDS",
        "seconds",
        "-",
    ),
)
PLANE = (
    Bound("effects of one decision", "decision.contract", "EFFECTS_MAX", "", "the rest is for the next turn"),
    Bound(
        "neighbours that are read before a write beside a Kubernetes",
        "control.narrow",
        "NEIGHBOURS_MAX",
        "",
        "the others are not looked at; the object written is bound to its revision",
    ),
    Bound("writes remembered to find loops", "control.writes", "WRITES_KEPT_MAX", "", "the oldest go"),
    Bound("contents remembered of one object", "control.writes", "CONTENTS_KEPT_MAX", "", "counted anew"),
    Bound("write loops shown", "control.writes", "LOOPS_KEPT_MAX", "", "the oldest go"),
    Bound(
        "looks after an unanswered binding for each report", "control.flights", "LOOKS_PER_REPORT", "", "told"
    ),
    Bound("objects remembered as having eased", "control.waits", "EASED_KEPT_MAX", "", "refused keys retry"),
    Bound(
        "first wait of a key that another object may free",
        "decision.retry",
        "WAIT_BACKOFF_SECONDS",
        "seconds",
        "it doubles",
    ),
    Bound(
        "longest wait of a key that another object may free",
        "decision.retry",
        "WAIT_BACKOFF_MAX_SECONDS",
        "seconds",
        "it is tried again",
    ),
    Bound("errors of one controller told apart", "control.complaints", "ERRORS_TOLD_MAX", "", "told again"),
    Bound("pods of one plan", "explain.planning", "PLAN_PODS_MAX", "", "413"),
    Bound(
        "attempts of a pod listed", "explain.explaining", "ATTEMPTS_SHOWN_MAX", "", "the oldest are left out"
    ),
    Bound("explanations and plans at a time", "runtime.answering", "ANSWERS_MAX", "", "429"),
    Bound(
        "one turned away comes back after",
        "runtime.answering",
        "ANSWERS_RETRY_SECONDS",
        "seconds",
        "it asks again",
    ),
    Bound("missed changes counted", "explain.explaining", "MISSED_COUNTED_MAX", "", "not counted further"),
    Bound("reports about hot keys kept", "queue.heat", "REPORTS_MAX", "", "the oldest go"),
    Bound(
        "a failed pod of a Job is replaced after",
        "reconcile.job_pods",
        "BACKOFF_SECONDS",
        "seconds",
        "twice as long after each further failure",
    ),
    Bound("the same at most", "reconcile.job_pods", "BACKOFF_SECONDS_MAX", "seconds", "-"),
    Bound(
        "ended pods of a Job that are being counted",
        "reconcile.job_status",
        "UNCOUNTED_MAX",
        "",
        "the rest is counted in the next turn",
    ),
    Bound(
        "a pod held for its Job is looked at every", "reconcile.job_orphans", "AGAIN_SECONDS", "seconds", "-"
    ),
    Bound("missed times of a CronJob that are counted", "reconcile.cron_times", "MISSED_MAX", "", "too many"),
    Bound(
        "a failed pod of a DaemonSet is replaced after",
        "reconcile.daemonset",
        "REPLACED_AFTER_SECONDS",
        "seconds",
        "-",
    ),
    Bound(
        "an evicted pod counts as going for",
        "reconcile.disruption_budget",
        "DELETION_SECONDS",
        "seconds",
        "it counts as staying",
    ),
    Bound(
        "a mark of an eviction that did not happen is kept for",
        "reconcile.stale_disruption",
        "STALE_DISRUPTION_SECONDS",
        "seconds",
        "it is set to False",
    ),
    Bound(
        "an expired reservation is kept for",
        "reconcile.reservation",
        "EXPIRED_KEPT_SECONDS",
        "seconds",
        "it is removed",
    ),
    Bound("length of an Event's message", "control.events", "MESSAGE_MAX", "", "it is cut"),
    Bound("notes that wait to be an Event", "control.events", "BUILT_IN.waiting_max", "", "not told"),
    Bound("notes about one object at once", "control.events", "BUILT_IN.object_burst", "", "not told"),
    Bound("Events written in a second", "control.events", "BUILT_IN.per_second", "", "they wait"),
    Bound("Events kept", "reconcile.event_expiry", "EVENTS_MAX", "", "the oldest go"),
    Bound("expired Events are looked for every", "runtime.expirer", "EXPIRE_EVERY_SECONDS", "seconds", "-"),
    Bound("expired Events removed at once", "runtime.expirer", "EXPIRED_AT_ONCE_MAX", "", "the rest later"),
    Bound("the wall clock is looked at every", "runtime.clock", "CLOCK_LOOK_SECONDS", "seconds", "-"),
    Bound(
        "a step of the wall clock that counts",
        "runtime.clock",
        "CLOCK_STEP_SECONDS_MIN",
        "seconds",
        "smaller ones are not told",
    ),
    Bound(
        "steps of the wall clock remembered",
        "cache.wall",
        "CLOCK_STEPS_REMEMBERED_MAX",
        "",
        "the oldest are forgotten",
    ),
    Bound(
        "a decision that rests on an unreadable object is looked at again after",
        "control.unread",
        "UNREADABLE_SECONDS",
        "seconds",
        "-",
    ),
    Bound("a pause that counts as silence", "decision.hearing", "PAUSE_SECONDS_MAX", "seconds", "nobody's"),
    Bound(
        "silence that is due is looked at every",
        "reconcile.node_health",
        "LOOK_AGAIN_SECONDS",
        "seconds",
        "-",
    ),
    Bound(
        "a new node that has never been ready alarms nobody for",
        "reconcile.node_marks",
        "STARTING_SECONDS",
        "seconds",
        "Event `NodeNotReady`, taint `NoExecute`",
    ),
    Bound("the window of a zone's releases", "ledger.brake", "WINDOW_SECONDS", "seconds", "-"),
    Bound("a release is remembered for at most", "ledger.brake", "KEPT_SECONDS_MAX", "seconds", "forgotten"),
    Bound("hollow nodes", "cli.serving", "HOLLOW_NODES_MAX", "", "`fairlead up` refuses"),
    Bound(
        "endpoints of one EndpointSlice",
        "reconcile.slice_layout",
        "SLICE_ENDPOINTS_MAX",
        "",
        "a further slice",
    ),
    Bound(
        "namespaces whose selectors of Services are kept",
        "reconcile.service_selectors",
        "SELECTORS_KEPT_MAX",
        "",
        "read anew",
    ),
    Bound("connections through a node's proxy", "runtime.service_proxy", "CONNECTIONS_MAX", "", "they wait"),
    Bound(
        "connections that wait for it, per port",
        "runtime.service_proxy",
        "BACKLOG_MAX",
        "",
        "they wait longer",
    ),
    Bound(
        "bytes that wait in it, per connection and direction",
        "runtime.relay",
        "BUFFER_BYTES",
        "bytes",
        "the sender waits",
    ),
    Bound(
        "a pod must take a connection within",
        "runtime.relay",
        "CONNECT_SECONDS",
        "seconds",
        "the next is tried",
    ),
    Bound(
        "a port in use is tried again every", "runtime.service_proxy", "BIND_AGAIN_SECONDS", "seconds", "-"
    ),
    Bound(
        "of the ports that other agents have, one is tried every",
        "runtime.service_proxy",
        "TAKE_OVER_SECONDS",
        "seconds",
        "-",
    ),
    Bound(
        "a proxy without room accepts again after",
        "runtime.service_proxy",
        "ACCEPT_AGAIN_SECONDS",
        "seconds",
        "-",
    ),
    Bound("local nodes", "runtime.settings", "LOCAL_NODES_MAX", "", "`fairlead up` refuses"),
    Bound(
        "connections of an agent, beside its watches",
        "wire.client",
        "CLIENT_CONNECTIONS_MAX",
        "",
        "they wait",
    ),
    Bound(
        "an answer that an agent reads", "wire.client_connection", "ANSWER_BYTES_MAX", "bytes", "it is cut"
    ),
    Bound(
        "an agent keeps an unused connection for", "wire.client", "KEPT_SECONDS", "seconds", "it is closed"
    ),
    Bound("objects of one page of an agent's list", "runtime.remote", "PAGE_ITEMS_MAX", "", "the next page"),
    Bound("one change that an agent reads", "runtime.remote", "FRAME_BYTES_MAX", "bytes", "the watch is cut"),
    Bound(
        "an agent's watch lasts at least",
        "runtime.remote",
        "WATCH_SECONDS",
        "seconds",
        "it is opened anew; at most twice as long",
    ),
    Bound(
        "an agent waits for an answer",
        "runtime.remote",
        "ASK_SECONDS",
        "seconds",
        "the outcome is unknown",
    ),
    Bound(
        "connections for the heartbeats of hollow nodes",
        "runtime.hollow_agent",
        "HOLLOW_CONNECTIONS_MAX",
        "",
        "they wait",
    ),
    Bound(
        "connections of `fairlead control`",
        "runtime.control_process",
        "CONTROL_CONNECTIONS_MAX",
        "",
        "they wait",
    ),
    Bound(
        "it waits for an answer where there are no fences",
        "runtime.control_process",
        "UNFENCED_ASK_SECONDS",
        "seconds",
        "the outcome is unknown",
    ),
    Bound("decisions that it keeps", "runtime.decisions_file", "DECISIONS_KEPT_MAX", "", "the oldest go"),
    Bound("a node's lease, if nothing is said", "cli.agent", "DEFAULT_LEASE_SECONDS", "seconds", "-"),
    Bound("a node's lease is renewed every", "cli.agent", "DEFAULT_RENEW_SECONDS", "seconds", "-"),
    Bound("a node's lease", "cli.agent", "LEASE_SECONDS_MAX", "seconds", "`fairlead agent` refuses"),
    Bound(
        "`fairlead up` waits for its agents", "runtime.local_nodes", "AGENT_STOP_SECONDS", "seconds", "killed"
    ),
    Bound(
        "an agent that ends is started again within",
        "runtime.local_nodes",
        "RESTART_SECONDS_MAX",
        "seconds",
        "doubling from a fifth of a second",
    ),
    Bound(
        "the progress of the sample is shown for", "runtime.first_run", "FIRST_RUN_SECONDS", "seconds", "-"
    ),
    Bound(
        "the sample waits for its nodes", "runtime.first_run", "NODES_SECONDS", "seconds", "applied anyhow"
    ),
)
PROGRESS = (
    Bound(
        "groups of waiting pods told of a workload",
        "ledger.progress",
        "PENDING_MAX",
        "",
        "the rest is left out",
    ),
    Bound(
        "of a message in a workload's progress", "ledger.progress", "MESSAGE_MAX", "", "cut, in characters"
    ),
    Bound(
        "names among which similar ones are looked for",
        "cli.objects",
        "NAMES_READ_MAX",
        "",
        "the rest is not suggested",
    ),
    Bound(
        "problems shown by `fairlead status`", "cli.status", "PROBLEMS_SHOWN_MAX", "", "the rest is counted"
    ),
    Bound("`fairlead stop` waits, if nothing is said", "cli.stop", "STOP_SECONDS", "seconds", "exit code 1"),
    Bound("`fairlead stop` says that it waits every", "cli.stop", "TELL_SECONDS", "seconds", "-"),
    Bound("pods shown by `fairlead progress`", "cli.progress", "PODS_SHOWN_MAX", "", "the rest is counted"),
    Bound("`fairlead progress` looks every", "cli.progress", "POLL_SECONDS", "seconds", "-"),
    Bound("`fairlead drain` looks every", "cli.drain", "POLL_SECONDS", "seconds", "-"),
    Bound(
        "it asks again for a pod that a budget keeps every", "cli.drain", "ASK_AGAIN_SECONDS", "seconds", "-"
    ),
    Bound(
        "beyond its grace it waits for a deleted pod",
        "cli.drain",
        "FORCED_SECONDS",
        "seconds",
        "told as left",
    ),
    Bound("objects that `fairlead repair` reads at once", "cli.repair", "PAGE_MAX", "", "the rest follows"),
    Bound(
        "an ended pod on a Node that is gone is kept for",
        "ledger.repair",
        "MISSING_NODE_SECONDS",
        "seconds",
        "it is removed",
    ),
    Bound(
        "a Lease of a Node that is gone is kept for",
        "ledger.repair",
        "LEASE_KEPT_SECONDS",
        "seconds",
        "it is removed",
    ),
    Bound(
        "a deletion counts as stuck after",
        "ledger.repair",
        "STUCK_SECONDS",
        "seconds",
        "`fairlead repair` tells",
    ),
    Bound(
        "who waits for pods out of reach looks every",
        "reconcile.reach",
        "LOOK_AGAIN_SECONDS",
        "seconds",
        "-",
    ),
    Bound("pods whose stages are timed at once", "control.stages", "ON_THE_WAY_MAX", "", "not timed"),
    Bound("a pod counts as stuck at a stage after", "control.stages", "STUCK_SECONDS", "seconds", "-"),
)
SCHEDULER = (
    Bound("what a plugin gives a node at most", "schedule.contract", "SCORE_MAX", "", "-"),
    Bound(
        "amount of a resource that is told from more", "schedule.facts", "AMOUNT_MAX", "", "taken for this"
    ),
    Bound("pods of one object in a plan", "explain.manifests", "NAMES_MAX", "", "413"),
    Bound("nodes rated, over all classes of pods", "schedule.cycle", "CLASS_SLOTS_MAX", "", "rated anew"),
    Bound("comings and goings of pods kept", "schedule.changes", "CHANGES_MAX", "", "all is rated anew"),
    Bound("selectors of pods counted per node", "schedule.matching", "MATCHERS_MAX", "", "counted anew"),
    Bound("answers kept that nodes alone decide", "schedule.nodes", "DERIVED_MAX", "", "computed anew"),
    Bound("priorities that preempt kept", "schedule.lower", "PRIORITIES_MAX", "", "summed up anew"),
    Bound("classes whose victims are kept", "schedule.preemption", "REMEMBERED_MAX", "", "tried anew"),
)
PROCESSES = (
    Bound(
        "text of one record of a log",
        "agent.drivers.log_files",
        "TEXT_BYTES_MAX",
        "bytes",
        "a further record",
    ),
    Bound("one file of a log", "agent.drivers.log_files", "FILE_BYTES_MAX", "bytes", "it is rotated"),
    Bound("files of one run's log", "agent.drivers.log_files", "FILES_MAX", "", "the oldest goes"),
    Bound(
        "runs of a container that keep their log", "agent.drivers.log_files", "RUNS_KEPT_MAX", "", "removed"
    ),
    Bound("a followed log is looked at every", "agent.drivers.logs", "FOLLOW_SECONDS", "seconds", "-"),
    Bound(
        "exec probes and hooks of one pod at a time",
        "agent.drivers.side_processes",
        "SIDE_PROCESSES_MAX",
        "",
        "the probe fails, the hook is left out",
    ),
    Bound(
        "output of a probe that is kept", "agent.drivers.side_processes", "OUTPUT_BYTES_MAX", "bytes", "cut"
    ),
    Bound(
        "processes of one container, where cgroups allow",
        "agent.drivers.limits",
        "PIDS_MAX",
        "",
        "fork fails",
    ),
    Bound(
        "entries of a directory that gets a mount point",
        "agent.drivers.private_mounts",
        "COVERED_ENTRIES_MAX",
        "",
        "the mountPath is refused",
    ),
    Bound(
        "what a container adds to such a directory",
        "agent.drivers.private_mounts",
        "COVER_BYTES_MAX",
        "bytes",
        "no space is left",
    ),
    Bound(
        "a pod's own files that the agent reads", "agent.drivers.beneath", "READ_BYTES_MAX", "bytes", "cut"
    ),
    Bound("probes over the network at a time", "agent.drivers.process", "PROBES_MAX", "", "they wait"),
    Bound(
        "first line of an answer to a probe", "agent.drivers.probing", "HEAD_BYTES_MAX", "bytes", "it fails"
    ),
    Bound(
        "arguments and environment of a container",
        "agent.drivers.agent_socket",
        "LINE_BYTES_MAX",
        "bytes",
        "it is not started",
    ),
    Bound(
        "answers that wait for an agent, per pod",
        "agent.drivers.agent_socket",
        "WAITING_BYTES_MAX",
        "bytes",
        "the agent is cut off and comes back",
    ),
    Bound("instructions that wait for one pod", "agent.drivers.pod", "WAITING_MAX", "", "the next one fails"),
    Bound(
        "supervisors asked at a time at a start", "agent.drivers.process", "ATTACHING_MAX", "", "they wait"
    ),
    Bound(
        "a supervisor answers within", "agent.drivers.supervisor_link", "ANSWER_SECONDS", "seconds", "killed"
    ),
    Bound(
        "until an agent that could not keep an object on its machine tries again",
        "runtime.kept_objects",
        "TRY_AGAIN_SECONDS",
        "s",
        "said once",
    ),
    Bound(
        "between two looks of a supervisor whether its directory is there",
        "agent.drivers.supervising",
        "LOOK_AT_DIRECTORY_SECONDS",
        "s",
        "a pod whose directory was removed ends",
    ),
    Bound(
        "grace of a pod whose supervisor gets SIGTERM",
        "agent.drivers.supervising",
        "TERMINATED_GRACE_SECONDS",
        "seconds",
        "SIGKILL",
    ),
    Bound(
        "killed processes are looked for every",
        "agent.drivers.supervising",
        "LOOK_AGAIN_SECONDS",
        "seconds",
        "-",
    ),
    Bound(
        "a state that could not be written is tried again every",
        "agent.drivers.supervising",
        "SAVE_AGAIN_SECONDS",
        "seconds",
        "-",
    ),
)
ENDPOINT = (
    Bound(
        "connections to one node's endpoint",
        "runtime.node_endpoint",
        "ENDPOINT_CONNECTIONS_MAX",
        "",
        "a further one is closed at once",
    ),
    Bound("logs read at one node at a time", "runtime.node_endpoint", "NODE_STREAMS_MAX", "", "429"),
    Bound("logs read through one server at a time", "runtime.node_connections", "LOG_STREAMS_MAX", "", "429"),
    Bound("a node begins to answer within", "runtime.node_connections", "NODE_SECONDS", "seconds", "503"),
    Bound(
        "all nodes tell their usage within",
        "runtime.node_connections",
        "USAGE_SECONDS",
        "seconds",
        "left out",
    ),
    Bound("nodes asked for usage at a time", "runtime.node_connections", "NODES_ASKED_MAX", "", "they wait"),
    Bound(
        "nodes to which connections are kept",
        "runtime.node_connections",
        "NODES_KEPT_MAX",
        "",
        "who was asked longest ago is let go",
    ),
    Bound(
        "what one node tells of its usage",
        "runtime.node_connections",
        "NODE_ANSWER_BYTES_MAX",
        "bytes",
        "left out",
    ),
    Bound("samples of usage a node keeps", "agent.usage", "SAMPLES_KEPT_MAX", "", "the oldest goes"),
    Bound("usage is a rate over", "agent.usage", "USAGE_WINDOW_SECONDS", "seconds", "-"),
)
BOUNDS = (
    *REQUESTS,
    *CONNECTIONS,
    *OBJECTS,
    *STORE,
    *AUDIT,
    *TOKENS,
    *PLANE,
    *PROGRESS,
    *SCHEDULER,
    *PROCESSES,
    *ENDPOINT,
)
_STORE_LIMITS = {
    "batch_changes_max": ("changes and audit lines in one commit", "", "the rest is the next commit"),
    "pending_max": ("writes that wait for the disk", "", "429"),
    "window_changes_max": (
        "recent changes kept in memory, per resource",
        "",
        "older ones are read from disk",
    ),
    "window_bytes_max": ("the same in bytes", "bytes", "older ones are read from disk"),
}


_STEPS = {
    "NamespaceLifecycle": "the namespace must exist and not be ending, and is held at its revision until the commit",
    "CustomResourceNames": "settles which names of a definition are accepted, and whether it is established",
    "CustomResourceCleanup": "a definition waits for its objects behind a finalizer",
    "AuditPolicyStatus": "says in the status that the policy is followed from this write on",
    "CustomResourceLifecycle": "holds an object's definition at its revision; none is created while that ends",
    "NodeRestriction": "a node writes only what is its own",
    "SealedPods": "refuses to change, after the binding, whether at most one of a pod may run",
    "PlaneConditions": "refuses that anybody but the plane says that a pod was released, or gave its quota away",
    "ClaimsOfSets": "a StatefulSet with `volumeClaimTemplates` is refused: claims are not served",
    "NodeAuthors": "keeps on a Node who cordoned it, when and why, and which person put which taint",
    "ServiceAccount": "`default` where none is named",
    "RuntimeClass": "the class of a pod brings its overhead, node selector and tolerations",
    "Priority": "the name of a class becomes a number",
    "PriorityDefault": "one class at most is the default",
    "DefaultTolerationSeconds": "lets a pod stay five minutes on a node that is not ready or out of reach",
    "LimitRanger": "default requests and limits, and bounds",
    "ServiceAddress": "an address and node ports that no other Service has; gives them back",
    "QuotaChange": "a new or changed quota is known to every write that is under way in its namespace",
    "PlacementQuotaCount": "`used` is counted by the server",
    "ResourceQuotaCount": "`used` is counted by the server",
    "PlacementQuota": "charges the placement quotas of a pod that is created with its node",
    "ResourceQuota": "charges the namespace's quotas, or refuses with 403",
}


def value_of(bound: Bound) -> float:
    number: float = attrgetter(bound.constant)(importlib.import_module(f"fairlead.{bound.module}"))
    return number


def shown(number: float, unit: str) -> str:
    """4 MiB, 30 s, 5 min, 1,024."""
    if unit == "bytes":
        for name, size in (("MiB", 1024 * 1024), ("KiB", 1024)):
            if number % size == 0:
                return f"{number // size:,.0f} {name}"
    if unit == "seconds":
        for name, size in (("d", 86400), ("h", 3600), ("min", 60)):
            if number % size == 0:
                return f"{number // size:.0f} {name}"
        return f"{number:,g} s" if number < 1 else f"{number:,.0f} s"
    return f"{number:,}"


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [list(heads)]
    lines += [["---"] * len(lines[0]), *[list(row) for row in rows]]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _code(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "-"


def kinds() -> str:
    heads = ("kind", "apiVersion", "resource", "short", "in a namespace", "subresources", "field selectors")
    rows = table(
        heads,
        (
            (
                kind.kind,
                f"`{kind.api_version}`",
                f"`{kind.plural}`",
                _code(kind.short_names),
                "yes" if kind.namespaced else "no",
                _code(kind.subresources),
                _code(sorted(kind.selectable)),
            )
            for kind in CATALOG
        ),
    )
    single = [kind.plural for kind in CATALOG if not kind.deletecollection]
    return rows + (f"\nWithout deletecollection: {_code(single)}.\n" if single else "")


def admission() -> str:
    """A step without its sentence in _STEPS is a KeyError: write one."""
    rows = []
    for step in DEFAULT_STEPS:
        what = _code(sorted(step.resources)) if step.resources else "all kinds"
        rows.append((step.name, f"{', '.join(sorted(step.verbs))} of {what}", _STEPS[step.name]))
    return table(("admission step", "sees", "does"), rows)


def _classes(root: type[errors.FairleadError]) -> list[type[errors.FairleadError]]:
    found = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, root)]
    return [value for value in found if value is not root]


def api_errors() -> str:
    rows = [c for c in _classes(errors.ApiError) if issubclass(c, errors.ApiError)]
    heads = ("HTTP status", "reason", "repeat the request")
    words = {"never": "no", "now": "after reading again", "later": "later"}
    return table(heads, ((str(c.status), f"`{c.reason}`", words[c.retry]) for c in rows))


def reasons_and_owners() -> str:
    def shown_by(row: reasons.Row) -> str:
        if not row.condition:
            return "-"
        return f"`{row.condition}`" + (f" as `{row.word}`" if row.word else "")

    def owner(row: reasons.Row) -> str:
        return row.owner.replace("{node}", "NODE").replace("{scheduler}", "NAME")

    rows = ((row.stage, f"`{row.reason}`", owner(row), shown_by(row), row.means) for row in reasons.TABLE)
    return table(("stage", "reason", "next step", "condition", "means"), rows)


def owners_otherwise() -> str:
    rows = ((stage, owner.replace("{node}", "NODE") or "-") for stage, owner in reasons.OTHERWISE.items())
    return table(("stage", "next step"), rows)


def concerned() -> str:
    rows = (
        (f"`{name}`", " or ".join(plugin.concerns))
        for name, plugin in sorted(PLUGINS.items())
        if plugin.concerns
    )
    return table(("filter that refuses most nodes", "next step"), rows)


def exit_codes() -> str:
    rows = [("0", "done"), ("1", "`OperatorError`, or the server refused the request")]
    classes = [c for c in _classes(errors.OperatorError) if c.exit_code > 1]
    rows += [(str(c.exit_code), f"`{c.reason}`") for c in (*classes, errors.NotFound)]
    rows += [
        (str(INTERRUPTED), "interrupted"),
        (str(PIPE_CLOSED), "the reader of the output closed the pipe"),
    ]
    return table(("exit code", "error"), rows)


def _bounds(bounds: Iterable[Bound]) -> Callable[[], str]:
    def rows() -> Iterable[tuple[str, ...]]:
        for bound in bounds:
            where = f"`{bound.module.replace('.', '/')}.py` {bound.constant}"
            yield bound.what, shown(value_of(bound), bound.unit), bound.beyond, where

    return lambda: table(("bound", "value", "beyond it", "set in"), rows())


def store() -> str:
    limits = Limits()
    rows = [
        (what, shown(getattr(limits, field), unit), beyond, f"`store/machine.py` Limits.{field}")
        for field, (what, unit, beyond) in _STORE_LIMITS.items()
    ]
    rest = _bounds(STORE)().split("\n", 2)[2]
    return table(("bound", "value", "beyond it", "set in"), rows) + rest


def retention() -> str:
    kept = kept_history(ServeSettings.__dataclass_fields__["history_seconds"].default)
    return table(
        ("resource", "kept for", "at most"),
        (
            (
                f"`{resource}`" if resource else "all others",
                shown(rule.seconds, "seconds"),
                shown(rule.bytes_max, "bytes"),
            )
            for resource, rule in sorted(kept.items(), reverse=True)
        ),
    )


def plane_settings() -> str:
    """Every knob, section by section."""
    tables = load_tables()
    rows: list[tuple[str, ...]] = []
    for title, section in plane_knobs.SECTIONS.items():
        kind = tables["PlaneSettingsSpec"].fields[title].type
        described = tables[(kind.value if isinstance(kind, MapOf) else kind).name].fields  # type: ignore[union-attr]
        place = f"{title}.NAME" if section.names else title
        for knob in section.knobs:
            bounds = f"{knob.low:,g} to {knob.high:,g}"
            what = described[knob.name].description
            rows.append((f"`{place}.{knob.name}`", what, f"{knob.default:,}", bounds))
    names = (
        f"NAME is `default` or a name: in `queues` and `controllers` {_code(plane_knobs.CONTROLLERS)}; in `retries` "
        f"{_code(plane_knobs.EFFECTS)}."
    )
    return (
        table(("field of `spec`", "what", "without it", "bounds"), rows) + f"\n{textwrap.fill(names, 118)}\n"
    )


def evidence_authority() -> str:
    rows = ((f"`{confidence}`", _code(acts)) for confidence, acts in evidence_rows.AUTHORITY.items())
    return table(("confidence", "may decide"), rows)


def evidence_table() -> str:
    rows: list[tuple[str, ...]] = []
    for row in evidence_rows.default_spec()["rows"]:
        acts = ", ".join(f"`{each['act']}` {each['afterSeconds']} s" for each in row["acts"])
        rows.append((f"`{row['name']}`", f"`{row['signal']}`", row["confidence"], acts, row["failureMode"]))
    return table(("row", "signal", "confidence", "may decide, after", "how it may mislead"), rows)


def repair_clear() -> str:
    rows = (
        (
            f"`{rule.name}`",
            rule.finds,
            rule.act,
            shown(rule.after_seconds, "seconds") if rule.after_seconds else "at once",
        )
        for rule in repair.CLEAR
    )
    return table(("rule", "finds", "does", "after"), rows)


def repair_ambiguous() -> str:
    rows = ((f"`{rule.name}`", rule.finds) for rule in repair.AMBIGUOUS)
    return table(("rule", "finds"), rows)


def evidence_zones() -> str:
    fields = load_tables()["EvidenceZoneLimits"].fields
    rows = (
        (f"`{name}`", fields[name].description, f"{default:g}", f"{low:,g} to {high:,g}")
        for name, default, low, high in evidence_rows.ZONE_LIMITS
    )
    return table(("field of `spec.zones`", "what", "without it", "bounds"), rows)


TABLES: dict[str, Callable[[], str]] = {
    "repair_clear": repair_clear,
    "repair_ambiguous": repair_ambiguous,
    "evidence_authority": evidence_authority,
    "evidence_table": evidence_table,
    "evidence_zones": evidence_zones,
    "kinds": kinds,
    "admission": admission,
    "api_errors": api_errors,
    "reasons_and_owners": reasons_and_owners,
    "owners_otherwise": owners_otherwise,
    "concerned": concerned,
    "exit_codes": exit_codes,
    "limits_requests": _bounds(REQUESTS),
    "limits_connections": _bounds(CONNECTIONS),
    "limits_objects": _bounds(OBJECTS),
    "limits_store": store,
    "limits_audit": _bounds(AUDIT),
    "limits_tokens": _bounds(TOKENS),
    "limits_plane": _bounds((*PLANE, *PROGRESS, *SCHEDULER)),
    "limits_processes": _bounds(PROCESSES),
    "limits_endpoint": _bounds(ENDPOINT),
    "retention": retention,
    "plane_settings": plane_settings,
}


def generated(text: str) -> str:
    """A page with its tables made anew."""
    return _BLOCK.sub(lambda found: found[1] + TABLES[found[2]]() + found[3], text)


def main(arguments: list[str]) -> int:
    stale = []
    for page in sorted(DOCS.rglob("*.md")):
        text = page.read_text()
        current = generated(text)
        if current != text:
            stale.append(page)
            if "--check" not in arguments:
                page.write_text(current)
    for page in stale:
        print(f"{'not current' if '--check' in arguments else 'wrote'}: {page.relative_to(DOCS.parent)}")
    return 1 if stale and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
