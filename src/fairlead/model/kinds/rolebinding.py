"""RoleBinding and ClusterRoleBinding (rbac.authorization.k8s.io/v1): who has a role, in a namespace or everywhere.

Read by `model/catalog.py`. Whom a subject means is in `api/access/rbac/subjects.py`.
"""

from __future__ import annotations

from fairlead.core.problems import Problems
from fairlead.model.cells import AGE
from fairlead.model.kind import Cell, Column, Json, Kind
from fairlead.model.kinds.role import CLUSTER_ROLE, GROUP, ROLE, VERSION
from fairlead.model.kinds.workload import part
from fairlead.model.names import path_segment_problems, subdomain_problems

USER, USER_GROUP, SERVICE_ACCOUNT = "User", "Group", "ServiceAccount"


def _defaults(binding: Json) -> None:
    reference = binding.get("roleRef")
    if isinstance(reference, dict) and not reference.get("apiGroup"):
        binding["roleRef"] = {**reference, "apiGroup": GROUP}
    subjects = binding.get("subjects")
    if subjects:
        binding["subjects"] = [_with_group(subject) for subject in subjects]


def _with_group(subject: Json) -> Json:
    if subject.get("apiGroup") or subject.get("kind") not in (USER, USER_GROUP):
        return subject
    return {**subject, "apiGroup": GROUP}


def _validate(binding: Json, problems: Problems, roles: tuple[str, ...], namespaced: bool) -> None:
    reference = part(binding, "roleRef")
    if reference.get("apiGroup") != GROUP:
        problems.unsupported("roleRef.apiGroup", reference.get("apiGroup") or "", (GROUP,))
    if reference.get("kind") not in roles:
        problems.unsupported("roleRef.kind", reference.get("kind") or "", roles)
    name = reference.get("name") or ""
    if not name:
        problems.required("roleRef.name")
    for text in path_segment_problems(name) if name else ():
        problems.invalid("roleRef.name", name, text)
    for index, subject in enumerate(binding.get("subjects") or ()):
        _validate_subject(subject, f"subjects[{index}]", namespaced, problems)


def _validate_subject(subject: Json, path: str, namespaced: bool, problems: Problems) -> None:
    name, group = subject.get("name") or "", subject.get("apiGroup") or ""
    if not name:
        problems.required(f"{path}.name")
    kind = subject.get("kind")
    if kind == SERVICE_ACCOUNT:
        for text in subdomain_problems(name) if name else ():
            problems.invalid(f"{path}.name", name, text)
        if group:
            problems.unsupported(f"{path}.apiGroup", group, ("",))
        if not namespaced and not subject.get("namespace"):
            problems.required(f"{path}.namespace")
    elif kind in (USER, USER_GROUP):
        if group != GROUP:
            problems.unsupported(f"{path}.apiGroup", group, (GROUP,))
    else:
        problems.unsupported(f"{path}.kind", kind or "", (SERVICE_ACCOUNT, USER, USER_GROUP))


def _validate_role_binding(binding: Json, problems: Problems) -> None:
    _validate(binding, problems, (ROLE.kind, CLUSTER_ROLE.kind), True)


def _validate_cluster_role_binding(binding: Json, problems: Problems) -> None:
    _validate(binding, problems, (CLUSTER_ROLE.kind,), False)


def _validate_update(new: Json, old: Json, problems: Problems) -> None:
    if new.get("roleRef") != old.get("roleRef"):
        problems.invalid("roleRef", new.get("roleRef"), "cannot change roleRef")


def _role(binding: Json, now: float) -> Cell:
    reference = part(binding, "roleRef")
    return f"{reference.get('kind', '')}/{reference.get('name', '')}"


def _names_of(kind: str) -> Column:
    def cell(binding: Json, now: float) -> Cell:
        found = [each for each in binding.get("subjects") or () if each.get("kind") == kind]
        if kind == SERVICE_ACCOUNT:
            return ", ".join(f"{each.get('namespace', '')}/{each.get('name', '')}" for each in found)
        return ", ".join(str(each.get("name", "")) for each in found)

    return Column(f"{kind}s", cell, priority=1)


_COLUMNS = (
    Column("Role", _role),
    AGE,
    _names_of(USER),
    _names_of(USER_GROUP),
    _names_of(SERVICE_ACCOUNT),
)

ROLE_BINDING = Kind(
    group=GROUP,
    version=VERSION,
    kind="RoleBinding",
    plural="rolebindings",
    namespaced=True,
    schema="RoleBinding",
    name_rule="path-segment",
    generation=False,
    columns=_COLUMNS,
    defaults=_defaults,
    validate=_validate_role_binding,
    validate_update=_validate_update,
)
CLUSTER_ROLE_BINDING = Kind(
    group=GROUP,
    version=VERSION,
    kind="ClusterRoleBinding",
    plural="clusterrolebindings",
    namespaced=False,
    schema="ClusterRoleBinding",
    name_rule="path-segment",
    generation=False,
    columns=_COLUMNS,
    defaults=_defaults,
    validate=_validate_cluster_role_binding,
    validate_update=_validate_update,
)
