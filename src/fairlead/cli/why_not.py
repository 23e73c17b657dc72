"""`fairlead why-not`: what each filter says of one pod on one node, and the score the node would get."""

from __future__ import annotations

import argparse
from contextlib import closing

from fairlead.cli import options as shared
from fairlead.cli.client import connect
from fairlead.cli.output import print_json, print_table
from fairlead.cli.pods import ask, named_node, named_pod, score_header, score_row

PATH = "/fairlead/v1/why-not"
EPILOG = """examples:
  fairlead why-not pod/web-0 node-7               every filter's answer for node-7, with numbers
  fairlead why-not pod/web-0 node-7 -n shop -o json

For a pod that waits the answer is of now; for one that has a node, of the moment in which it was placed. Unlike an
attempt, which stops at the first filter that refuses a node, all are asked.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("pod", metavar="pod/NAME", help="the pod; its name alone works, too")
    parser.add_argument("node", metavar="NODE", help="the node it is not on")
    shared.add_namespace(parser, "namespace (default: the kubeconfig's, or default)")
    shared.add_client_options(parser, run, "table", "json")


def run(options: argparse.Namespace) -> int:
    with closing(connect(options.kubeconfig)) as client:
        pod = named_pod(client, options.pod, options.namespace)
        place = named_node(client, options.node)
        name, node = pod.name, place.name
        answer = ask(client, f"{PATH}/{pod.namespace}/{name}/{node}", {}, [pod, place])
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
