"""`fairlead kinds`: the kinds of fairlead.dev as CustomResourceDefinitions, to be applied to a Kubernetes."""

from __future__ import annotations

import argparse

from fairlead.api.definitions import definitions
from fairlead.cli.output import print_json
from fairlead.model.files import load_tables

EPILOG = """examples:
  fairlead kinds | kubectl apply --server-side -f -    install them, or bring them up to date
  fairlead kinds | kubectl delete -f -                 remove them, and all objects of these kinds

A Fairlead server has these kinds by itself. Beside Kubernetes, start `fairlead control` again after installing them.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    print_json({"apiVersion": "v1", "kind": "List", "items": definitions(load_tables())})
    return 0
