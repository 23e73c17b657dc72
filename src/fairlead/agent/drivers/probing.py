"""Probes over the network: one look at a port or an HTTP address, judged as the kubelet does.

Called by `process.py`; exec probes go to the pod's supervisor instead. Certificates are not verified: a probe asks
whether somebody answers, not who. Redirects are not followed: any status from 200 to 399 is good.
"""

from __future__ import annotations

import asyncio
import ssl
from typing import Any

Json = dict[str, Any]
#: bound: processes | first line of an answer to a probe | it fails
HEAD_BYTES_MAX = 64 * 1024


async def look(action: Json, timeout_seconds: float) -> tuple[bool, str]:
    """Whether it is good, and what to tell. Never raises for what the other side does."""
    try:
        async with asyncio.timeout(timeout_seconds):
            if "httpGet" in action:
                return await _http(action["httpGet"])
            if "tcpSocket" in action:
                return await _tcp(action["tcpSocket"])
    except TimeoutError:
        return False, f"{_target(action)}: no answer within {timeout_seconds:g} s"
    except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError) as error:
        return False, f"{_target(action)}: {_words(error)}"
    return False, "a probe needs exec, httpGet or tcpSocket"


def _target(action: Json) -> str:
    if "httpGet" in action:
        return f'Get "{_url(action["httpGet"])}"'
    return f"dial tcp {action['tcpSocket'].get('host', '')}:{action['tcpSocket'].get('port', '')}"


def _url(get: Json) -> str:
    return f"{_scheme(get)}://{_bracketed(str(get.get('host', '')))}:{get.get('port')}{_path(get)}"


def _scheme(get: Json) -> str:
    return str(get.get("scheme") or "HTTP").lower()


def _path(get: Json) -> str:
    path = str(get.get("path") or "/")
    return path if path.startswith("/") else f"/{path}"


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _words(error: Exception) -> str:
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    if isinstance(error, asyncio.IncompleteReadError):
        return "the connection was closed before an answer came"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__


async def _tcp(socket: Json) -> tuple[bool, str]:
    _, writer = await asyncio.open_connection(str(socket.get("host", "")), int(socket["port"]))
    writer.close()
    return True, ""


async def _http(get: Json) -> tuple[bool, str]:
    request = _request(get)
    context: ssl.SSLContext | None = None
    if _scheme(get) == "https":
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    reader, writer = await asyncio.open_connection(
        str(get.get("host", "")), int(get["port"]), ssl=context, limit=HEAD_BYTES_MAX
    )
    try:
        writer.write(request)
        line = await reader.readuntil(b"\n")
    finally:
        writer.transport.abort()  # the body is nobody's interest
    version, _, rest = line.partition(b" ")
    status = rest[:3]
    if not version.startswith(b"HTTP/") or not status.isdigit():
        raise ValueError(f"what came back is not HTTP: {line[:64]!r}")
    if 200 <= int(status) < 400:
        return True, ""
    return False, f"HTTP probe failed with statuscode: {int(status)}"


def _request(get: Json) -> bytes:
    headers = {"host": f"{_bracketed(str(get.get('host', '')))}:{get['port']}"}
    headers |= {"user-agent": "fairlead-probe/1", "accept": "*/*", "connection": "close"}
    for header in get.get("httpHeaders") or ():
        headers[str(header["name"]).lower()] = str(header.get("value", ""))
    lines = [f"GET {_path(get)} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    if any("\r" in line or "\n" in line for line in lines):
        raise ValueError("path and httpHeaders must not contain line breaks")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("utf-8")
