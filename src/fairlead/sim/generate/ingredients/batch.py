"""Jobs and CronJobs. Minutes begin 60 s after a world does, so a CronJob makes its world longer; people end it."""

from __future__ import annotations

from fairlead.sim.generate.contract import Ingredient, Setting, Thing, thing_of
from fairlead.sim.generate.draw import Draw
from fairlead.sim.generate.ingredients.templates import manifest, template
from fairlead.sim.generate.people import DELETE, EVICT, RECREATE, set_fields
from fairlead.sim.scenario import Json

_SUSPEND = set_fields("suspend", {"spec": {"suspend": True}})
_PARALLEL = set_fields("change parallelism", {"spec": {"parallelism": 0}}, {"spec": {"parallelism": 3}})
UNTIL = 66.0


def _spec(draw: Draw, setting: Setting, name: str) -> Json:
    made = template(draw, setting, name, draw.one_of("runs for", ("1s", "4s")))
    made["spec"]["restartPolicy"] = draw.one_of("restarts", ("Never", "OnFailure"))
    spec: Json = {"template": made, "completions": 1 + draw.below("completions", 3)}
    spec["parallelism"] = 1 + draw.below("parallelism", 2)
    if draw.happens("indexed", 0.3):
        spec["completionMode"] = "Indexed"
    if draw.happens("forgotten", 0.2):
        spec["ttlSecondsAfterFinished"] = draw.one_of("ttl", (0, 5))
    return spec


def _job(draw: Draw, setting: Setting, name: str) -> tuple[Thing, ...]:
    made = manifest("batch/v1", "Job", name, setting.namespace, spec=_spec(draw, setting, name))
    return (thing_of(made, DELETE, RECREATE, EVICT, _PARALLEL),)


def _cronjob(draw: Draw, setting: Setting, name: str) -> tuple[Thing, ...]:
    spec: Json = {
        "schedule": "* * * * *",
        "concurrencyPolicy": draw.one_of("concurrency", ("Allow", "Forbid", "Replace")),
        "jobTemplate": {"spec": _spec(draw, setting, name)},
    }
    if draw.happens("history", 0.5):
        spec["successfulJobsHistoryLimit"] = draw.below("jobs kept", 2)
    if draw.happens("deadline", 0.3):
        spec["startingDeadlineSeconds"] = 20
    made = manifest("batch/v1", "CronJob", name, setting.namespace, spec=spec)
    return (thing_of(made, _SUSPEND, DELETE),)


INGREDIENTS = (
    Ingredient("Job", _job, weight=3, contends=True),
    Ingredient("CronJob", _cronjob, weight=1, contends=True, last_seconds=UNTIL),
)
