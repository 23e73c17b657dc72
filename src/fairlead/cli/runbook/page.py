"""A runbook and a run as text for people: the page that is read under pressure, and the record of what was done."""

from __future__ import annotations

from typing import Any

from fairlead.cli.output import cell, print_table

Json = dict[str, Any]
_DEFAULT_SECONDS = 300


def page_of(book: Json) -> str:
    """What it is for, how to run it, its own page, then each step as it will be done."""
    name, spec = book["metadata"]["name"], book["spec"]
    lines = [f"{name}: {cell(spec['summary'])}", ""]
    needed = [each for each in spec.get("params") or () if each.get("default") is None]
    sets = "".join(f" --set {each['name']}=..." for each in needed)
    lines += [f"  fairlead runbook run {name}{sets} --dry-run     look first", ""]
    if spec.get("page"):
        lines += [*(_plain(line) for line in str(spec["page"]).strip().splitlines()), ""]
    if spec.get("params"):
        lines += ["PARAMETERS", *(_param(each) for each in spec["params"]), ""]
    lines += ["BEFORE: all must hold, or nothing is done", *_conditions(spec.get("preconditions")), ""]
    lines += [
        "STEPS",
        *(line for number, each in enumerate(spec["steps"], 1) for line in _step(number, each)),
        "",
    ]
    lines += ["AFTER: all must hold, or it has not helped", *_conditions(spec.get("postconditions"))]
    if spec.get("abortWhen"):
        lines += ["", "ABORTED, AND UNDONE, IF", *_conditions(spec["abortWhen"])]
    return "\n".join(lines)


def _plain(line: str) -> str:
    """Control characters of whoever wrote it must not reach the terminal."""
    return cell(line) if line else ""


def _param(each: Json) -> str:
    default = f" (default: {each['default']})" if each.get("default") is not None else ""
    return f"  {each['name']:<14} {each.get('type') or 'string'}: {cell(each.get('description'))}{default}"


def _conditions(given: Any) -> list[str]:
    return [f"  {each['name']}: {cell(' '.join(each['expression'].split()))}" for each in given or ()]


def _step(number: int, each: Json) -> list[str]:
    lines = [f"  {number}. {each['name']}: {describe(each)}"]
    if each.get("description"):
        lines.append(f"     {cell(each['description'])}")
    if each.get("when"):
        lines.append(f"     only if {cell(' '.join(each['when'].split()))}")
    return lines


def describe(step: Json) -> str:
    """What a step does, in a line."""
    within = f"within {step.get('timeoutSeconds') or _DEFAULT_SECONDS} s"
    if "create" in step:
        made = step["create"]["object"]
        changes = (made.get("spec") or {}).get("changes") if isinstance(made.get("spec"), dict) else None
        told = f" ({', '.join(changes)})" if isinstance(changes, dict) else ""
        return f"creates a {cell(made.get('kind'))}{told}"
    if "delete" in step:
        return f"deletes what {cell(step['delete']['step'])} created"
    if "wait" in step:
        return f"waits, {within}, until {cell(' '.join(step['wait']['until'].split()))}"
    if "ask" in step:
        fields = ", ".join(str(each["name"]) for each in step["ask"].get("fields") or ())
        return f"asks, {within}: {cell(step['ask']['question'])} [{fields}]"
    verb = step["verb"]
    count = f" to {verb['replicas']}" if verb.get("replicas") is not None else ""
    return f"{cell(verb['verb'])} {cell(verb['name'])}{count}"


def record_of(run: Json) -> None:
    """Prints what a run has done."""
    meta, spec, status = run["metadata"], run["spec"], run.get("status") or {}
    phase = status.get("phase") or "Pending"
    by = (spec.get("requestedBy") or {}).get("username")
    print(f"{meta['namespace']}/{meta['name']}: {spec['runbook']}, {phase}, by {cell(by)}")
    if status.get("message"):
        print(f"  {cell(status['message'])}")
    rows = []
    for each in status.get("steps") or ():
        made = each.get("made") or {}
        named = f"{made['kind'].lower()}/{made['name']}" if made else ""
        rows.append(
            (each["name"], each.get("state"), each.get("startedAt"), each.get("finishedAt"), each.get("by"), named,
             each.get("message"))
        )  # fmt: skip
    if rows:
        print_table(("STEP", "STATE", "STARTED", "FINISHED", "BY", "OBJECT", "MESSAGE"), rows)
