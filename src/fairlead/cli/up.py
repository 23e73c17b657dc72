"""`fairlead up`: a whole plane on this machine, in the foreground, until Ctrl-C or SIGTERM."""

from __future__ import annotations

import argparse

from fairlead.cli.serving import add_options, settings

_EPILOG = """examples:
  fairlead up                                       https://127.0.0.1:7443, data in ./fairlead-data
  fairlead up --data-dir /var/lib/fairlead --port 8443
  kubectl --kubeconfig fairlead-data/kubeconfig get namespaces
  curl --cacert fairlead-data/identity/ca.crt https://127.0.0.1:7443/readyz

The first start makes a certificate authority, a server certificate and an admin's kubeconfig in the data
directory, readable by you only. Later starts keep them.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EPILOG
    add_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    chosen = settings(options, banner=True)
    from fairlead.runtime import server  # the whole server: only once the options are known to be good

    return server.run(chosen)
