"""The rules for names, label keys and values, and a few other short texts, with Kubernetes' messages.

Called by metadata validation and the kinds' validators. Every function returns what is wrong as sentences
that follow a field path and value ("metadata.name: Invalid value: ...: <sentence>"); an empty list is fine.
The good case is one regular expression and one length check.
"""

from __future__ import annotations

import re

#: bound: objects | length of a label value, and of names that are DNS labels | 422
LABEL_MAX = 63
#: bound: objects | length of a name that is a DNS subdomain | 422
SUBDOMAIN_MAX = 253
#: bound: objects | length of a port's name | 422
PORT_NAME_MAX = 15

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_QUALIFIED = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE = f"({_QUALIFIED})?"
_CONFIG_KEY = "[-._a-zA-Z0-9]+"
_HTTP_HEADER = "[-A-Za-z0-9]+"

_label = re.compile(_LABEL)
_subdomain = re.compile(_SUBDOMAIN)
_label_1035 = re.compile(_LABEL_1035)
_qualified = re.compile(_QUALIFIED)
_config_key = re.compile(_CONFIG_KEY)
_http_header = re.compile(_HTTP_HEADER)
_env_name = re.compile("[ -<>-~]+")
_port_name = re.compile("[-a-z0-9]+")


def _hint(message: str, expression: str, *examples: str) -> str:
    """The message with examples and the expression, spaced as Kubernetes spaces it."""
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{message} (e.g. {shown}regex used for validation is '{expression}')"


def too_long(limit: int) -> str:
    return f"must be no more than {limit} bytes"


_ALNUM_ENDS = "and must start and end with an alphanumeric character"
_LABEL_WRONG = _hint(
    f"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', {_ALNUM_ENDS}",
    _LABEL,
    "my-name",
    "123-abc",
)
_SUBDOMAIN_WRONG = _hint(
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    f"{_ALNUM_ENDS}",
    _SUBDOMAIN,
    "example.com",
)
_LABEL_1035_WRONG = _hint(
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
    "start with an alphabetic character, and end with an alphanumeric character",
    _LABEL_1035,
    "my-name",
    "abc-123",
)
_QUALIFIED_WRONG = _hint(
    f"must consist of alphanumeric characters, '-', '_' or '.', {_ALNUM_ENDS}",
    _QUALIFIED,
    "MyName",
    "my.name",
    "123-abc",
)
_LABEL_VALUE_WRONG = _hint(
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    f"{_ALNUM_ENDS}",
    _LABEL_VALUE,
    "MyValue",
    "my_value",
    "12345",
)
_CONFIG_KEY_WRONG = _hint(
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
    _CONFIG_KEY,
    "key.name",
    "KEY_NAME",
    "key-name",
)
_HTTP_HEADER_WRONG = _hint(
    "a valid HTTP header must consist of alphanumeric characters or '-'", _HTTP_HEADER, "X-Header-Name"
)
_ENV_NAME_WRONG = (
    "a valid environment variable name must consist only of printable ASCII characters other than '='"
)


def _judge(text: str, expression: re.Pattern[str], limit: int, wrong: str) -> list[str]:
    problems = [] if len(text) <= limit else [too_long(limit)]
    if not expression.fullmatch(text):
        problems.append(wrong)
    return problems


def label_problems(text: str) -> list[str]:
    """A DNS label as RFC 1123 has it: namespaces, containers, volumes."""
    if len(text) <= LABEL_MAX and _label.fullmatch(text):
        return []
    return _judge(text, _label, LABEL_MAX, _LABEL_WRONG)


def subdomain_problems(text: str) -> list[str]:
    """A DNS subdomain as RFC 1123 has it: most names."""
    if len(text) <= SUBDOMAIN_MAX and _subdomain.fullmatch(text):
        return []
    return _judge(text, _subdomain, SUBDOMAIN_MAX, _SUBDOMAIN_WRONG)


def label1035_problems(text: str) -> list[str]:
    """A DNS label as RFC 1035 has it, starting with a letter: Services."""
    return _judge(text, _label_1035, LABEL_MAX, _LABEL_1035_WRONG)


def path_segment_problems(text: str) -> list[str]:
    """Whatever can stand between two slashes of a URL: names of roles and the like."""
    if text in (".", ".."):
        return [f"may not be '{text}'"]
    return [f"may not contain '{character}'" for character in "/%" if character in text]


def http_header_problems(text: str) -> list[str]:
    return [] if _http_header.fullmatch(text) else [_HTTP_HEADER_WRONG]


_RULES = {
    "subdomain": subdomain_problems,
    "label": label_problems,
    "label1035": label1035_problems,
    "path-segment": path_segment_problems,
    "http-header": http_header_problems,
}


def name_problems(rule: str, name: str, prefix: bool = False) -> list[str]:
    """What is wrong with a name under a rule of `Kind.name_rule`. A generateName is judged as a `prefix`:
    it may end in a dash, since something follows."""
    if prefix and name.endswith("-"):
        name = name[:-1] + "a"
    return _RULES[rule](name)


def label_key_problems(key: str) -> list[str]:
    """A qualified name: label keys, finalizers, resource names. Annotations lower the key's case first."""
    prefix, slash, name = key.rpartition("/")
    if not slash:
        return _qualified_part(name)
    if "/" in prefix:
        return [
            f"a qualified name {_QUALIFIED_WRONG} with an optional DNS subdomain prefix and '/' "
            "(e.g. 'example.com/MyName')"
        ]
    wrong = (
        [f"prefix part {each}" for each in subdomain_problems(prefix)]
        if prefix
        else ["prefix part must be non-empty"]
    )
    return wrong + _qualified_part(name)


def _qualified_part(name: str) -> list[str]:
    if 0 < len(name) <= LABEL_MAX and _qualified.fullmatch(name):
        return []
    if not name:
        return ["name part must be non-empty", f"name part {_QUALIFIED_WRONG}"]
    return [f"name part {each}" for each in _judge(name, _qualified, LABEL_MAX, _QUALIFIED_WRONG)]


def label_value_problems(value: str) -> list[str]:
    return [] if not value else _judge(value, _qualified, LABEL_MAX, _LABEL_VALUE_WRONG)


def config_key_problems(key: str) -> list[str]:
    """Keys of ConfigMap and Secret data."""
    wrong = _judge(key, _config_key, SUBDOMAIN_MAX, _CONFIG_KEY_WRONG)
    if key in (".", ".."):
        wrong.append(f"must not be '{key}'")
    elif key.startswith(".."):
        wrong.append("must not start with '..'")
    return wrong


def env_name_problems(name: str) -> list[str]:
    return [] if _env_name.fullmatch(name) else [_ENV_NAME_WRONG]


def port_name_problems(name: str) -> list[str]:
    """An IANA service name, as container and service ports have."""
    wrong = [] if len(name) <= PORT_NAME_MAX else [too_long(PORT_NAME_MAX)]
    if not _port_name.fullmatch(name):
        wrong.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not any("a" <= character <= "z" for character in name):
        wrong.append("must contain at least one letter (a-z)")
    if "--" in name:
        wrong.append("must not contain consecutive hyphens")
    if name.startswith("-") or name.endswith("-"):
        wrong.append("must not begin or end with a hyphen")
    return wrong
