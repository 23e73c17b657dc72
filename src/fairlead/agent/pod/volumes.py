"""A pod's volumes as files, and where a container wants them.

Called by `run.py`. configMap, secret, downwardAPI, and projected ones of these and of tokens become files; emptyDir
becomes a directory.
Everything else is refused with words that name the field: a pod that asks for what this node cannot give must not
start without it. Files that cannot be made yet raise Missing (it is not there) or Pending (not read yet).
"""

from __future__ import annotations

from collections.abc import Mapping

from fairlead.agent.contract import Mount, Volume
from fairlead.agent.pod.downward import Surroundings, field_text, resource_text
from fairlead.agent.pod.environment import expand
from fairlead.agent.pod.tokens import PodTokens
from fairlead.agent.references import CONFIG_MAP, SECRET, Missing, Reference, ReferenceLibrary
from fairlead.agent.views import BoundContainer, BoundPod
from fairlead.model.reasons import MOUNT_FAILED
from fairlead.model.views import Json

_MODE = 0o644
_REFUSED = {
    "hostPath": "processes see the machine's own files: give the path itself to the command, "
    "or use an emptyDir",
    "persistentVolumeClaim": "this node has no persistent volumes: use an emptyDir",
}

File = tuple[str, bytes, int]


class Unsupported(Exception):
    """The pod asks for what this node's driver cannot do. It is of no use to try again."""


def volumes(
    pod: BoundPod, around: Surroundings, library: ReferenceLibrary, tokens: PodTokens
) -> tuple[Volume, ...]:
    return tuple(
        _volume(pod, index, each, around, library, tokens) for index, each in enumerate(pod.spec.volumes)
    )


def mounts(pod: BoundPod, container: BoundContainer, known: Mapping[str, str]) -> tuple[Mount, ...]:
    """`known` are the container's variables, for subPathExpr."""
    written = {each.get("name") for each in pod.spec.volumes if "emptyDir" in each}
    made = []
    for mount in container.volume_mounts:
        name = mount.get("name") or ""
        sub_path = mount.get("subPath") or expand(mount.get("subPathExpr") or "", known)
        if sub_path.startswith("/") or ".." in sub_path.split("/"):
            raise Missing(f'subPath "{sub_path}" of volume {name} leads out of the volume')
        read_only = bool(mount.get("readOnly")) or name not in written
        made.append(Mount(name, mount.get("mountPath") or "", sub_path, read_only))
    return tuple(made)


def _volume(
    pod: BoundPod,
    index: int,
    volume: Json,
    around: Surroundings,
    library: ReferenceLibrary,
    tokens: PodTokens,
) -> Volume:
    name = volume.get("name") or ""
    try:
        files = _files(pod, volume, around, library, tokens)
    except Missing as error:
        raise Missing(f'{MOUNT_FAILED} for volume "{name}" : {error}') from None
    except KeyError:
        source = next((key for key in volume if key != "name"), "")
        why = _REFUSED.get(source, "this node has no such volumes")
        raise Unsupported(f"spec.volumes[{index}].{source} is not supported: {why}") from None
    return Volume(name, files)


def _files(
    pod: BoundPod, volume: Json, around: Surroundings, library: ReferenceLibrary, tokens: PodTokens
) -> tuple[File, ...] | None:
    """None: a directory to write to. KeyError: a source that is not supported."""
    if "emptyDir" in volume:
        return None
    if volume.get("configMap"):
        source = volume["configMap"]
        return _keyed(pod, CONFIG_MAP, source, source.get("name"), _mode(source), library)
    if volume.get("secret"):
        source = volume["secret"]
        return _keyed(pod, SECRET, source, source.get("secretName"), _mode(source), library)
    if volume.get("downwardAPI"):
        source = volume["downwardAPI"]
        return _downward(pod, source, _mode(source), around)
    projected = volume["projected"]
    mode = _mode(projected)
    files: dict[str, File] = {}
    for each in projected.get("sources") or ():
        for made in _projection(pod, each, mode, around, library, tokens):
            files[made[0]] = made  # the later source wins
    return tuple(files.values())


def _projection(
    pod: BoundPod, source: Json, mode: int, around: Surroundings, library: ReferenceLibrary, tokens: PodTokens
) -> tuple[File, ...]:
    if source.get("configMap"):
        return _keyed(pod, CONFIG_MAP, source["configMap"], source["configMap"].get("name"), mode, library)
    if source.get("secret"):
        return _keyed(pod, SECRET, source["secret"], source["secret"].get("name"), mode, library)
    if source.get("serviceAccountToken"):
        token = source["serviceAccountToken"]
        return ((token.get("path") or "", tokens.read(pod.metadata.uid, token), mode),)
    return _downward(pod, source["downwardAPI"], mode, around)


def _keyed(
    pod: BoundPod, kind: str, source: Json, name: str | None, mode: int, library: ReferenceLibrary
) -> tuple[File, ...]:
    items = library.read(pod.metadata.uid, Reference(kind, pod.metadata.namespace, name or ""))
    optional = bool(source.get("optional"))
    if items is None:
        if optional:
            return ()
        raise Missing(f'{kind} "{name}" not found')
    wanted = source.get("items")
    if not wanted:
        return tuple((key, items[key], mode) for key in sorted(items))
    files = []
    for each in wanted:
        value = items.get(each.get("key") or "")
        if value is not None:
            files.append((each.get("path") or "", value, _own_mode(each, mode)))
        elif not optional:
            raise Missing(f"{kind} references non-existent config key: {each.get('key')} of {name}")
    return tuple(files)


def _downward(pod: BoundPod, source: Json, mode: int, around: Surroundings) -> tuple[File, ...]:
    files = []
    for each in source.get("items") or ():
        if each.get("fieldRef"):
            text = field_text(pod, around, each["fieldRef"].get("fieldPath") or "")
        else:
            text = resource_text(pod, around, each.get("resourceFieldRef") or {}, "")
        files.append((each.get("path") or "", text.encode(), _own_mode(each, mode)))
    return tuple(files)


def _mode(source: Json) -> int:
    mode = source.get("defaultMode")
    return _MODE if mode is None else int(mode)


def _own_mode(item: Json, mode: int) -> int:
    own = item.get("mode")
    return mode if own is None else int(own)
