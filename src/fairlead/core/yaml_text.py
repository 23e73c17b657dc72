"""YAML in and out, for clients that write or read it instead of JSON. Both ways it stands for the same JSON tree.

`wire/` turns a YAML body into JSON before anybody looks at it, and an answer into YAML after everybody has. What is
read is what Kubernetes reads: one document, plain values as JSON has them and the booleans of YAML 1.1 (`yes` is true;
`2026-01-01` is a text). A key that is given twice is twice in the JSON text as well: fieldValidation says what follows
from that. Anchors are refused, because a few lines of them stand for a tree of any size. Answers are in block style up
to a bound; beyond it they are JSON, which is YAML as well and costs nothing.
"""

from __future__ import annotations

import re
from contextlib import suppress
from functools import cache
from typing import Any

import msgspec

from fairlead.core import codec
from fairlead.core.errors import BadRequest, TooLarge

MEDIA_TYPE = "application/yaml"
#: bound: requests | an answer as indented YAML | its YAML is JSON
BLOCK_BYTES_MAX = 256 * 1024
#: bound: requests | values in a body of YAML | 413: send it as JSON
NODES_MAX = 20_000

_PLAIN = re.compile(r"[A-Za-z_/][A-Za-z0-9_./-]*(?: [A-Za-z0-9_./-]+)*")
# Read as something else than a text by YAML 1.1 or 1.2.
_WORDS = frozenset(("null", "true", "false", "yes", "no", "on", "off", "y", "n", "nan", "inf"))
_TRUE = frozenset(("true", "yes", "on", "y"))
# What JSON lets stand in a text, and YAML does not, or takes for the end of a line.
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_encode = msgspec.json.encode


def tree(text: bytes) -> Any:
    """What the document holds, as JSON has it; BadRequest says what is wrong with it and where."""
    if text.lstrip()[:1] == b"{":
        with suppress(BadRequest):
            return codec.decode(text)
    return codec.decode(to_json(text))


def to_json(text: bytes) -> bytes:
    """The document as JSON text; BadRequest says what is wrong with it and where."""
    if text.lstrip()[:1] == b"{":
        with suppress(BadRequest):
            codec.decode(text)
            return text  # JSON is YAML, and quickly read
    import yaml  # here: most servers are never sent any

    try:
        document = _read(text, yaml)
    except yaml.YAMLError as error:
        raise BadRequest(f"the body is not valid YAML: {_told(error)}") from None
    except (ValueError, RecursionError, OverflowError, UnicodeError):
        raise BadRequest("the body is not valid YAML: a value in it cannot be read") from None
    try:
        return _encode(document)
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError):
        raise BadRequest("the body holds what JSON does not have: keys must be texts") from None


def _read(text: bytes, yaml: Any) -> Any:
    depth = documents = 0
    for count, event in enumerate(yaml.parse(text, _base(yaml))):
        if count > NODES_MAX:
            raise TooLarge(f"the body is YAML of more than {NODES_MAX} values; send it as JSON")
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise BadRequest("the body is YAML with anchors or aliases, which are not accepted; write it out")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > codec.DEPTH_MAX:
                raise BadRequest(
                    f"the body is nested too deeply: at most {codec.DEPTH_MAX} levels are accepted"
                )
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                raise BadRequest("the body holds more than one YAML document; send each in its own request")
    return yaml.load(text, _json_loader())


def _base(yaml: Any) -> Any:
    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@cache
def _json_loader() -> Any:
    """A loader that knows the plain values of JSON and no others."""
    import yaml

    loader: Any = type("JsonLoader", (_base(yaml),), {"yaml_implicit_resolvers": {}})
    for tag, pattern, first in (
        ("null", r"(?:~|null|Null|NULL|)", ["~", "n", "N", ""]),
        (
            "bool",
            r"(?:true|True|TRUE|false|False|FALSE|yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF|[yYnN])",
            list("tTfFyYnNoO"),
        ),
        ("int", r"[-+]?(?:[1-9][0-9]*|0o?[0-7]*|0x[0-9a-fA-F]+)", list("-+0123456789")),
        (
            "float",
            r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?",
            list("-+.0123456789"),
        ),
    ):
        loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(f"^{pattern}$"), first)
    loader.add_constructor("tag:yaml.org,2002:float", lambda self, node: float(node.value))
    loader.add_constructor("tag:yaml.org,2002:bool", lambda self, node: node.value.lower() in _TRUE)
    loader.add_constructor("tag:yaml.org,2002:int", lambda self, node: _integer(node.value))
    loader.add_constructor("tag:yaml.org,2002:map", _mapping)
    return loader


def _mapping(loader: Any, node: Any) -> dict[str, Any] | msgspec.Raw:
    """Keys are texts in JSON, whatever they look like here: 1 and true are two, and nothing may be lost."""
    found: list[tuple[str, Any]] = []
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        if isinstance(key, dict | list):
            raise BadRequest("the body holds what JSON does not have: keys must be texts")
        text = key if isinstance(key, str) else _encode(key).decode()
        found.append((text, loader.construct_object(value_node, deep=True)))
    tree = dict(found)
    if len(tree) == len(found):
        return tree
    return msgspec.Raw(b"{%b}" % b",".join(b"%b:%b" % (_encode(key), _encode(value)) for key, value in found))


def _integer(text: str) -> int:
    """A leading zero makes it octal, as modes of files are written."""
    digits = text.lstrip("+-0").lower() or "0"
    base = 16 if digits[0] == "x" else 8 if text.lstrip("+-")[0] == "0" else 10
    return int(digits.lstrip("xo") or "0", base) * (-1 if text[0] == "-" else 1)


def _told(error: Any) -> str:
    """Where and what, without quoting the body, which may hold secrets."""
    mark = getattr(error, "problem_mark", None)
    where = f" (line {mark.line + 1}, column {mark.column + 1})" if mark is not None else ""
    return (
        f"{str(getattr(error, 'problem', None) or 'it cannot be read').partition(chr(39))[0].strip()}{where}"
    )


def from_json(body: bytes) -> bytes:
    """An answer's JSON as YAML."""
    if len(body) > BLOCK_BYTES_MAX:
        return body + b"\n"
    lines: list[str] = []
    _write(msgspec.json.decode(body), "", lines)
    return ("\n".join(lines) + "\n").encode()


def _write(value: Any, indent: str, lines: list[str]) -> None:
    if isinstance(value, dict) and value:
        for key in sorted(value):
            _write_under(f"{indent}{_scalar(key)}:", value[key], indent, lines)
    elif isinstance(value, list) and value:
        for item in value:
            _write_item(item, indent, lines)
    else:
        lines.append(indent + _scalar(value))


def _write_under(head: str, value: Any, indent: str, lines: list[str]) -> None:
    if isinstance(value, dict | list) and value:
        lines.append(head)
        _write(value, indent + "  " if isinstance(value, dict) else indent, lines)
    else:
        lines.append(f"{head} {_scalar(value)}")


def _write_item(item: Any, indent: str, lines: list[str]) -> None:
    """The first line of what an item holds stands behind its dash."""
    begin = len(lines)
    _write(item, indent + "  ", lines)
    lines[begin] = f"{indent}- {lines[begin][len(indent) + 2 :]}"


def _scalar(value: Any) -> str:
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    text = _encode(value).decode()
    if isinstance(value, str):
        return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    if isinstance(value, float) and "e" in text:
        mantissa, _, exponent = text.partition("e")
        return f"{mantissa if '.' in mantissa else mantissa + '.0'}e{int(exponent):+d}"
    return text
