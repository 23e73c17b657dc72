"""A relay before a Fairlead server that holds one watch back while a file exists: what a network does to one connection.

    held_back.py DATA_DIR RESOURCE FLAG > KUBECONFIG

Prints a kubeconfig that leads through it, then relays until it is ended. It shows the server's own certificate, which it
reads from DATA_DIR (both are on this machine). Everything passes but what a watch of RESOURCE tells: that waits in the
relay while FLAG exists, in order, and passes when FLAG is gone.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import sys
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

_CHUNK = 65536
_LOOK_SECONDS = 0.05


class Relay:
    def __init__(self, directory: Path, resource: str, flag: Path) -> None:
        said = (directory / "kubeconfig").read_text()
        self.server = next(line.split()[-1].strip('"') for line in said.splitlines() if "server:" in line)
        address = urlsplit(self.server)
        self._address = address.hostname or "127.0.0.1", address.port or 443
        self._trusts = ssl.create_default_context(cafile=directory / "identity" / "ca.crt")
        self._shows = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._shows.load_cert_chain(
            directory / "identity" / "server.crt", directory / "identity" / "server.key"
        )
        self._resource, self._flag = resource.encode(), flag
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.kubeconfig = said.replace(self.server, f"https://127.0.0.1:{self._listening.getsockname()[1]}")

    def run(self) -> None:
        while True:
            client, _ = self._listening.accept()
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, accepted: socket.socket) -> None:
        try:
            client = self._shows.wrap_socket(accepted, server_side=True)
            server = self._trusts.wrap_socket(
                socket.create_connection(self._address), server_hostname=self._address[0]
            )
        except OSError:
            accepted.close()
            return
        held = threading.Event()
        asks = threading.Thread(target=self._pass, args=(client, server, held, True), daemon=True)
        asks.start()
        self._pass(server, client, held, False)
        asks.join(1)
        client.close()
        server.close()

    def _pass(
        self, source: ssl.SSLSocket, sink: ssl.SSLSocket, held: threading.Event, is_request: bool
    ) -> None:
        """A connection that has asked for the watch is the watch's alone from there on."""
        try:
            while chunk := source.recv(_CHUNK):
                if is_request and self._resource in chunk.split(b"\r\n", 1)[0] and b"watch=" in chunk:
                    held.set()
                while not is_request and held.is_set() and self._flag.exists():
                    time.sleep(_LOOK_SECONDS)
                sink.sendall(chunk)
        except OSError:
            pass
        for each in (source, sink):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


if __name__ == "__main__":
    relay = Relay(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
    print(relay.kubeconfig, flush=True)
    sys.stdout.close()
    relay.run()
