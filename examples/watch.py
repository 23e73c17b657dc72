"""Follow ConfigMaps: list them once, then watch from the revision of that list. Standard library only.

    python examples/watch.py [--data-dir fairlead-data] [--namespace default] [--events N]

Shows what every controller does: list, remember the revision, watch from it, and after a dropped connection go on
from the last revision seen. Nothing is missed and nothing is seen twice. When the server no longer keeps that
revision it answers 410, and the only right thing is to list again.
"""

from __future__ import annotations

import argparse
import http.client
import json
import re
import ssl
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit


class Gone(Exception):
    """The revision is older than the server's history."""


class Plane:
    """How to reach one server, read from the files that `fairlead up` wrote."""

    def __init__(self, data_dir: Path) -> None:
        text = (data_dir / "kubeconfig").read_text()
        server = re.search(r'server: "([^"]+)"', text)
        token = re.search(r'token: "([^"]+)"', text)
        if server is None or token is None:
            raise SystemExit(f"{data_dir}/kubeconfig names no server or no token")
        self._address = urlsplit(server[1]).netloc
        self._token = token[1]
        self._tls = ssl.create_default_context(cafile=data_dir / "identity" / "ca.crt")

    def get(self, path: str, **query: str) -> http.client.HTTPResponse:
        connection = http.client.HTTPSConnection(self._address, timeout=60, context=self._tls)
        headers = {"Authorization": f"Bearer {self._token}", "Accept": "application/json"}
        connection.request("GET", f"{path}?{urlencode(query)}", headers=headers)
        answer = connection.getresponse()
        if answer.status == 410:
            raise Gone
        if answer.status == 429 or answer.status >= 500:
            raise ConnectionError(f"the server answered {answer.status}")
        if answer.status != 200:
            raise SystemExit(f"{answer.status}: {json.load(answer).get('message')}")
        return answer


def follow(plane: Plane, path: str) -> Iterator[tuple[str, Any]]:
    """(type, object) for what there is, then for every change, for ever."""
    revision = ""
    while True:
        try:
            if not revision:
                listed = json.load(plane.get(path))
                revision = listed["metadata"]["resourceVersion"]
                for item in listed["items"]:
                    yield "LISTED", item
            stream = plane.get(
                path, watch="true", resourceVersion=revision, allowWatchBookmarks="true", timeoutSeconds="300"
            )
            for line in stream:
                event = json.loads(line)
                if event["type"] == "ERROR":  # the stream fell behind what the server keeps
                    raise Gone
                revision = event["object"]["metadata"]["resourceVersion"]
                if event["type"] != "BOOKMARK":
                    yield event["type"], event["object"]
        except Gone:
            revision = ""
        except (OSError, http.client.HTTPException) as problem:
            print(f"connection lost ({problem}); going on after revision {revision}", file=sys.stderr)
            time.sleep(0.5)


def main() -> None:
    parser = argparse.ArgumentParser(description="Follow ConfigMaps.")
    parser.add_argument("--data-dir", type=Path, default=Path("fairlead-data"))
    parser.add_argument("--namespace", default="default")
    parser.add_argument("--events", type=int, default=0, help="stop after this many changes (0: never)")
    options = parser.parse_args()
    seen = 0
    path = f"/api/v1/namespaces/{options.namespace}/configmaps"
    for kind, obj in follow(Plane(options.data_dir), path):
        metadata = obj["metadata"]
        print(f"{kind:<8} {metadata['name']} at revision {metadata['resourceVersion']}", flush=True)
        seen += kind != "LISTED"
        if options.events and seen >= options.events:
            return


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
