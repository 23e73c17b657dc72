"""Services, whose endpoints follow pods, and the accounts that namespaces have."""

from __future__ import annotations

from fairlead.reconcile.root_certificate import CONFIG_MAP
from fairlead.sim.generate.contract import Ingredient, Setting, Thing, thing_of
from fairlead.sim.generate.draw import Draw
from fairlead.sim.generate.ingredients.templates import manifest, workloads
from fairlead.sim.generate.people import APPLY, DELETE, RECREATE, set_fields

_PORTS = set_fields(
    "change a service",
    {"spec": {"ports": [{"port": 80, "targetPort": 8080, "protocol": "TCP"}]}},
    {"spec": {"ports": [{"port": 81, "targetPort": 81, "protocol": "TCP"}]}},
)

_RENEW = set_fields("renew a certificate", {"data": {"ca.crt": "two"}})


def _service(draw: Draw, setting: Setting, name: str) -> tuple[Thing, ...]:
    served = workloads(setting)
    app = draw.one_of("serves", served).name if served else name
    spec = {"selector": {"app": app}, "ports": [{"port": 80}]}
    made = manifest("v1", "Service", name, setting.namespace, spec=spec)
    return (thing_of(made, _PORTS, APPLY, DELETE, RECREATE),)


def _account(draw: Draw, setting: Setting, name: str) -> tuple[Thing, ...]:
    """With the first account the controllers of accounts are there, which look after every namespace."""
    made = thing_of(manifest("v1", "ServiceAccount", name, setting.namespace), DELETE, RECREATE)
    if any(thing.name == CONFIG_MAP for thing in setting.things) or not draw.happens("authority", 0.5):
        return (made,)
    source = manifest("v1", "ConfigMap", CONFIG_MAP, "kube-system", data={"ca.crt": "one"})
    return made, thing_of(source, _RENEW)


INGREDIENTS = (
    Ingredient("Service", _service, weight=2),
    Ingredient("ServiceAccount", _account, weight=1),
)
