"""The macros over lists and maps, once their trees are functions. Called by what `compiler.py` makes of a Loop."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from fairlead.model.cel.errors import EvaluationError
from fairlead.model.cel.values import Spend, is_list, no_overload


class LoopStep(NamedTuple):
    """How one turn is made: `ask(values, what)` gives what `body` or `keep` is with the variables set so."""

    ask: Callable[[tuple[Any, ...], Any], Any]
    body: Any
    keep: Any


Combine = Callable[[Any, int, LoopStep, Spend], Any]


def _turns(over: Any, variables: int, spend: Spend) -> Iterator[tuple[Any, ...]]:
    """What the variables are in each turn: elements of a list or keys of a map; with two, the place or key as well."""
    if is_list(over):
        return zip(range(len(over)), over, strict=True) if variables == 2 else ((each,) for each in over)
    if type(over) is dict:
        spend(len(over))
        keys = list(over)
        return ((key, over[key]) for key in keys) if variables == 2 else ((key,) for key in keys)
    raise EvaluationError(
        f"no such overload: range of {type(over).__name__}" if over is None else "not a list or map"
    )


def _quantified(decisive: bool) -> Combine:
    def combine(over: Any, variables: int, step: LoopStep, spend: Spend) -> bool:
        wrong: EvaluationError | None = None
        for values in _turns(over, variables, spend):
            try:
                found = step.ask(values, step.body)
            except EvaluationError as error:
                wrong = wrong or error
                continue
            if found is decisive:
                return bool(found)
            if found is not (not decisive):
                wrong = wrong or no_overload("exists" if decisive else "all", found)
        if wrong is not None:
            raise wrong
        return not decisive

    return combine


def _truth(value: Any, name: str) -> bool:
    if value is True or value is False:
        return bool(value)
    raise no_overload(name, value)


def _exists_one(over: Any, variables: int, step: LoopStep, spend: Spend) -> bool:
    count = 0
    for values in _turns(over, variables, spend):
        count += _truth(step.ask(values, step.body), "exists_one")
    return count == 1


def _filter(over: Any, variables: int, step: LoopStep, spend: Spend) -> list[Any]:
    turns = _turns(over, variables, spend)
    return [values[0] for values in turns if _truth(step.ask(values, step.body), "filter")]


def _kept(over: Any, variables: int, step: LoopStep, spend: Spend) -> Iterator[tuple[Any, ...]]:
    for values in _turns(over, variables, spend):
        if step.keep is None or _truth(step.ask(values, step.keep), "map"):
            yield values


def _map(over: Any, variables: int, step: LoopStep, spend: Spend) -> list[Any]:
    return [step.ask(values, step.body) for values in _kept(over, variables, step, spend)]


def _transform_map(over: Any, variables: int, step: LoopStep, spend: Spend) -> dict[Any, Any]:
    return {values[0]: step.ask(values, step.body) for values in _kept(over, variables, step, spend)}


def _transform_entries(over: Any, variables: int, step: LoopStep, spend: Spend) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for values in _kept(over, variables, step, spend):
        entry = step.ask(values, step.body)
        if type(entry) is not dict:
            raise no_overload("transformMapEntry", entry)
        for key, value in entry.items():
            if key in found:
                raise EvaluationError(f"insert failed: key {key} already exists")
            found[key] = value
    return found


LOOPS: dict[str, Combine] = {
    "all": _quantified(False),
    "exists": _quantified(True),
    "existsOne": _exists_one,
    "filter": _filter,
    "map": _map,
    "transformMap": _transform_map,
    "transformMapEntry": _transform_entries,
}
