"""What an override would lead to, seen before it is made: run in a process of its own, bounded in time, kept with it.

`fairlead override` calls `foresee` for each override that it makes; `--dry-run` prints what was found in full. A
preview that fails or takes too long keeps nobody from acting: the override says so in `spec.preview`, and with it the
audit log.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairlead.core.errors import FairleadError
from fairlead.model.kinds import override_preview as kept

if TYPE_CHECKING:
    from fairlead.sim.preview.change import ProposedChange
    from fairlead.sim.preview.difference import PreviewDifference

Json = dict[str, Any]
#: bound: plane | `fairlead override` looks ahead before it makes one for | it is made, and says so
PREVIEW_SECONDS = 10.0
#: bound: plane | how far the preview of an override looks ahead | told as not settled
FORESEEN_SECONDS = 300.0


def foresee(
    kubeconfig: Path | None, made: Json, seconds: float | None
) -> tuple[PreviewDifference | None, Json]:
    """What would come of an override that the server would take, and what it is to keep of that."""
    from fairlead.runtime.forks import ForkDied, in_one_fork

    try:
        found = in_one_fork(lambda: _look_ahead(kubeconfig, made), seconds)
    except FairleadError as error:
        return None, {"outcome": kept.FAILED, "message": _cut(str(error))}
    if found is None:
        return None, {"outcome": kept.TOO_SLOW, "message": f"it took longer than {seconds:g} s"}
    if isinstance(found, ForkDied):
        return None, {"outcome": kept.FAILED, "message": f"its process ended with {found.how}"}
    return found, preview_of(found)


def preview_of(found: PreviewDifference) -> Json:
    """What an override keeps: the sums, and the workloads and zones most concerned."""
    concerned = [each for each in found.workloads if each.moved or each.pending > each.pending_before]
    concerned.sort(key=lambda each: (each.pending_before - each.pending, -each.moved))
    told: Json = {
        "outcome": kept.MADE,
        "revision": str(found.revision),
        "settled": found.settled,
        "seconds": found.seconds,
        "moved": sum(each.moved for each in found.workloads),
        "pending": found.pending,
    }
    if concerned:
        told["workloads"] = [
            {
                "namespace": each.namespace,
                "workload": each.workload,
                "moved": each.moved,
                "pending": max(0, each.pending - each.pending_before),
                "readyLeast": each.ready_least,
                "readyAfter": each.ready_after,
            }
            for each in concerned[: kept.LISTED_MAX]
        ]
    if len(concerned) > kept.LISTED_MAX:
        told["more"] = len(concerned) - kept.LISTED_MAX
    if found.room:
        told["room"] = [
            {"zone": each.zone, "resource": each.resource, "without": each.without, "after": each.after}
            for each in found.room[: kept.LISTED_MAX]
        ]
    return told


def _look_ahead(kubeconfig: Path | None, made: Json) -> PreviewDifference:
    import gc

    gc.disable()  # what is made here lives as long as this process
    from fairlead.cli.client import connect
    from fairlead.cli.live_state import read_live
    from fairlead.model.kinds.scheduleroverride import seconds_of
    from fairlead.sim.preview.preview import preview

    with closing(connect(kubeconfig)) as client:
        state = read_live(client).state
    until = min(FORESEEN_SECONDS, seconds_of(made["spec"]["expiresAfter"]))
    return preview(state, change_of(made), until)


def change_of(made: Json) -> ProposedChange:
    """The override, and the second person's approval where it needs one: what is foreseen is what it leads to then."""
    from fairlead.core import codec
    from fairlead.port.request import MERGE_PATCH, Request
    from fairlead.sim.preview.change import ProposedChange

    meta, spec = made["metadata"], made["spec"]
    asked = {
        "apiVersion": made["apiVersion"],
        "kind": made["kind"],
        "metadata": {"name": meta["name"], "namespace": meta["namespace"]},
        "spec": spec,
    }
    where = ("fairlead.dev", "v1", "scheduleroverrides", meta["namespace"])
    ask = Request("create", *where, body=codec.encode(asked))
    then: tuple[Request, ...] = ()
    if spec.get("approval"):
        approved = {"type": "Approved", "status": "True", "reason": "Approved", "message": "approved"}
        body = codec.encode({"status": {"conditions": [approved]}})
        then = (
            Request(
                "patch", *where, meta["name"], subresource="approval", body=body, content_type=MERGE_PATCH
            ),
        )
    return ProposedChange((ask,), then=then, told=f"override of {spec['target']}")


def _cut(text: str) -> str:
    return text.encode()[: kept.TEXT_MAX].decode(errors="ignore")
