"""What a pod asks of the walls around it, against what its node has: refused where it asks for more.

Pure; used by `launch.py` before every start. A node says what it isolates in its labels (`labels`), as found out on its
machine. A wall that is asked for and not there is a reason not to start: nobody should believe in one that is missing.
"""

from __future__ import annotations

from collections.abc import Iterator

from fairlead.agent.contract import Isolation
from fairlead.agent.views import BoundContainer, BoundPod
from fairlead.ledger.isolation_needs import (
    adds_privileges,
    drops_though_it_escalates,
    groups_of,
    is_kept_from,
    written_volumes,
)
from fairlead.model.marks import (
    AGENT_GROUP,
    AGENT_USER,
    ISOLATES_MOUNTS,
    ISOLATES_PIDS,
    ISOLATES_PROCESSES,
    ISOLATES_USERS,
)
from fairlead.model.views import SecurityContext

_NAMES = (
    "CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE NET_BIND_SERVICE "
    "NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT SYS_PTRACE SYS_PACCT SYS_ADMIN "
    "SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL SETFCAP MAC_OVERRIDE "
    "MAC_ADMIN SYSLOG WAKE_ALARM BLOCK_SUSPEND AUDIT_READ PERFMON BPF CHECKPOINT_RESTORE"
)
CAPABILITIES = {name: number for number, name in enumerate(_NAMES.split())}  # as the kernel numbers them
# Those that container runtimes leave to root, without MKNOD: there is no list of devices here that would bound it.
_USUAL = (
    "AUDIT_WRITE CHOWN DAC_OVERRIDE FOWNER FSETID KILL NET_BIND_SERVICE NET_RAW SETFCAP SETGID SETPCAP SETUID "
    "SYS_CHROOT"
)
_ALL = "ALL"


def labels(isolation: Isolation) -> dict[str, str]:
    """For the Node: a pod may choose by them."""
    held = (
        (ISOLATES_MOUNTS, isolation.mounts),
        (ISOLATES_USERS, isolation.users),
        (ISOLATES_PROCESSES, isolation.processes),
        (ISOLATES_PIDS, isolation.pids),
    )
    told = {name: "true" if there else "false" for name, there in held}
    if not isolation.users and isolation.user is not None and isolation.group is not None:
        told |= {AGENT_USER: str(isolation.user), AGENT_GROUP: str(isolation.group)}
    return told


def capabilities(context: SecurityContext) -> int:
    """A mask of what may be left to its processes. KeyError for a name that no kernel knows."""
    if context.privileged:
        return _mask(CAPABILITIES)
    asked = context.capabilities or {}
    drop, add = _plain(asked.get("drop")), _plain(asked.get("add"))
    kept = set() if _ALL in drop else set(_USUAL.split()) - drop
    kept |= set(CAPABILITIES) if _ALL in add else add
    return _mask(kept)


def list_refusals(pod: BoundPod, container: BoundContainer, path: str, isolation: Isolation) -> Iterator[str]:
    """What of it this node cannot give, each with the fix. `path` of the container in the spec."""
    own, whole = container.security_context, pod.spec.security_context
    for where, context in ((f"{path}.securityContext", own), ("spec.securityContext", whole)):
        for field, profile in (
            ("seccompProfile", context.seccomp_profile),
            ("appArmorProfile", context.app_armor_profile),
        ):
            if profile and profile.get("type") != "Unconfined":
                yield f"{where}.{field}: this node has no such profiles: remove it, or say type: Unconfined"
        if context.se_linux_options:
            yield f"{where}.seLinuxOptions: this node has no SELinux: remove it"
        if not isolation.users:
            yield from _of_users(where, context, isolation)
    if whole.sysctls:
        yield "spec.securityContext.sysctls: pods of this node share its kernel settings: remove it"
    if pod.spec.host_users is False:
        yield "spec.hostUsers: pods of this node share its users: remove it"
    if not isolation.mounts:
        yield from _of_mounts(pod, container, path)
    try:
        capabilities(own)
    except KeyError as error:
        yield f"{path}.securityContext.capabilities: there is no capability {error}: correct its name"


def _of_users(where: str, context: SecurityContext, isolation: Isolation) -> Iterator[str]:
    fix = f"the agent of this node runs as user {isolation.user}, not as root: remove it, or run the agent as root"
    if context.run_as_user not in (None, isolation.user):
        yield f"{where}.runAsUser {context.run_as_user}: {fix}"
    groups = groups_of(context) - {isolation.group}
    if groups:
        yield f"{where}: groups {', '.join(map(str, sorted(groups)))}: {fix}"
    if adds_privileges(context):
        yield f"{where}: privileged and capabilities.add: {fix}"
    if drops_though_it_escalates(context):
        yield f"{where}: capabilities.drop beside allowPrivilegeEscalation: {fix}"


def _of_mounts(pod: BoundPod, container: BoundContainer, path: str) -> Iterator[str]:
    why = "containers of this node have no files of their own"
    if container.security_context.read_only_root_filesystem:
        yield f"{path}.securityContext.readOnlyRootFilesystem: {why}: remove it"
    written = written_volumes(pod.spec.volumes)
    for index, mount in enumerate(container.volume_mounts):
        if is_kept_from(mount, written):
            yield f"{path}.volumeMounts[{index}].readOnly: {why}: remove it, or use a configMap or secret"


def _plain(names: list[str] | None) -> set[str]:
    return {name.upper().removeprefix("CAP_") for name in names or ()}


def _mask(names: set[str] | dict[str, int]) -> int:
    return sum(1 << CAPABILITIES[name] for name in names)
