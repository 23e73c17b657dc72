"""After a conflict nothing is decided on the view that led to it: it would be the same write again."""

from __future__ import annotations

from fairlead.cache.events import Framed, Mirrored
from tests.inprocess import InProcess
from tests.unit.control.driving import Driver
from tests.unit.control.test_plane import DEPLOYMENTS, deployment


class Lagging(Driver):
    """Its mirror of Deployments shows nothing new for as long as `lags`."""

    lags = False

    def _deliver(self) -> bool:
        found = False
        for name, (subscription, attempt) in list(self._follows.items()):
            if self.lags and name == "deployments.apps":
                continue
            for change in self.api.hub.take(subscription):
                found = True
                self.tell(Mirrored(name, (Framed(change.type, change.entry, self.now, attempt),)))
        return found


def test_a_write_that_met_a_newer_version_is_not_repeated_before_that_is_seen() -> None:
    api = InProcess()
    driver = Lagging(api)
    api.post(DEPLOYMENTS, deployment(2))
    driver.run(30)
    driver.lags = True
    api.patch(f"{DEPLOYMENTS}/web", {"metadata": {"annotations": {"of": "somebody"}}})
    before = len(driver.sent)
    for pod in driver.live_pods():  # which the Deployment's status and progress would show
        api.delete(f"/api/v1/namespaces/default/pods/{pod['metadata']['name']}", {"gracePeriodSeconds": 0})
    driver.run(60)
    writes = [each for each in driver.sent[before:] if (each.plural, each.name) == ("deployments", "web")]
    tried = {(each.manager, each.subresource) for each in writes}
    assert tried, "nobody had anything to write"
    assert len(writes) == len(tried), "each controller met the conflict once"
    driver.lags = False
    driver.run(30)
    _, web = api.get(f"{DEPLOYMENTS}/web")
    assert web["status"]["readyReplicas"] == 2
    assert web["status"]["progress"]["ready"] == 2
