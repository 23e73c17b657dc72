"""A container's variables, and `$(NAME)` in its variables, command and arguments, to kubelet's rules.

    envFrom (later wins) < env, in order, each may use those before it < services, where the name is still free

then POD_IP, POD_NAME, POD_NAMESPACE and HOSTNAME where nobody set them. Called by `launch.py`. A name that cannot be
found raises Missing with words for the container's status.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from fairlead.agent.pod.downward import Surroundings, field_text, resource_text
from fairlead.agent.references import CONFIG_MAP, SECRET, Missing, Reference, ReferenceLibrary
from fairlead.agent.views import BoundContainer, BoundPod
from fairlead.model.views import Json

_REFERENCE = re.compile(r"\$(?:\$|\(([^)]*)\)|.|$)", re.DOTALL)
_KIND_WORD = {CONFIG_MAP: "ConfigMap", SECRET: "Secret"}


def expand(text: str, known: Mapping[str, str]) -> str:
    """`$(NAME)` becomes its value, `$$` a `$`; what is not known stays as it is written."""
    if "$" not in text:
        return text

    def one(found: re.Match[str]) -> str:
        whole = found[0]
        if whole == "$$":
            return "$"
        name = found[1]
        if name is None:
            return whole
        return known.get(name, whole)

    return _REFERENCE.sub(one, text)


def build_environment(
    pod: BoundPod,
    container: BoundContainer,
    around: Surroundings,
    library: ReferenceLibrary,
    services: Iterable[tuple[str, str]],
) -> dict[str, str]:
    """All variables of a container. Raises Missing or Pending."""
    of_services = dict(services)
    given: dict[str, str] = {}
    for group in container.env_from:
        given.update(_group(pod, group, library))
    for variable in container.env:
        name, text = variable.get("name") or "", variable.get("value") or ""
        if text:
            given[name] = expand(text, {**of_services, **given})
        elif variable.get("valueFrom"):
            found = _from_source(pod, container, around, library, variable["valueFrom"])
            if found is not None:
                given[name] = found
        else:
            given[name] = ""
    for name, text in of_services.items():
        given.setdefault(name, text)
    meta = pod.metadata
    for name, text in (
        ("POD_IP", around.address),
        ("POD_NAME", meta.name),
        ("POD_NAMESPACE", meta.namespace),
        ("HOSTNAME", meta.name),
    ):
        given.setdefault(name, text)
    return given


def _group(pod: BoundPod, group: Json, library: ReferenceLibrary) -> dict[str, str]:
    prefix = group.get("prefix") or ""
    for kind, field in ((CONFIG_MAP, "configMapRef"), (SECRET, "secretRef")):
        source = group.get(field)
        if source:
            items = _items(pod, kind, source, library)
            return {prefix + key: _text(value) for key, value in sorted(items.items()) if "=" not in key}
    return {}


def _from_source(
    pod: BoundPod, container: BoundContainer, around: Surroundings, library: ReferenceLibrary, source: Json
) -> str | None:
    """None: it is optional and not there, and the variable is left out."""
    if source.get("fieldRef"):
        return field_text(pod, around, source["fieldRef"].get("fieldPath") or "")
    if source.get("resourceFieldRef"):
        return resource_text(pod, around, source["resourceFieldRef"], container.name)
    for kind, field in ((CONFIG_MAP, "configMapKeyRef"), (SECRET, "secretKeyRef")):
        reference = source.get(field)
        if reference:
            value = _items(pod, kind, reference, library).get(reference.get("key") or "")
            if value is None and not reference.get("optional"):
                where = f"{pod.metadata.namespace}/{reference.get('name')}"
                raise Missing(f"couldn't find key {reference.get('key')} in {_KIND_WORD[kind]} {where}")
            return None if value is None else _text(value)
    raise Missing(f"valueFrom.{next(iter(source), '')} is not supported on this node")


def _items(pod: BoundPod, kind: str, source: Json, library: ReferenceLibrary) -> dict[str, bytes]:
    name = source.get("name") or ""
    items = library.read(pod.metadata.uid, Reference(kind, pod.metadata.namespace, name))
    if items is None:
        if source.get("optional"):
            return {}
        raise Missing(f'{kind} "{name}" not found')
    return items


def _text(value: bytes) -> str:
    return value.decode(errors="replace").replace("\0", "")
