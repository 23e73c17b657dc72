"""PATCH: JSON patch, merge patch or strategic merge patch against the newest version, retried on conflict.

What is applied (server-side apply) is the matter of `verbs/apply.py`.
"""

from __future__ import annotations

from fairlead.api import body, options, spec_cache, spec_split
from fairlead.api.changing import Before, before, change
from fairlead.api.desk import Desk
from fairlead.api.finding import find
from fairlead.api.plan import Context, Plan
from fairlead.api.verbs.apply import apply
from fairlead.core import codec
from fairlead.core.errors import BadRequest, UnsupportedMedia
from fairlead.core.problems import show
from fairlead.model.fields import Ref
from fairlead.model.kind import Json, Kind
from fairlead.model.patch.jsonpatch import json_patch
from fairlead.model.patch.merge import merge_patch
from fairlead.model.patch.strategic import strategic
from fairlead.model.shapes import fits
from fairlead.port.request import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, Reply, Request
from fairlead.store.contract import Entry

_MEDIA = (APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH)


def patch(desk: Desk, request: Request, kind: Kind, context: Context, addressed: str = "") -> Reply | Plan:
    level = options.field_validation(request.query)
    if check_media(request, kind) == APPLY_PATCH:
        return apply(desk, request, kind, context)
    options.check_patch(request.query)
    known = _opened(desk, request, kind, find(desk, kind, request))
    whole = known.tree
    if known.managed and (b"managedFields" in request.body or b"\\u" in request.body):
        # The patch may be about them: then, and only then, it must find them.
        whole = {**whole, "metadata": {**whole["metadata"], "managedFields": codec.decode(known.managed)}}
    settled = known.spec is not None
    new, warnings = apply_patch(desk, request, kind.schema, whole, level, kind, settled=settled)
    return change(desk, request, kind, context, known, new, warnings, addressed=addressed)


def _opened(desk: Desk, request: Request, kind: Kind, current: Entry) -> Before:
    judged = desk.policies.active and desk.policies.concern(kind, request.subresource)
    if request.subresource == "status" and kind.beside_spec is not None and not judged:
        found = spec_split.split_entry(current)
        if found is not None:
            spec = spec_cache.settled_spec(desk.tables, kind, found.opened.spec)
            if spec is not None:
                return Before(current, found.opened.tree(spec), found.managed, found.opened.spec)
    return before(current)


def check_media(request: Request, kind: Kind | None = None) -> str:
    """Which sort of patch it is; one that we do not know is refused before anything is looked up. Schemas of custom
    kinds have no strategies of merging."""
    media = body.media_type(request.content_type)
    known = _MEDIA if kind is None or kind.structure is None else (APPLY_PATCH, JSON_PATCH, MERGE_PATCH)
    if media not in known:
        raise UnsupportedMedia(
            f"the body of the request was in an unknown format - accepted media types include: "
            f"{', '.join(known)}; got {show(media)}"
        )
    return media


def apply_patch(
    desk: Desk,
    request: Request,
    schema: str,
    old: Json,
    level: str,
    kind: Kind | None = None,
    *,
    settled: bool = False,
) -> tuple[Json, list[str]]:
    """The old object with the patch applied, its structure checked. `kind`: of an object that is stored as such;
    `settled`: nothing is wrong with the old one's spec."""
    media = check_media(request)
    change_set = codec.decode(request.body) if request.body else None
    new: object
    tables = desk.tables
    if media == JSON_PATCH:
        if not isinstance(change_set, list):
            raise BadRequest(
                'a JSON patch is a list of operations such as [{"op": "replace", "path": ..., "value": ...}]'
            )
        new = json_patch(old, change_set)
    elif media == MERGE_PATCH:
        wanted = body.require_object(change_set)
        if request.subresource == "status" and "status" in wanted and None not in wanted.values():
            # Only metadata is taken of the rest, and that is in the patch or as it was.
            touched = {name: old[name] for name in wanted if name in old}
            new = {**old, **merge_patch(touched, wanted, share=settled)}
        else:
            new = merge_patch(old, wanted)
    else:
        new = strategic(old, body.require_object(change_set), tables[schema], tables)
    obj = body.require_object(new)
    for field in ("apiVersion", "kind"):
        if obj.get(field) != old.get(field):
            raise BadRequest(
                f"{field}: a patch may not change it from {show(old.get(field))} to {show(obj.get(field))}"
            )
    # What is stored has none.
    nulls = b"null" in request.body
    if settled and not nulls and obj.get("spec") is old["spec"] and obj.keys() == old.keys():
        types = [(obj[name], tables[schema].fields[name].type) for name in ("metadata", "status")]
        if all(isinstance(each, Ref) and fits(tables, each.name, part) for part, each in types):
            return obj, []
    return obj, body.check_structure(desk, schema, obj, level, kind=kind, nulls=nulls)
