"""`fairlead grant request|approve|deny|revoke|review`: rights for an incident, that end by themselves.

Each is one write of an AccessGrant, which `kubectl` can do as well; what may be done is decided by the server.
"""

from __future__ import annotations

import argparse
import re
from contextlib import closing
from typing import Any

from fairlead.cli import options as shared
from fairlead.cli.client import ApiClient, connect
from fairlead.cli.output import hint, print_json
from fairlead.core.errors import NotFound, UsageError

PATH = "/apis/fairlead.dev/v1/accessgrants"
_REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"

EPILOG = """examples:
  fairlead grant request --role edit -n shop --for 30m --reason "checkout is down"
  fairlead grant request --role edit --object deployments.apps/shop/web --for 30m --reason "stuck rollout"
  fairlead grant request --role edit -n shop --for 30m --reason "no approver awake" --self-approve
  fairlead grant approve jane-x7k2p
  fairlead grant revoke jane-x7k2p
  fairlead grant review jane-x7k2p --note "two pods restarted, as planned"
  fairlead grants                               those that wait, hold, or are to be reviewed

A grant holds from its approval on, for as long as was asked. Who asks for one does not approve it, but for those who
may break the glass (--self-approve), which raises an alarm. What is done under it is stamped with its name in the
audit log.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(metavar="ACTION", title="actions", required=True, dest="action")
    ask = actions.add_parser(
        "request", help="ask for a role, somewhere and for some time", allow_abbrev=False
    )
    ask.add_argument(
        "--role", metavar="NAME", required=True, help="a ClusterRole; role/NAME is a Role of the namespace"
    )
    ask.add_argument(
        "-n", "--namespace", metavar="NS", action="append", default=[], help="where; may be repeated"
    )
    ask.add_argument(
        "--object",
        metavar="RESOURCE/[NS/]NAME",
        default="",
        help="instead of -n: the one object that it is about, such as nodes/n1",
    )
    ask.add_argument(
        "--for", dest="lasts", metavar="TIME", required=True, help="how long, as 30m; at most 8h"
    )
    ask.add_argument("--reason", metavar="TEXT", required=True, help="why; it is what a reviewer reads")
    ask.add_argument("--ticket", metavar="TEXT", default="", help="where the incident is kept")
    ask.add_argument("--user", metavar="NAME", default="", help="who is to get it (default: you)")
    ask.add_argument("--group", metavar="NAME", default="", help="or everybody in this group")
    ask.add_argument("--name", metavar="NAME", default="", help="of the grant (default: one is made up)")
    ask.add_argument(
        "--self-approve", action="store_true", help="break the glass: approve it yourself, with an alarm"
    )
    ask.add_argument("--dry-run", action="store_true", help="say what would be, and change nothing")
    shared.add_client_options(ask, _request, "text", "json")
    for name, decision, text in (
        ("approve", "Approved", "let it hold from now on"),
        ("deny", "Denied", "refuse it for good"),
        ("revoke", "Revoked", "end it now"),
    ):
        decide = actions.add_parser(name, help=text, allow_abbrev=False)
        decide.add_argument("name", metavar="NAME", help="as `fairlead grants` shows it")
        shared.add_client_options(decide, _decide, "text", "json")
        decide.set_defaults(decision=decision)
    review = actions.add_parser("review", help="close the review of one that has ended", allow_abbrev=False)
    review.add_argument("name", metavar="NAME", help="as `fairlead grants` shows it")
    review.add_argument("--note", metavar="TEXT", required=True, help="what you found, in a sentence")
    shared.add_client_options(review, _review, "text", "json")


def _request(options: argparse.Namespace) -> int:
    if options.user and options.group:
        raise UsageError("--user and --group exclude each other")
    with closing(connect(options.kubeconfig)) as client:
        me = _whoami(client)
        subject = (
            {"kind": "Group", "name": options.group}
            if options.group
            else {"kind": "User", "name": options.user or me}
        )
        body = {
            "apiVersion": "fairlead.dev/v1",
            "kind": "AccessGrant",
            "metadata": {"name": options.name} if options.name else {"generateName": _prefix(me)},
            "spec": {
                "subject": subject,
                "role": _role(options.role),
                "reason": options.reason,
                "expiresAfter": options.lasts,
                **({"namespaces": options.namespace} if options.namespace else {}),
                **({"object": _object(options.object)} if options.object else {}),
                **({"ticket": options.ticket} if options.ticket else {}),
                **({"selfApproved": True} if options.self_approve else {}),
            },
        }
        grant = client.post(PATH, body, {"dryRun": "All"} if options.dry_run else None)
    if options.output == "json":
        print_json(grant)
        return 0
    name, status = grant["metadata"]["name"], grant.get("status") or {}
    if options.dry_run:
        print(
            f"{name} would be {'in force until ' + status['expiresAt'] if status else 'asked for'} (dry run)"
        )
    elif status:
        print(f"{name} holds until {status['expiresAt']}; an alarm was raised, and a review will follow")
    else:
        print(f"{name} is asked for and grants nothing yet")
        hint(f"Somebody else approves it: fairlead grant approve {name}")
    return 0


def _decide(options: argparse.Namespace) -> int:
    return _write(options, {"decision": options.decision})


def _review(options: argparse.Namespace) -> int:
    if not options.note.strip():
        raise UsageError("--note is empty: say what you found")
    return _write(options, {"review": {"note": options.note}})


def _write(options: argparse.Namespace, status: dict[str, Any]) -> int:
    with closing(connect(options.kubeconfig)) as client:
        try:
            grant = client.patch(f"{PATH}/{options.name}/status", {"status": status})
        except NotFound:
            raise NotFound(
                f"there is no grant {options.name}: `fairlead grants --all` shows those that there are"
            ) from None
    if options.output == "json":
        print_json(grant)
        return 0
    known = grant.get("status") or {}
    if "review" in status:
        print(f"the review of {options.name} is closed")
    elif known.get("decision") == "Approved":
        print(f"{options.name} holds until {known.get('expiresAt')}")
    else:
        print(f"{options.name} is {str(known.get('decision')).lower()}")
    return 0


def _whoami(client: ApiClient) -> str:
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    return str(client.post(_REVIEWS, body)["status"]["userInfo"]["username"])


def _prefix(user: str) -> str:
    """What the name of a grant begins with: whose it is, as far as a name can say it."""
    return (re.sub(r"[^a-z0-9]+", "-", user.lower()).strip("-")[:40] or "grant") + "-"


def _role(text: str) -> dict[str, str]:
    kind, slash, name = text.partition("/")
    if slash and kind.lower() not in ("role", "clusterrole"):
        raise UsageError(f"--role {text}: write the name of a ClusterRole, or role/NAME")
    return {
        "kind": "Role" if slash and kind.lower() == "role" else "ClusterRole",
        "name": name if slash else text,
    }


def _object(text: str) -> dict[str, str]:
    parts = text.split("/")
    if len(parts) not in (2, 3) or not all(parts):
        raise UsageError(
            f"--object {text}: write RESOURCE/NAME or RESOURCE/NAMESPACE/NAME, such as deployments.apps/shop/web"
        )
    resource, _, group = parts[0].partition(".")
    about = {"resource": resource, "name": parts[-1]}
    if group:
        about["group"] = group
    if len(parts) == 3:
        about["namespace"] = parts[1]
    return about
