"""Pod templates: what Deployments, Jobs and the other owners of pods embed.

The owners' modules in `model/kinds/` call these; the work is in `defaults.py` and `validation.py`, which serve pods as
well. A template differs from a pod in little: some defaults wait until the pod exists, and a template may not name
ephemeral containers. Pure functions over JSON trees; nothing here reads a store.
"""

from __future__ import annotations

from fairlead.core.problems import Problems
from fairlead.model.kind import Json
from fairlead.model.kinds.pod.defaults import default_pod_spec
from fairlead.model.kinds.pod.validation import validate_pod_spec
from fairlead.model.metadata import validate_annotations, validate_labels

__all__ = ["default_pod_spec", "validate_pod_spec", "validate_pod_template"]


def validate_pod_template(template: Json, path: str, problems: Problems) -> None:
    """A PodTemplateSpec at `path`. Paths of labels leave `metadata` out, as Kubernetes' do."""
    metadata = template.get("metadata") or {}
    validate_labels(metadata.get("labels"), f"{path}.labels", problems)
    validate_annotations(metadata.get("annotations"), f"{path}.annotations", problems)
    spec = template.get("spec") or {}
    spec_path = f"{path}.spec"
    validate_pod_spec(spec, spec_path, problems)
    if spec.get("ephemeralContainers"):
        problems.forbidden(
            f"{spec_path}.ephemeralContainers", "ephemeral containers not allowed in pod template"
        )
