"""FlowSchema (flowcontrol.apiserver.k8s.io/v1): which requests belong to which priority level, and what is a flow.

Read by `model/catalog.py`. Requests are matched in `api/flow/matching.py`; whether the level exists is told in the
status by `api/admission/flow_schemas.py`.
"""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.core.problems import Problems
from fairlead.model.cells import AGE
from fairlead.model.kind import Cell, Column, Json, Kind
from fairlead.model.kinds.prioritylevelconfiguration import CATCH_ALL_LEVEL, EXEMPT_LEVEL, GROUP, VERSION
from fairlead.model.kinds.workload import part
from fairlead.model.names import subdomain_problems

LAST_PRECEDENCE = 10_000
_PRECEDENCE = 1000
BY_USER, BY_NAMESPACE = "ByUser", "ByNamespace"
DANGLING = "Dangling"
ALL = "*"
USER, USER_GROUP, SERVICE_ACCOUNT = "User", "Group", "ServiceAccount"
_VERBS = (
    "create", "delete", "deletecollection", "get", "impersonate", "list", "patch", "proxy", "update", "use", "watch",
)  # fmt: skip
_METHODS = ("delete", "get", "head", "options", "patch", "post", "put")
_NAMED = {USER: "user", USER_GROUP: "group", SERVICE_ACCOUNT: "serviceAccount"}
#: bound: objects | rules of a FlowSchema, and values of each list of them | 422
RULE_VALUES_MAX = 256

_ANYTHING: Json = {
    "resourceRules": [
        {"apiGroups": [ALL], "resources": [ALL], "verbs": [ALL], "clusterScope": True, "namespaces": [ALL]}
    ],
    "nonResourceRules": [{"nonResourceURLs": [ALL], "verbs": [ALL]}],
}


def of_groups(level: str, precedence: int, groups: Iterable[str], method: str = "") -> Json:
    """The spec that gives everything which these groups do to a level."""
    subjects = [{"kind": USER_GROUP, "group": {"name": group}} for group in groups]
    spec: Json = {
        "priorityLevelConfiguration": {"name": level},
        "matchingPrecedence": precedence,
        "rules": [{"subjects": subjects, **_ANYTHING}],
    }
    if method:
        spec["distinguisherMethod"] = {"type": method}
    return spec


EXEMPT_SPEC = of_groups(EXEMPT_LEVEL, 1, ("system:masters",))
CATCH_ALL_SPEC = of_groups(
    CATCH_ALL_LEVEL, LAST_PRECEDENCE, ("system:unauthenticated", "system:authenticated"), BY_USER
)
_FIXED = {EXEMPT_LEVEL: EXEMPT_SPEC, CATCH_ALL_LEVEL: CATCH_ALL_SPEC}


def _defaults(obj: Json) -> None:
    spec = part(obj, "spec")
    if spec:  # 0 is what clients send for an unset one
        spec["matchingPrecedence"] = spec.get("matchingPrecedence") or _PRECEDENCE


def _validate(obj: Json, problems: Problems) -> None:
    spec = part(obj, "spec")
    name = part(obj, "metadata").get("name") or ""
    precedence = spec.get("matchingPrecedence") or 0
    if precedence <= 0 or precedence > LAST_PRECEDENCE:
        detail = f"must be from 1 to {LAST_PRECEDENCE}"
        problems.invalid("spec.matchingPrecedence", precedence, detail)
    if precedence == 1 and name != EXEMPT_LEVEL:
        detail = f"only the schema named {EXEMPT_LEVEL} may have matchingPrecedence 1"
        problems.invalid("spec.matchingPrecedence", precedence, detail)
    method = part(spec, "distinguisherMethod").get("type")
    if spec.get("distinguisherMethod") is not None and method not in (BY_USER, BY_NAMESPACE):
        problems.unsupported("spec.distinguisherMethod.type", method or "", (BY_NAMESPACE, BY_USER))
    level = part(spec, "priorityLevelConfiguration").get("name") or ""
    if not level:
        problems.required("spec.priorityLevelConfiguration.name", "must reference a priority level")
    else:
        for problem in subdomain_problems(level):
            problems.invalid("spec.priorityLevelConfiguration.name", level, problem)
    rules = spec.get("rules") or []
    _check_count(rules, "spec.rules", problems)
    for index, rule in enumerate(rules[:RULE_VALUES_MAX]):
        _check_rule(rule, f"spec.rules[{index}]", problems)
    if name in _FIXED and spec != _FIXED[name]:
        problems.invalid("spec", spec, f"spec of {name} must equal the fixed value")


def _check_count(given: list[Json] | list[str], at: str, problems: Problems) -> None:
    if len(given) > RULE_VALUES_MAX:
        problems.too_many(at, len(given), RULE_VALUES_MAX)


def _check_rule(rule: Json, at: str, problems: Problems) -> None:
    subjects = rule.get("subjects") or []
    resources, urls = rule.get("resourceRules") or [], rule.get("nonResourceRules") or []
    if not subjects:
        problems.required(f"{at}.subjects", "subjects must contain at least one value")
    if not resources and not urls:
        detail = "at least one of resourceRules and nonResourceRules has to be non-empty"
        problems.required(at, detail)
    for field, given in (("subjects", subjects), ("resourceRules", resources), ("nonResourceRules", urls)):
        _check_count(given, f"{at}.{field}", problems)
    for index, subject in enumerate(subjects[:RULE_VALUES_MAX]):
        _check_subject(subject, f"{at}.subjects[{index}]", problems)
    for index, each in enumerate(resources[:RULE_VALUES_MAX]):
        _check_resources(each, f"{at}.resourceRules[{index}]", problems)
    for index, each in enumerate(urls[:RULE_VALUES_MAX]):
        _check_urls(each, f"{at}.nonResourceRules[{index}]", problems)


def _check_subject(subject: Json, at: str, problems: Problems) -> None:
    kind = subject.get("kind") or ""
    if kind not in _NAMED:
        problems.unsupported(f"{at}.kind", kind, sorted(_NAMED))
        return
    field = _NAMED[kind]
    if subject.get(field) is None:
        problems.required(f"{at}.{field}", f"{field} is required when subject kind is {kind!r}")
    for other in _NAMED.values():
        if other != field and subject.get(other) is not None:
            detail = f"{other} is forbidden when subject kind is {kind!r}"
            problems.forbidden(f"{at}.{other}", detail)
    named = part(subject, field)
    if subject.get(field) is not None and not named.get("name"):
        problems.required(f"{at}.{field}.name", "")
    if kind == SERVICE_ACCOUNT and named and not named.get("namespace"):
        problems.required(f"{at}.{field}.namespace", "must specify namespace for service account")


def _check_values(rule: Json, field: str, at: str, problems: Problems, known: tuple[str, ...] = ()) -> None:
    values = rule.get(field) or []
    _check_count(values, f"{at}.{field}", problems)
    if not values:
        problems.required(f"{at}.{field}", f"{field} must contain at least one value")
    elif ALL in values and len(values) > 1:
        problems.invalid(f"{at}.{field}", values, "if '*' is present, must not specify other values")
    elif known and ALL not in values:
        for index, value in enumerate(values[:RULE_VALUES_MAX]):
            if value not in known:
                problems.unsupported(f"{at}.{field}[{index}]", value, known)


def _check_resources(rule: Json, at: str, problems: Problems) -> None:
    _check_values(rule, "verbs", at, problems, _VERBS)
    _check_values(rule, "apiGroups", at, problems)
    _check_values(rule, "resources", at, problems)
    if rule.get("namespaces"):
        _check_values(rule, "namespaces", at, problems)
    elif not rule.get("clusterScope"):
        detail = "resource rules that are not cluster scoped must supply at least one namespace"
        problems.required(f"{at}.namespaces", detail)


def _check_urls(rule: Json, at: str, problems: Problems) -> None:
    _check_values(rule, "verbs", at, problems, _METHODS)
    _check_values(rule, "nonResourceURLs", at, problems)
    for index, url in enumerate((rule.get("nonResourceURLs") or [])[:RULE_VALUES_MAX]):
        if url == ALL:
            continue
        field = f"{at}.nonResourceURLs[{index}]"
        if not url.startswith("/"):
            problems.invalid(field, url, "must start with slash")
        elif " " in url:
            problems.invalid(field, url, "must not contain white-space")
        elif "//" in url:
            problems.invalid(field, url, "must not contain double slash")
        elif ALL in url and not (url.endswith("/*") and url.count(ALL) == 1):
            problems.invalid(field, url, "wildcard can only do suffix matching")


def _level(obj: Json, now: float) -> Cell:
    return str(part(part(obj, "spec"), "priorityLevelConfiguration").get("name") or "<none>")


def _method(obj: Json, now: float) -> Cell:
    return str(part(part(obj, "spec"), "distinguisherMethod").get("type") or "<none>")


def _is_dangling(obj: Json, now: float) -> Cell:
    for each in part(obj, "status").get("conditions") or ():
        if each.get("type") == DANGLING:
            return str(each.get("status") or "?")
    return "?"


KIND = Kind(
    group=GROUP,
    version=VERSION,
    kind="FlowSchema",
    plural="flowschemas",
    namespaced=False,
    schema="FlowSchema",
    subresources=("status",),
    columns=(
        Column("PriorityLevel", _level),
        Column(
            "MatchingPrecedence", lambda obj, now: part(obj, "spec").get("matchingPrecedence") or 0, "integer"
        ),
        Column("DistinguisherMethod", _method),
        AGE,
        Column("MissingPL", _is_dangling),
    ),
    defaults=_defaults,
    validate=_validate,
)
