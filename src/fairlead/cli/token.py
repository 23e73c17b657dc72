"""`fairlead token create|list|revoke`: credentials, straight in the data directory's token table.

Works with and without a running server, which takes a new token at once and drops a revoked one within a second.
Whoever can write the data directory is its owner, so no other permission is asked for.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from fairlead.cli import options as shared
from fairlead.cli.output import hint, print_json, print_table
from fairlead.core.errors import DataDirectoryError
from fairlead.runtime.credentials import identity, kubeconfig
from fairlead.runtime.credentials.token_file import ADMIN_NAME, ROLES, TokenEntry
from fairlead.runtime.private_files import new_private

EPILOG = """examples:
  fairlead token create --role viewer --name dashboard
  fairlead token create --role node --name node-1 -o node-1.kubeconfig
  fairlead token create --name jane --group team-a -o jane.kubeconfig
  fairlead token list
  fairlead token revoke dashboard

roles: admin may do everything; viewer reads everything but secrets; node reaches its own Node and Lease and
the pods bound to it; user, the default, may do what Roles and bindings grant to NAME and its groups.
A token is shown once, when it is created: only its digest is kept.
"""

_FORMS = ("text", "json", "kubeconfig")
_ENDINGS = {".token": "text", ".json": "json"}


def configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(metavar="ACTION", title="actions", required=True, dest="action")

    create = actions.add_parser("create", help="make a token and show it", allow_abbrev=False)
    create.add_argument("--role", choices=ROLES, default="user", help="what the token may do; default user")
    create.add_argument(
        "--group",
        action="append",
        default=[],
        metavar="GROUP",
        help="a group that NAME is in; may be repeated",
    )
    create.add_argument(
        "--name", metavar="NAME", required=True, help="whom it is for; the node's name for a node"
    )
    create.add_argument(
        "-o",
        "--output",
        type=_output,
        default="text",
        metavar="FORM|FILE",
        help="text (default), json or kubeconfig; or a new file, which only its owner may read: a kubeconfig, or what "
        "its name ends in: .token (the token alone) or .json",
    )
    create.set_defaults(run=_create)

    listing = actions.add_parser("list", help="show whose tokens are accepted", allow_abbrev=False)
    shared.add_output(listing, "table", "json")
    listing.set_defaults(run=_list)

    revoke = actions.add_parser("revoke", help="accept a token no longer", allow_abbrev=False)
    revoke.add_argument("name", metavar="NAME", help="as `fairlead token list` shows it")
    shared.add_output(revoke, "text", "json")
    revoke.set_defaults(run=_revoke)

    for action in (create, listing, revoke):
        shared.data_dir(action)


def _identity(data_dir: Path) -> identity.Identity:
    found = identity.of(data_dir)
    if not found.ca_certificate.exists():
        raise DataDirectoryError(
            f"{data_dir} is no data directory: name one with --data-dir, or make one with `fairlead up`"
        )
    return found


def _output(text: str) -> str | Path:
    """A form, or the file that `-o` names."""
    if text in _FORMS:
        return text
    if "." not in text and "/" not in text:
        raise argparse.ArgumentTypeError(
            f"{text!r} is none of {', '.join(_FORMS)}; for a file of that name write ./{text}"
        )
    return Path(text)


def _create(options: argparse.Namespace) -> int:
    found = _identity(options.data_dir)
    file = options.output if isinstance(options.output, Path) else None
    form = options.output if file is None else _ENDINGS.get(file.suffix, "kubeconfig")
    server = kubeconfig.load(found.kubeconfig).server if form == "kubeconfig" else ""
    authority = found.ca_certificate.read_text()

    def rendered(token: str) -> str:
        if form == "kubeconfig":
            return kubeconfig.render(server, authority, options.name, token)
        if form == "json":
            told = {"name": options.name, "role": options.role, "groups": options.group, "token": token}
            return json.dumps(told, indent=2) + "\n"
        return f"{token}\n"

    def made() -> str:
        return found.tokens.create(options.role, options.name, time.time(), tuple(options.group))

    if file is None:
        print(rendered(made()), end="")
        if form == "text":
            hint("Keep it: it is not shown again. Send it as `Authorization: Bearer TOKEN`.")
        return 0
    token = ""
    try:
        with new_private(file) as out:
            token = made()
            out.write(rendered(token).encode())
    except BaseException:
        if token:  # which nobody has: its name must not stay taken
            found.tokens.revoke(options.name)
        raise
    hint(f"Wrote {file}, which only you may read. The token is in no other place.")
    return 0


def _shown(entry: TokenEntry) -> dict[str, str | list[str]]:
    return {
        "name": entry.name,
        "role": entry.role,
        "user": entry.user.name,
        "groups": list(entry.groups),
        "created": entry.created,
    }


def _list(options: argparse.Namespace) -> int:
    entries = _identity(options.data_dir).tokens.entries()
    if options.output == "json":
        print_json({"items": [_shown(entry) for entry in entries]})
    else:
        rows = [
            [entry.name, entry.role, entry.user.name, ",".join(entry.groups), entry.created]
            for entry in entries
        ]
        print_table(("NAME", "ROLE", "USER", "GROUPS", "CREATED"), rows)
    return 0


def _revoke(options: argparse.Namespace) -> int:
    entry = _identity(options.data_dir).tokens.revoke(options.name)
    if options.output == "json":
        print_json({"revoked": _shown(entry)})
    else:
        print(f"revoked the {entry.role} token of {entry.name}")
    if entry.name == ADMIN_NAME:
        hint(f"{options.data_dir}/kubeconfig is now without access; the next `fairlead up` writes a new one.")
    return 0
