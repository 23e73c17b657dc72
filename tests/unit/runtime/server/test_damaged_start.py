"""A server starts on a store in which everything is damaged: what learns from objects as it begins goes on without them."""

from __future__ import annotations

import asyncio
import copy
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from fairlead.core.errors import FairleadError
from fairlead.model.key import Key
from fairlead.model.views import LEASES, OVERRIDES
from fairlead.runtime.server.unled import Unled
from fairlead.testing import Plane, plane
from tests.inprocess import InProcess
from tests.samples import SAMPLES
from tests.unit.api.test_damaged import rot
from tests.unit.reconcile.runbooks.book_world import BOOK
from tests.unit.runtime.server.test_run_meter import Host

_MADE = {"AccessGrant", "CertificateSigningRequest", "PriorityClass", "RunbookRun", "SchedulerOverride"}
_OVERRIDE = SAMPLES["SchedulerOverride"]
_LEASE: dict[str, Any] = {
    "apiVersion": "coordination.k8s.io/v1",
    "kind": "Lease",
    "metadata": {"name": "fairlead-plane"},
    "spec": {"leaseDurationSeconds": 15},
}


def _make(p: Plane) -> set[str]:
    """The sample of each kind that can be made so; which."""
    p.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    made = set()
    samples = copy.deepcopy(SAMPLES)
    samples["Runbook"]["spec"] = {**BOOK, "metrics": [{"name": "depth", "metric": "fairlead_store_pending"}]}
    for kind in sorted(samples):
        try:
            p.create(samples[kind])
            made.add(kind)
        except FairleadError:
            continue
    return made


def _damage(store: Path) -> None:
    with sqlite3.connect(store) as database:
        for row, data in database.execute("select rowid, data from log").fetchall():
            flipped = data[:-3] + bytes([data[-3] ^ 1]) + data[-2:]
            database.execute("update log set data = ? where rowid = ?", (flipped, row))
    database.close()


def test_it_starts_and_nothing_of_it_fails(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with plane(controllers=False, data_dir=tmp_path) as p:
        assert _make(p) >= _MADE
    _damage(tmp_path / "store.db")
    with plane(controllers=False, data_dir=tmp_path) as p:
        (made,) = p.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "new"}})
        assert made["metadata"]["name"] == "new"
    assert [each.getMessage() for each in caplog.records if each.exc_info] == []


def test_what_looks_again_and_again_goes_on_without_what_is_damaged() -> None:
    there = InProcess()
    for resource, plural, namespace, sample in (
        ("accessgrants.fairlead.dev", "apis/fairlead.dev/v1/accessgrants", "", SAMPLES["AccessGrant"]),
        (OVERRIDES.name, "apis/fairlead.dev/v1/namespaces/default/scheduleroverrides", "default", _OVERRIDE),
        (LEASES.name, "apis/coordination.k8s.io/v1/namespaces/kube-system/leases", "kube-system", _LEASE),
    ):
        status, answer = there.post(f"/{plural}", copy.deepcopy(sample))
        assert status == 201, answer
        rot(there, Key(resource, namespace, sample["metadata"]["name"]))

    async def look() -> None:
        from fairlead.runtime.server.granting import Granting  # not the first of the API to be imported

        host: Any = Host(there)
        granting = Granting(host, there.journal, lambda: there.now)
        granting.learn_all()
        await granting.look()
        await Unled(host, lambda: there.now).look()

    asyncio.run(look())
