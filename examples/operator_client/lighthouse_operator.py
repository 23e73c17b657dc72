"""An operator with the plain `kubernetes` client: each Lighthouse (lighthouses.yaml) has `spec.lamps` ConfigMaps.

It works on what it listed last, as operators do that keep a cache, and lists again every few turns. `Operator` names each
lamp after its place. `HastyOperator` lets the API name them and believes its cache: a lamp whose creation was done though no
answer came is not in there, so it lights another. `test_operator.py` beside this runs both against an API that loses
answers.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from kubernetes import client
from kubernetes.client.exceptions import ApiException
from urllib3.exceptions import HTTPError

KIND = ("example.com", "v1", "default", "lighthouses")
LABEL = "example.com/lighthouse"
_RESYNC_TURNS = 4


class Operator:
    def __init__(self, api: client.ApiClient) -> None:
        self._houses, self._maps = client.CustomObjectsApi(api), client.CoreV1Api(api)
        self._turns = 0
        self._wanted: dict[str, int] = {}
        self._lamps: list[Any] = []

    def turn(self) -> None:
        """One look at the cache, and what follows from it. What fails is tried in the next turn."""
        try:
            if self._turns % _RESYNC_TURNS == 0:
                self._list()
            self._turns += 1
            for house, number in self._wanted.items():
                self._light(house, number)
        except (ApiException, HTTPError):
            return

    def _list(self) -> None:
        houses = self._houses.list_namespaced_custom_object(*KIND)["items"]
        self._wanted = {each["metadata"]["name"]: each["spec"]["lamps"] for each in houses}
        self._lamps = self._maps.list_namespaced_config_map("default", label_selector=LABEL).items

    def _light(self, house: str, number: int) -> None:
        seen = {each.metadata.name for each in self._lamps}
        for name in (f"{house}-{place}" for place in range(number)):
            if name not in seen:
                self._create({"name": name, "labels": {LABEL: house}})

    def _create(self, metadata: dict[str, Any]) -> None:
        try:
            made = self._maps.create_namespaced_config_map("default", {"metadata": metadata})
        except ApiException as error:
            if error.status != 409:  # it is there, whoever's answer was lost
                raise
        else:
            self._lamps.append(made)


class HastyOperator(Operator):
    def _light(self, house: str, number: int) -> None:
        seen = Counter(each.metadata.labels[LABEL] for each in self._lamps)
        for _ in range(number - seen[house]):
            self._create({"generateName": f"{house}-", "labels": {LABEL: house}})
