"""A configuration merged into an object that exists, by the rules of `rules.py`. Nothing is removed here.

Objects keep what is not named, items of lists are matched by key, and what is atomic is replaced. Called by
`applying.py`.
"""

from __future__ import annotations

from typing import Any

from fairlead.model.apply.elements import UndecodableError, element_text
from fairlead.model.apply.rules import DuplicateItems, MergeRule, Mode


def merge(rule: MergeRule, live: Any, config: Any) -> Any:
    """`config` wins where both have something to say. Shares what it can with both."""
    if rule.is_list:
        if isinstance(live, list) and isinstance(config, list):
            return _merged_items(rule, live, config) if live and config else (live or config)
        return config
    if rule.is_leaf or not (isinstance(live, dict) and isinstance(config, dict)):
        return config
    found = live.copy()
    for name, value in config.items():
        if name in live:
            before = live[name]
            member = rule.members[name]
            settled = before == value and not rule.strict
            found[name] = before if settled else merge(member.rule, before, value)
        else:
            found[name] = value
    return found


def _merged_items(rule: MergeRule, live: list[Any], config: list[Any]) -> list[Any]:
    """Items of both come in the order of the configuration; those that only the object has stay where they are among
    them."""
    live_steps, lives = rule.indexed(live)
    config_steps, configs = rule.indexed(config)
    shared = [step for step in config_steps if step in lives]
    out: list[Any] = []
    done: set[str] = set()
    here = there = waiting = 0

    def take(step: str | None, item: Any) -> None:
        before = lives.get(step) if step is not None else None
        if step is not None:
            done.add(step)
        fresh = before is None or isinstance(before, DuplicateItems)
        out.append(item if fresh else merge(rule.item, before, item))

    while here < len(live) or there < len(config):
        if here < len(live):
            step = live_steps[here]
            if there < len(config) and step is not None and step == config_steps[there]:
                take(step, config[there])
                here, there = here + 1, there + 1
                continue
            if step is None or step not in configs:
                out.append(live[here])
                here += 1
                continue
            while waiting < len(shared) and shared[waiting] in done:
                waiting += 1
            if step in done or (waiting < len(shared) and shared[waiting] != step):
                here += 1  # it comes, or came, in its place in the configuration
                continue
        take(config_steps[there], config[there])
        there += 1
    return out


def check_configuration(rule: MergeRule, tree: Any, path: str = "") -> None:
    """Raises UndecodableError for lists whose items cannot be told apart, in Kubernetes' words."""
    if rule.is_list and isinstance(tree, list):
        _check_items(rule, tree, path)
    elif not rule.is_leaf and isinstance(tree, dict):
        for name, value in tree.items():
            if isinstance(value, dict | list):
                check_configuration(rule.members[name].rule, value, f"{path}.{name}")


def _check_items(rule: MergeRule, items: list[Any], path: str) -> None:
    steps, found = rule.indexed(items)
    for index, (step, item) in enumerate(zip(steps, items, strict=True)):
        if step is None:
            raise UndecodableError(f"{path}: element {index}: {_why_none(rule, item)}")
        if isinstance(found[step], DuplicateItems):
            raise UndecodableError(f"{path}: duplicate entries for key {element_text(step)}")
        if isinstance(item, dict):
            check_configuration(rule.item, item, path + element_text(step))


def _why_none(rule: MergeRule, item: Any) -> str:
    if rule.mode is Mode.SET:
        return "a set may hold only texts, numbers and booleans"
    if not isinstance(item, dict):
        return "associative list with keys may not have non-map elements"
    missing = next((name for name, default in rule.keys if item.get(name, default) is None), "")
    return (
        f'associative list with keys has an element that omits key field "{missing}" '
        "(and doesn't have default value)"
    )
