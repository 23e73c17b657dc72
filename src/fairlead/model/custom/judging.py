"""The schema of one version of a definition, judged. Called by `model/kinds/customresourcedefinition.py`.

Definitions are large, and most writes of one leave its schemas as they are: which of them are right is remembered by
their content, whoever brings it. A schema that is wrong is looked at anew each time, by the rules that tell what is
wrong.
"""

from __future__ import annotations

from typing import Any

from fairlead.core import codec
from fairlead.core.bounded_dict import BoundedDict
from fairlead.core.problems import Problems
from fairlead.model.custom import structural
from fairlead.model.custom.rules import check_rules
from fairlead.model.custom.schema import compile_schema
from fairlead.model.custom.sound_schemas import Look, look
from fairlead.model.kind import Json

VERDICTS_KEPT = 4096


class Verdicts:
    """Of schemas that are sound, by digest. Bounded: the oldest go. The same comes out with it and without."""

    __slots__ = ("_found", "looks")

    def __init__(self) -> None:
        self._found: BoundedDict[str, Look] = BoundedDict(VERDICTS_KEPT)
        self.looks = 0  # how many had to be looked at

    def of(self, schema: Any) -> Look:
        if type(schema) is not dict:
            return Look(False)
        mark = codec.digest(codec.encode(schema))
        found = self._found.get(mark)
        if found is None:
            self.looks += 1
            found = look(schema)
            if found.sound:
                self._found.keep(mark, found)
        return found


_verdicts = Verdicts()


def check_schema(schema: Json, path: str, problems: Problems, verdicts: Verdicts = _verdicts) -> None:
    """Everything that is wrong with one version's openAPIV3Schema."""
    found = verdicts.of(schema)
    if not found.sound:
        structural.check_schema(schema, path, problems)
    elif found.rules:
        check_rules(schema, compile_schema(schema), path, problems)
