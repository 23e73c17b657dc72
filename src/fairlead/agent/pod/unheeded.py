"""What a pod asks for and a plain process of the machine does not get, in words for whoever asked. Used by `worker.py`,
which tells it once, as Warnings among the pod's Events. Walls that are missing are not here: a pod that asks for one is
not started (`isolation.py`)."""

from __future__ import annotations

from collections.abc import Iterator

from fairlead.agent.views import BoundContainer, BoundPod

NO_IMAGE = "process"  # the name of no image


def warn_of_unheeded(pod: BoundPod, name: str) -> Iterator[tuple[str, str]]:
    """Reason and message of each Warning about the container of this name."""
    for container in pod.all_containers:
        if container.name == name:
            yield from _warnings(pod, container)


def _warnings(pod: BoundPod, container: BoundContainer) -> Iterator[tuple[str, str]]:
    if container.image not in ("", NO_IMAGE):
        yield (
            "ImageIgnored",
            f'Image "{container.image}" is not used: this node runs the command as a process of its machine '
            f'(image "{NO_IMAGE}" says that this is meant)',
        )
    fields = [
        f"spec.volumes[{index}].emptyDir.sizeLimit"
        for index, volume in enumerate(pod.spec.volumes)
        if (volume.get("emptyDir") or {}).get("sizeLimit")
    ]
    if fields:
        yield "NotEnforced", f"Not enforced on this node, which runs plain processes: {', '.join(fields)}"
