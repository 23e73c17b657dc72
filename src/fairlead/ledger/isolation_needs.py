"""What a pod asks of the walls around it, as far as nodes differ in them: users of its own, files of its own.

Shared by the scheduler, which keeps such a pod from nodes that say they have no such wall (`fairlead.dev/isolates-*`),
and by the agent, which refuses it before a start, field by field (`agent/pod/isolation.py`). Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from fairlead.model.kind import Json
from fairlead.model.views import Container, PodSpec, SecurityContext


class Walls(NamedTuple):
    users: tuple[int, ...] = ()  # whose processes its own are to be
    groups: tuple[int, ...] = ()
    privileges: bool = False  # capabilities beyond those of the node's agent, or fewer though it may escalate
    files: bool = False  # something of what it sees is to be read-only


NONE = Walls()


def escalates(context: SecurityContext) -> bool:
    return context.allow_privilege_escalation is True or context.privileged is True


def groups_of(context: SecurityContext) -> set[int]:
    return {
        each
        for each in (context.run_as_group, context.fs_group, *context.supplemental_groups)
        if each is not None
    }


def adds_privileges(context: SecurityContext) -> bool:
    return bool(context.privileged or (context.capabilities or {}).get("add"))


def drops_though_it_escalates(context: SecurityContext) -> bool:
    return bool((context.capabilities or {}).get("drop")) and escalates(context)


def written_volumes(volumes: Iterable[Json]) -> set[str]:
    """Those that a container could write to, if nothing kept it from that."""
    return {str(volume.get("name")) for volume in volumes if "emptyDir" in volume}


def is_kept_from(mount: Json, written: set[str]) -> bool:
    return bool(mount.get("readOnly")) and mount.get("name") in written


def walls_of(spec: PodSpec) -> Walls:
    containers = (*spec.init_containers, *spec.containers)
    contexts = [spec.security_context, *(each.security_context for each in containers)]
    asked = [each for each in contexts if each is not None]
    written = written_volumes(spec.volumes)
    files = any(_asks_for_files(each, written) for each in containers)
    if not asked and not files:
        return NONE
    users = {each.run_as_user for each in asked if each.run_as_user is not None}
    return Walls(
        tuple(sorted(users)),
        tuple(sorted({group for each in asked for group in groups_of(each)})),
        any(adds_privileges(each) or drops_though_it_escalates(each) for each in asked),
        files,
    )


def _asks_for_files(container: Container, written: set[str]) -> bool:
    context = container.security_context
    return (context is not None and bool(context.read_only_root_filesystem)) or any(
        is_kept_from(each, written) for each in container.volume_mounts
    )
