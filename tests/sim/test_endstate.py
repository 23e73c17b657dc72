"""What two runs are compared by: names that chance decides are left out, and nothing else is."""

from __future__ import annotations

from typing import Any

from fairlead.model.marks import TEMPLATE_HASH
from fairlead.reconcile.deployment.history import template_hash
from fairlead.sim.endstate import HISTORY, EndState, difference, end_state
from tests.sim.checkers.story import OF_DEPLOYMENT, Json, Story, pod

FORGETS = frozenset({HISTORY})


def template(image: str, label: str = "") -> Json:
    labels = {"app": "d", **({TEMPLATE_HASH: label} if label else {})}
    return {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": image}]}}


def a_set(story: Story, collisions: int = 0, image: str = "d:1", owners: Any = OF_DEPLOYMENT) -> str:
    """Of the Deployment d, as it is called when its name was taken so often, with a pod. Its name."""
    label = template_hash(template(image), collisions)
    name = f"d-{label}"
    spec = {"replicas": 1, "template": template(image, label)}
    status = {"replicas": 1, "readyReplicas": 1, "observedGeneration": 1}
    meta = {"name": name, "generation": 1, "ownerReferences": owners}
    story.commit("replicasets.apps", {"metadata": meta, "spec": spec, "status": status})
    story.commit("pods", pod(f"{name}-p", name))
    return name


def ended(*sets: Any, allowed: frozenset[str] = FORGETS) -> EndState:
    """What is left of these sets, each given as the arguments of `a_set`."""
    story = Story()
    for each in sets:
        a_set(story, **each)
    return end_state(story.observed.objects, allowed)


def test_that_the_name_of_a_set_was_taken_makes_no_difference_where_history_may_differ() -> None:
    assert difference(ended({}), ended({"collisions": 1})) == ""
    assert difference(ended({}, allowed=frozenset()), ended({"collisions": 1}, allowed=frozenset()))


def test_another_template_does() -> None:
    assert "d:2" in difference(ended({}), ended({"image": "d:2"}))


def test_so_do_two_sets_of_one_template() -> None:
    told = difference(ended({}), ended({}, {"collisions": 1}))
    assert "another wants 1 of d:1" in told
    assert "bound: 2 instead of 1" in told


def test_a_set_of_nobody_is_compared_by_its_name() -> None:
    assert difference(ended({"owners": []}), ended({"owners": [], "collisions": 1}))
