"""An operator in kopf for CronTabs (crontabs.yaml): it keeps a ConfigMap for each, and says so in the status.

    kopf run --standalone -n default examples/testing/crontab_operator.py

Run by `test_with_kopf.py` beside it against a plane of the test's own.
"""

from __future__ import annotations

from typing import Any

import kopf

GROUP = ("stable.example.com", "v1", "crontabs")


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
    settings.posting.loggers = True  # what handlers log about an object becomes an Event of it
    # A timer whose last patch is being repeated is asked again after a second, not a minute, whether it is done.
    settings.background.cancellation_polling = 1
    settings.persistence.finalizer = "stable.example.com/operator"


@kopf.on.login()
def login(**kwargs: Any) -> kopf.ConnectionInfo | None:
    return kopf.login_with_kubeconfig(**kwargs)  # the file that KUBECONFIG names, when the operator starts


@kopf.on.create(*GROUP)
@kopf.on.resume(*GROUP)
def made(spec: kopf.Spec, patch: kopf.Patch, logger: kopf.Logger, reason: str, **_: Any) -> dict[str, Any]:
    logger.info(f"runs {spec['cronSpec']}")
    patch.status["phase"] = "Scheduled"
    return {"reason": str(reason)}


@kopf.on.update(*GROUP, field="spec.replicas")
def scaled(old: int, new: int, patch: kopf.Patch, **_: Any) -> None:
    patch.status["replicas"] = new
    patch.status["scaledFrom"] = old


@kopf.on.field(*GROUP, field="spec.image")
def imaged(new: str | None, patch: kopf.Patch, **_: Any) -> None:
    patch.status["image"] = new


@kopf.on.delete(*GROUP)
def removed(body: kopf.Body, **_: Any) -> None:
    kopf.event(body, type="Normal", reason="Removed", message="goodbye")


@kopf.timer(*GROUP, interval=0.2)
def ticked(status: kopf.Status, patch: kopf.Patch, **_: Any) -> None:
    patch.status["ticks"] = status.get("ticks", 0) + 1
