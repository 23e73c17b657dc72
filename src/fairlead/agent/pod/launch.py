"""All it takes to start a container once: arguments, variables, mounts, limits, user.

Called by `run.py` just before a Start, so that each start reads what is true then. Raises Missing, Pending or
Unsupported where the container cannot be started as its spec says, with words for its status.
"""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.agent.contract import ContainerRun, Isolation
from fairlead.agent.pod.downward import Surroundings
from fairlead.agent.pod.environment import build_environment, expand
from fairlead.agent.pod.isolation import capabilities, list_refusals
from fairlead.agent.pod.volumes import Unsupported, mounts
from fairlead.agent.references import Missing, ReferenceLibrary
from fairlead.agent.views import BoundContainer, BoundPod, ProbeSpec
from fairlead.core import quantity
from fairlead.ledger.isolation_needs import escalates


def launch(
    pod: BoundPod,
    container: BoundContainer,
    attempt: int,
    around: Surroundings,
    library: ReferenceLibrary,
    services: Iterable[tuple[str, str]],
) -> ContainerRun:
    check_supported(pod, container, around.isolation)
    variables = build_environment(pod, container, around, library, services)
    argv = tuple(expand(each, variables) for each in (*container.command, *container.args))
    if any("\0" in each for each in argv):
        raise Missing("command and args must not contain a zero byte")
    own, whole = container.security_context, pod.spec.security_context
    user = own.run_as_user if own.run_as_user is not None else whole.run_as_user
    non_root = own.run_as_non_root if own.run_as_non_root is not None else whole.run_as_non_root
    if non_root and (around.user if user is None else user) == 0:
        path = f"{container_path(pod, container)}.securityContext"
        raise Missing(f"container has runAsNonRoot and would run as root: give {path}.runAsUser another user")
    return ContainerRun(
        name=container.name,
        attempt=attempt,
        argv=argv,
        environment=tuple(variables.items()),
        working_directory=container.working_dir,
        mounts=mounts(pod, container, variables),
        user=user,
        group=own.run_as_group if own.run_as_group is not None else whole.run_as_group,
        cpu_millis=_limit(container, "cpu", milli=True),
        memory_bytes=_limit(container, "memory"),
        groups=tuple(sorted(set(whole.supplemental_groups))),
        escalates=escalates(own),
        capabilities=capabilities(own) if around.isolation.users else None,
        read_only_root=bool(own.read_only_root_filesystem),
    )


def check_supported(pod: BoundPod, container: BoundContainer, isolation: Isolation) -> None:
    """Raises Unsupported where the spec asks for what the process driver does not do, or for more than keeps pods apart
    on this node."""
    path = container_path(pod, container)
    missing = tuple(list_refusals(pod, container, path, isolation))
    if missing:
        raise Unsupported(f"it asks for more than this node isolates: {'; '.join(missing)}")
    if not container.command and not container.args:
        raise Unsupported(f"the process driver runs no images: give {path}.command")
    probes = (
        ("startupProbe", container.startup_probe),
        ("readinessProbe", container.readiness_probe),
        ("livenessProbe", container.liveness_probe),
    )
    for field, probe in probes:
        if probe is not None and not _has_handler(probe):
            raise Unsupported(
                f"{path}.{field}.grpc is not supported on this node: use exec, httpGet or tcpSocket"
            )
    for field, hook in (
        ("postStart", container.lifecycle.post_start),
        ("preStop", container.lifecycle.pre_stop),
    ):
        if hook is None:
            continue
        if field == "postStart" or not ("exec" in hook or "sleep" in hook):
            kinds = "exec or sleep" if field == "preStop" else "an init container or a startupProbe"
            given = next(iter(hook), "")
            raise Unsupported(f"{path}.lifecycle.{field}.{given} is not supported on this node: use {kinds}")


def container_path(pod: BoundPod, container: BoundContainer) -> str:
    for field, listed in (("containers", pod.spec.containers), ("initContainers", pod.spec.init_containers)):
        for index, each in enumerate(listed):
            if each.name == container.name:
                return f"spec.{field}[{index}]"
    return f"container {container.name}"


def stop_command(container: BoundContainer | None) -> tuple[str, ...]:
    """What preStop runs; nothing for hooks that are refused at the start."""
    hook = (container.lifecycle.pre_stop if container is not None else None) or {}
    if hook.get("exec"):
        return tuple(hook["exec"].get("command") or ())
    if hook.get("sleep"):
        return ("sleep", str(int(hook["sleep"].get("seconds") or 0)))
    return ()


def _has_handler(probe: ProbeSpec) -> bool:
    return probe.exec is not None or probe.http_get is not None or probe.tcp_socket is not None


def _limit(container: BoundContainer, resource: str, *, milli: bool = False) -> int:
    amount = container.resources.limits.get(resource)
    if amount is None:
        return 0
    parsed = quantity.from_json(amount)
    return parsed.milli() if milli else parsed.value()
