"""AuditPolicy (fairlead.dev/v1): what the audit log keeps of which request. One object for the whole plane: `default`.

Read by `model/catalog.py`. Its rules have the conditions of Kubernetes' audit.k8s.io/v1 Policy. Without the object, and
for requests that none of its rules matches, the built-in rules apply (`api/audit/rules.py`). A server follows a change
as it is committed (`api/audit/in_force.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.core import codec
from fairlead.core.problems import Problems
from fairlead.model.cells import AGE
from fairlead.model.kind import Cell, Column, Json, Kind
from fairlead.model.kinds.workload import part

NAME = "default"  # the only AuditPolicy there is
IN_FORCE = "InForce"  # the condition; `api/admission/audit_policies.py` writes it
#: bound: objects | rules of an AuditPolicy | 422
RULES_MAX = 64
#: bound: objects | texts in each list of a rule | 422
VALUES_MAX = 256  # in each list of a rule

NONE, COUNT, METADATA, CHANGES = "None", "Count", "Metadata", "Changes"
LEVELS = (NONE, COUNT, METADATA, CHANGES)
_FIELDS = frozenset(
    {"level", "users", "userGroups", "verbs", "resources", "namespaces", "nonResourceURLs"}
)  # of a rule
_WITH_VALUES = ("Request", "RequestResponse")
_VERBS = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
_METHODS = ("get", "head", "options", "post", "put", "patch", "delete")  # of paths that are no resources


def _validate(policy: Json, problems: Problems) -> None:
    name = part(policy, "metadata").get("name")
    if name != NAME:
        problems.invalid("metadata.name", name, f"the plane has one AuditPolicy, named {NAME!r}")
    rules = part(policy, "spec").get("rules") or []
    if len(rules) > RULES_MAX:
        problems.too_many("spec.rules", len(rules), RULES_MAX)
    for index, rule in enumerate(rules[:RULES_MAX]):
        _check(rule, f"spec.rules[{index}]", problems)


def _check(rule: Json, at: str, problems: Problems) -> None:
    level = rule.get("level") or ""
    if level in _WITH_VALUES:
        text = (
            f"values never reach the audit log; {CHANGES} keeps the paths of the fields that a write changed"
        )
        problems.invalid(f"{at}.level", level, text)
    elif level not in LEVELS:
        problems.unsupported(f"{at}.level", level, LEVELS)
    resources, urls = rule.get("resources") or [], rule.get("nonResourceURLs") or []
    if urls and (resources or rule.get("namespaces")):
        text = "a rule is about resources or about other paths: make two rules of it"
        problems.invalid(f"{at}.nonResourceURLs", urls, text)
    for field in ("users", "userGroups"):
        check_texts(rule.get(field) or [], f"{at}.{field}", problems)
    check_texts(rule.get("namespaces") or [], f"{at}.namespaces", problems, empty=True)
    verbs = rule.get("verbs") or []
    check_texts(verbs, f"{at}.verbs", problems)
    known = _METHODS if urls else _VERBS
    for index, verb in enumerate(verbs[:VALUES_MAX]):
        if verb and verb not in known and not (verb in _METHODS and not resources):
            problems.unsupported(f"{at}.verbs[{index}]", verb, known)
    _check_urls(urls, f"{at}.nonResourceURLs", problems)
    if len(resources) > VALUES_MAX:
        problems.too_many(f"{at}.resources", len(resources), VALUES_MAX)
    for index, each in enumerate(resources[:VALUES_MAX]):
        _check_resources(each, f"{at}.resources[{index}]", problems)


def _check_resources(given: Json, at: str, problems: Problems) -> None:
    group, resources = given.get("group") or "", given.get("resources") or []
    if "/" in group:
        problems.invalid(f"{at}.group", group, f"a group without its version: {group.split('/', 1)[0]!r}")
    check_texts(resources, f"{at}.resources", problems)
    for index, resource in enumerate(resources[:VALUES_MAX]):
        halves = resource.split("/")
        if len(halves) > 2 or not all(half == "*" or half.replace("-", "").isalnum() for half in halves):
            text = "a plural as in pods, a subresource as in pods/log, or pods/*, */scale, *"
            problems.invalid(f"{at}.resources[{index}]", resource, text)
        elif resource != resource.lower():
            problems.invalid(f"{at}.resources[{index}]", resource, "plurals are lower case, as in pods")
    names = given.get("resourceNames") or []
    check_texts(names, f"{at}.resourceNames", problems)
    if names and not resources:
        problems.required(f"{at}.resources", "names are those of a resource: say which")


def _check_urls(urls: Sequence[str], at: str, problems: Problems) -> None:
    check_texts(urls, at, problems)
    for index, url in enumerate(urls[:VALUES_MAX]):
        if url and url != "*" and (not url.startswith("/") or "*" in url[:-1]):
            text = 'begins with "/"; only its end may be "*", for any rest'
            problems.invalid(f"{at}[{index}]", url, text)


def check_texts(given: Sequence[str], at: str, problems: Problems, *, empty: bool = False) -> None:
    if len(given) > VALUES_MAX:
        problems.too_many(at, len(given), VALUES_MAX)
    for index, text in enumerate(given[:VALUES_MAX]):
        if not text and not empty:
            problems.required(f"{at}[{index}]", "an empty text matches nothing")


def _as_understood(data: bytes) -> bytes:
    """What a newer version wrote may have conditions that are not known here. Such a policy is not followed, whatever
    its status says: a rule without one of its conditions would match more than it was meant to."""
    policy = codec.decode(data)
    rules = part(policy, "spec").get("rules") or []
    unknown = [
        f"spec.rules[{index}].{field}"
        for index, rule in enumerate(rules)
        for field in sorted({*rule} - _FIELDS)
    ]
    unknown += [
        f"spec.rules[{index}].level {rule.get('level')}"
        for index, rule in enumerate(rules)
        if rule.get("level") not in LEVELS
    ]
    if not unknown:
        return data
    for each in part(policy, "status").get("conditions") or ():
        if each.get("type") == IN_FORCE:
            told = f"the rules that were in force before stay so: {unknown[0]} is not known to this version"
            each.update({"status": "False", "reason": "NotUnderstood", "message": told})
    return codec.encode(policy)


def _in_force(policy: Json, now: float) -> Cell:
    for each in part(policy, "status").get("conditions") or ():
        if each.get("type") == IN_FORCE:
            return each.get("status") or "Unknown"
    return "Unknown"


def _rules(policy: Json, now: float) -> Cell:
    return len(part(policy, "spec").get("rules") or ())


def rules_columns(in_force: str, rules: str) -> tuple[Column, ...]:
    """Columns of a policy that is rules and whether they are followed, with what each means."""
    return (
        Column("In force", _in_force, description=in_force),
        Column("Rules", _rules, "integer", description=rules),
        AGE,
    )


KIND = Kind(
    group="fairlead.dev",
    version="v1",
    kind="AuditPolicy",
    plural="auditpolicies",
    namespaced=False,
    schema="AuditPolicy",
    subresources=("status",),
    columns=(
        *rules_columns("Whether the server follows it.", "Rules that are asked before the built-in ones."),
    ),
    validate=_validate,
    presented=_as_understood,
)
