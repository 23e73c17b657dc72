"""The short form in which the tables of this folder write rules, roles, users and requests.

get,list pods,pods/log            a rule of the core group
get deployments @apps,extensions  of other groups
get configmaps =one,two           with resourceNames
get ~/metrics,/healthz/*          with nonResourceURLs
ada+devs+ops                      a user and their groups
sa:team:robot                     a service account, with the groups that all of them have
deployments.apps/scale            a resource of a group, with a subresource
"""

from __future__ import annotations

from fairlead.api.access.users import User, service_account_groups, service_account_name
from fairlead.model.kind import Json

GROUP = "rbac.authorization.k8s.io"
SIGNED_IN = "system:authenticated"


def rules(text: str) -> list[Json]:
    """Rules with ; between them."""
    return [_rule(each.split()) for each in text.split(";") if each.strip()]


def _rule(words: list[str]) -> Json:
    verbs, what, *more = words
    if what.startswith("~"):
        return {"verbs": verbs.split(","), "nonResourceURLs": what[1:].split(",")}
    rule: Json = {"verbs": verbs.split(","), "resources": what.split(","), "apiGroups": [""]}
    for word in more:
        if word.startswith("@"):
            rule["apiGroups"] = word[1:].split(",")
        else:
            assert word.startswith("="), word
            rule["resourceNames"] = word[1:].split(",")
    return rule


def role(name: str, text: str, namespace: str = "", labels: dict[str, str] | None = None) -> Json:
    """A Role of a namespace, or a ClusterRole."""
    return {**_object("Role", name, namespace, labels), "rules": rules(text)}


def binding(name: str, reference: str, subjects: list[Json], namespace: str = "") -> Json:
    """`reference`: Role/NAME or ClusterRole/NAME."""
    kind, _, of = reference.partition("/")
    given = {"apiGroup": GROUP, "kind": kind, "name": of}
    return {**_object("RoleBinding", name, namespace, None), "roleRef": given, "subjects": subjects}


def _object(kind: str, name: str, namespace: str, labels: dict[str, str] | None) -> Json:
    metadata: Json = {"name": name, "labels": labels or {}}
    if namespace:
        metadata["namespace"] = namespace
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": kind if namespace else f"Cluster{kind}",
        "metadata": metadata,
    }


def subject(text: str) -> Json:
    """User/NAME, Group/NAME, ServiceAccount/NAME or ServiceAccount/NAMESPACE/NAME."""
    kind, *rest = text.split("/")
    if kind != "ServiceAccount":
        return {"apiGroup": GROUP, "kind": kind, "name": rest[0]}
    named: Json = {"kind": kind, "name": rest[-1]}
    return {**named, "namespace": rest[0]} if len(rest) > 1 else named


def user(text: str) -> User:
    if text.startswith("sa:"):
        _, namespace, name = text.split(":")
        return User(
            service_account_name(namespace, name), groups=(*service_account_groups(namespace), SIGNED_IN)
        )
    name, *groups = text.split("+")
    return User(name, groups=(*groups, SIGNED_IN))


def resource(text: str) -> tuple[str, str, str]:
    """Group, plural, subresource."""
    whole, _, subresource = text.partition("/")
    plural, _, group = whole.partition(".")
    return group, plural, subresource
