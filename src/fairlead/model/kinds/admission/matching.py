"""What policies and bindings have in common: which requests they are about, and where parameters are found."""

from __future__ import annotations

from fairlead.core.problems import Problems
from fairlead.model.kind import Json
from fairlead.model.names import path_segment_problems, subdomain_problems
from fairlead.model.selectors import validate_label_selector

#: bound: policies | rules, or texts in one list of a rule, of what a policy or binding is about | 422
RULES_MAX = 64
_ALL = "*"
_CHANGING = ("CREATE", "UPDATE")


def fill_in(match: Json) -> Json:
    """With what is meant where nothing is said."""
    rules = {
        name: [{**each, "scope": each.get("scope") or _ALL} for each in match[name]]
        for name in ("resourceRules", "excludeResourceRules")
        if match.get(name)
    }
    return {
        **match,
        **rules,
        "matchPolicy": match.get("matchPolicy") or "Equivalent",
        "namespaceSelector": match.get("namespaceSelector") or {},
        "objectSelector": match.get("objectSelector") or {},
    }


def validate_match(match: Json, path: str, problems: Problems) -> None:
    validate_label_selector(match.get("namespaceSelector"), f"{path}.namespaceSelector", problems)
    validate_label_selector(match.get("objectSelector"), f"{path}.objectSelector", problems)
    for name in ("resourceRules", "excludeResourceRules"):
        rules = match.get(name) or []
        if len(rules) > RULES_MAX:
            problems.too_many(f"{path}.{name}", len(rules), RULES_MAX)
        for index, rule in enumerate(rules[:RULES_MAX]):
            _validate_rule(rule, f"{path}.{name}[{index}]", problems)


def _validate_rule(rule: Json, path: str, problems: Problems) -> None:
    for name in ("operations", "apiGroups", "apiVersions", "resources"):
        found = rule.get(name) or []
        if not found:
            problems.required(f"{path}.{name}")
        if len(found) > RULES_MAX:
            problems.too_many(f"{path}.{name}", len(found), RULES_MAX)
        if _ALL in found and len(found) > 1 and name != "resources":
            problems.invalid(f"{path}.{name}", found, "if '*' is present, must not specify others")
    if len(rule.get("resourceNames") or ()) > RULES_MAX:
        problems.too_many(f"{path}.resourceNames", len(rule["resourceNames"]), RULES_MAX)
    resources = rule.get("resources") or []
    for index, each in enumerate(resources):
        if not each or each.count("/") > 1 or each.startswith("/") or each.endswith("/"):
            problems.invalid(
                f"{path}.resources[{index}]", each, "must be like pods, pods/status, */scale or *"
            )
    if "*/*" in resources and len(resources) > 1:
        problems.invalid(
            f"{path}.resources", resources, "if '*/*' is present, must not specify other resources"
        )
    if _ALL in resources and any("/" not in each for each in resources if each != _ALL):
        text = "if '*' is present, must not specify other resources without subresources"
        problems.invalid(f"{path}.resources", resources, text)


def validate_changes(match: Json, path: str, problems: Problems) -> None:
    """Of a policy that changes objects: what is deleted or connected to cannot be changed. `*` means the two."""
    for index, rule in enumerate(match.get("resourceRules") or ()):
        for place, each in enumerate(rule.get("operations") or ()):
            if each != _ALL and each not in _CHANGING:
                problems.unsupported(f"{path}.resourceRules[{index}].operations[{place}]", each, _CHANGING)


def validate_params(reference: Json, path: str, problems: Problems) -> None:
    name, selector = reference.get("name") or "", reference.get("selector")
    if bool(name) == (selector is not None):
        text = "one of name and selector must be given, and not both"
        problems.invalid(f"{path}.name", name, text)
    for text in path_segment_problems(name) if name else ():
        problems.invalid(f"{path}.name", name, text)
    validate_label_selector(selector, f"{path}.selector", problems)
    if not reference.get("parameterNotFoundAction"):
        problems.required(f"{path}.parameterNotFoundAction", "Allow or Deny")


def validate_param_kind(kind: Json, path: str, problems: Problems) -> None:
    version = kind.get("apiVersion") or ""
    if not version or version.count("/") > 1:
        problems.invalid(f"{path}.apiVersion", version, "must be like v1 or apps/v1")
    if not kind.get("kind"):
        problems.required(f"{path}.kind")


def validate_policy_name(name: str, problems: Problems) -> None:
    if not name:
        problems.required("spec.policyName")
    for text in subdomain_problems(name) if name else ():
        problems.invalid("spec.policyName", name, text)
