"""What a pod asks for and a plain process of the machine does not get, in words for whoever asked. Used by `pod.py`,
which tells it once, as Warnings among the pod's Events: nobody should believe in a wall that is not there."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fairlead.agent.views import BoundPod, Container, SecurityContext

_Rules = tuple[tuple[str, Callable[[SecurityContext], bool]], ...]

NO_IMAGE = "process"  # the name of no image
_EITHER: _Rules = (
    ("seccompProfile", lambda asked: bool(asked.seccomp_profile)),
    ("appArmorProfile", lambda asked: bool(asked.app_armor_profile)),
    ("seLinuxOptions", lambda asked: bool(asked.se_linux_options)),
)
_OF_CONTAINER: _Rules = (
    ("capabilities", lambda asked: bool(asked.capabilities)),
    ("privileged", lambda asked: asked.privileged is True),
    ("readOnlyRootFilesystem", lambda asked: asked.read_only_root_filesystem is True),
    *_EITHER,
)
_OF_POD: _Rules = (
    ("sysctls", lambda asked: bool(asked.sysctls)),
    *_EITHER,
)


def unheeded(pod: BoundPod, name: str) -> Iterator[tuple[str, str]]:
    """Reason and message of each Warning about the container of this name."""
    for container in pod.all_containers:
        if container.name == name:
            yield from _warnings(pod, container)


def _warnings(pod: BoundPod, container: Container) -> Iterator[tuple[str, str]]:
    if container.image not in ("", NO_IMAGE):
        yield (
            "ImageIgnored",
            f'Image "{container.image}" is not used: this node runs the command as a process of its machine '
            f'(image "{NO_IMAGE}" says that this is meant)',
        )
    fields = [f"securityContext.{name}" for name in _asked(container.security_context, _OF_CONTAINER)]
    fields += [f"spec.securityContext.{name}" for name in _asked(pod.spec.security_context, _OF_POD)]
    fields += [
        f"spec.volumes[{index}].emptyDir.sizeLimit"
        for index, volume in enumerate(pod.spec.volumes)
        if (volume.get("emptyDir") or {}).get("sizeLimit")
    ]
    if fields:
        yield "NotEnforced", f"Not enforced on this node, which runs plain processes: {', '.join(fields)}"


def _asked(context: SecurityContext, rules: _Rules) -> list[str]:
    return [name for name, asks in rules if asks(context)]
