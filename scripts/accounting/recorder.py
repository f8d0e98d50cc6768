"""A proxy in front of the provider's endpoints, in a process of its own: python3 -m accounting.recorder PORT FILE. It writes a line
for each request, and changes nothing. A line has the time of the monotonic clock, which all processes share, the path's last segment,
a digest of the refresh token that the account began with, and the status of the answer."""

import asyncio
import contextlib
import hashlib
import json
import os
import re
import subprocess
import sys
import time
import typing
import urllib.parse

from harness.client import read_head
from harness.processes import Process


def digest(token):
    """Tells tokens apart. The token itself is never written."""
    return hashlib.sha256(token.encode()).hexdigest()[:20]


class Entry(typing.NamedTuple):
    at: float
    kind: str
    origin: str
    status: int


class Recording:
    """A recorder that runs."""

    def __init__(self, site, provider):
        self.path = site.home / f"requests-{len(site.recordings)}.txt"
        command = [sys.executable, "-m", "accounting.recorder", provider.url.rpartition(":")[2], self.path]
        with open(site.home / "recorder.log", "ab") as log:
            self.process = Process("recorder", command, log, stdout=subprocess.PIPE, env=os.environ)
        self.url = f"http://127.0.0.1:{self.process.first_line().strip()}"

    def entries(self, kind):
        """What was recorded so far, in the order of arrival."""
        lines = self.path.read_text().splitlines()
        entries = (Entry(float(at), what, origin, int(status)) for at, what, origin, status in (line.split() for line in lines))
        return sorted(entry for entry in entries if entry.kind == kind)


def excess(entries, rate):
    """The most requests that came in any period beyond `rate` a second: the burst."""
    most, least = 0, float("inf")
    for number, entry in enumerate(entries):
        least = min(least, number - rate * entry.at)
        most = max(most, number + 1 - rate * entry.at - least)
    return most


class Recorder:
    def __init__(self, port, file):
        # The digest that an account began with, for each of its refresh tokens that was seen since.
        self.port, self.file, self.origins = port, file, {}

    async def serve(self, reader, writer):
        provider = None
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            try:
                provider = await asyncio.open_connection("127.0.0.1", self.port)
                while await self.exchange(reader, writer, *provider):
                    pass
            finally:
                for one in (writer, provider and provider[1]):
                    if one:
                        one.close()

    async def exchange(self, reader, writer, provider_reader, provider_writer):
        """Passes a request and its answer on. Returns whether the connections stay."""
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
        body = await reader.readexactly(int(length[1]) if length else 0)
        at, form = time.monotonic(), urllib.parse.parse_qs(body.decode())
        provider_writer.write(head + body)
        raw = await provider_reader.readuntil(b"\r\n\r\n")
        feed = asyncio.StreamReader()
        feed.feed_data(raw)
        status, fields = await read_head(feed)
        content = await provider_reader.readexactly(int(fields.get("content-length", 0)))
        token = digest((form.get("refresh_token") or form.get("token") or [""])[0])
        origin = self.origins.get(token, token)
        with contextlib.suppress(ValueError, KeyError, TypeError):
            self.origins[digest(json.loads(content)["refresh_token"])] = origin
        kind = head.split(b" ", 2)[1].split(b"?")[0].rpartition(b"/")[2].decode()
        self.file.write(f"{at:.6f} {kind} {origin} {status}\n")
        writer.write(raw + content)
        await writer.drain()
        return fields.get("connection", "").lower() != "close"


async def main(port, path):
    # Line by line, so that the end of the process loses nothing.
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "w", buffering=1) as file:
        server = await asyncio.start_server(Recorder(port, file).serve, "127.0.0.1", 0, backlog=1024)
        print(server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), sys.argv[2]))
