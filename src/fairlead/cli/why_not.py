"""`fairlead why-not`: what each filter says of one pod on one node, and the score the node would get."""

from __future__ import annotations

import argparse

from fairlead.cli import options as shared
from fairlead.cli.client import connect
from fairlead.cli.output import print_json, print_table
from fairlead.cli.pods import pod_name, score_header, score_row
from fairlead.core.errors import UsageError
from fairlead.model.names import subdomain_problems

PATH = "/fairlead/v1/why-not"
_EPILOG = """examples:
  fairlead why-not pod/web-0 node-7               every filter's answer for node-7, with numbers
  fairlead why-not pod/web-0 node-7 -n shop -o json

For a pod that waits the answer is of now; for one that has a node, of the moment in which it was placed. Unlike an
attempt, which stops at the first filter that refuses a node, all are asked.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EPILOG
    parser.add_argument("pod", metavar="pod/NAME", help="the pod; its name alone works, too")
    parser.add_argument("node", metavar="NODE", help="the node it is not on")
    shared.namespace(parser, "namespace (default: the kubeconfig's, or default)")
    shared.output(parser, "table", "json")
    shared.kubeconfig(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    name, node = pod_name(options.pod), options.node.removeprefix("node/")
    if subdomain_problems(node):
        raise UsageError(f"{options.node!r} does not name a node")
    client = connect(options.kubeconfig)
    try:
        namespace = options.namespace or client.target.namespace
        answer = client.get(f"{PATH}/{namespace}/{name}/{node}")
    finally:
        client.close()
    if options.output == "json":
        print_json(answer)
        return 0
    print(f"pod/{name} on {node}, {answer['when']}: {answer['outcome']}")
    if answer["evictingHelps"]:
        print("it would take it if pods of lower priority were evicted there")
    print()
    print_table(
        ("FILTER", "ANSWER", "DETAIL"),
        [
            (
                each["filter"],
                "passes" if each["passes"] else "refuses",
                _detail(each["reason"], each["detail"]),
            )
            for each in answer["filters"]
        ],
    )
    rated = [answer["score"]]
    if answer["best"] is not None and answer["best"]["node"] != node:
        rated.append(answer["best"])
    plugins = list(answer["score"]["parts"])
    print()
    print_table(score_header(plugins, answer["weights"]), [score_row(each, plugins) for each in rated])
    return 0


def _detail(reason: str, detail: str) -> str:
    return f"{reason}: {detail}" if reason and detail else reason or detail
