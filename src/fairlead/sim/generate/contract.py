"""What worlds are made of. Read this to add an ingredient: a file in `ingredients/`, and a line in one of the lists.

`RULES`, `CONTROLS`, `PLACES` and `KEPT` there are drawn apart, for some of the worlds. `INGREDIENTS` of the roster is
what all seeds draw from: a line more makes other worlds of many, also of seeds that tests name.

    Ingredient   one subject (a Deployment, a quota, a definition of a custom kind): draws its things
    Thing        an object as people first ask for it, and what they may do with it afterwards
    Action       something people do with a thing, as steps of a scenario
    Setting      what is there before any thing: nodes, namespaces, what the API can do

An ingredient names the kinds of its things; which controllers and mirrors a world needs follows from those, and from
what `building.py` says that controllers make of them. Whoever adds a controller, a verb or a kind adds the ingredient
that meets it: `tests/sim/coverage.py` compares.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from fairlead.model.catalog import CATALOG
from fairlead.model.key import Key
from fairlead.sim.faults import Faults
from fairlead.sim.generate.draw import Draw
from fairlead.sim.scenario import Json, Scenario, ScenarioStep


@dataclass(frozen=True, slots=True)
class Thing:
    """`revisions`: how often people have changed its template; `after_seconds`: so much later they come to make it."""

    manifest: Json
    plural: str
    resource: str
    actions: tuple[Action, ...] = ()
    owner: Thing | None = None  # whose uid its manifest is to name
    revisions: int = 0
    after_seconds: float = 0.0

    @property
    def api_version(self) -> str:
        return str(self.manifest["apiVersion"])

    @property
    def name(self) -> str:
        return str(self.manifest["metadata"]["name"])

    @property
    def namespace(self) -> str:
        return str(self.manifest["metadata"].get("namespace", ""))

    @property
    def key(self) -> Key:
        return Key(self.resource, self.namespace, self.name)

    def changed(self, **spec: object) -> Thing:
        """With other fields of its spec."""
        manifest = {**self.manifest, "spec": {**self.manifest["spec"], **spec}}
        return replace(self, manifest=manifest)

    def __str__(self) -> str:
        return f"{self.manifest['kind']} {self.name}"


@dataclass(frozen=True, slots=True)
class Taken:
    """What comes of an action: the thing as it is wanted afterwards, None where it is gone; what people ask for."""

    thing: Thing | None
    steps: tuple[ScenarioStep, ...]


@dataclass(frozen=True, slots=True)
class Action:
    """`take(draw, thing, at)`."""

    name: str
    take: Callable[[Draw, Thing, float], Taken]


@dataclass(frozen=True, slots=True)
class Setting:
    """`things`: those that are drawn already, for what refers to others. `is_tight`: there may be too little room."""

    namespace: str
    nodes: tuple[Json, ...]
    machines: int = 0  # nodes with an agent and a machine of their own
    things: tuple[Thing, ...] = ()
    taints: bool = False
    is_tight: bool = False
    is_narrow: bool = False  # the API can do no more than Kubernetes


@dataclass(frozen=True, slots=True)
class Ingredient:
    """`make(draw, setting, name)` gives things under names that begin with `name`. `contends`: several may want what
    only some can have, so that who has it in the end is chance's."""

    name: str
    make: Callable[[Draw, Setting, str], tuple[Thing, ...]]
    weight: int = 2
    contends: bool = False
    only_complete: bool = False  # not where the API can do no more than Kubernetes
    last_seconds: float = 0.0  # people come back to it as late as this


@dataclass(frozen=True, slots=True)
class GeneratedWorld:
    scenario: Scenario
    faults: Faults
    told: str  # what was drawn, in a line
    actions: tuple[str, ...] = field(default=())


def thing_of(manifest: Json, *actions: Action, owner: Thing | None = None) -> Thing:
    group, _, version = manifest["apiVersion"].rpartition("/")
    kind = CATALOG.find_kind(group, version, manifest["kind"])
    if kind is not None:
        return Thing(manifest, kind.plural, kind.resource, actions, owner)
    plural = manifest["kind"].lower() + "s"  # a custom kind, whose definition is another thing
    return Thing(manifest, plural, f"{plural}.{group}", actions, owner)
