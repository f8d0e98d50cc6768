"""A caller that shows what a cache says about its answers."""

import asyncio
import dataclasses
import json
import time

from harness.client import read_head

LIMIT = 40


@dataclasses.dataclass
class Answer:
    """`status` is 0 if the connection closed before the end of the answer. Times are of the monotonic clock."""

    status: int
    fields: dict
    body: bytes
    sent_at: float
    head_at: float
    end_at: float

    @property
    def cache(self):
        """What Martlet's Cache-Status says, such as {"fwd": "stale", "fwd-status": "304", "stored": True}. Empty without one."""
        line = self.fields.get("cache-status", "")
        name, *parameters = (one.strip() for one in line.rpartition(",")[2].split(";"))
        return {key: value or True for key, _, value in (one.partition("=") for one in parameters)} if name == "martlet" else {}

    @property
    def is_hit(self):
        return bool(self.cache.get("hit"))

    @property
    def origin(self):
        """The serial number that the upstream gave the answer, and when the upstream got that request. Empty for other answers."""
        try:
            said = json.loads(self.body.partition(b"\n")[0])
        except ValueError:
            return {}
        return said if isinstance(said, dict) and "serial" in said else {}

    @property
    def serial(self):
        return self.origin.get("serial")


class Caller:
    """Keeps one connection. `fields` go into each of its requests."""

    def __init__(self, port, fields=None):
        self.port, self.fields, self.reader, self.writer = port, fields or {}, None, None

    async def get(self, target, fields=None, method="GET", body=b""):
        """Sends one request; returns the answer. An answer that is cut has status 0."""
        sent_at = time.monotonic()
        try:
            return await asyncio.wait_for(self.exchange(target, {**self.fields, **(fields or {})}, method, body, sent_at), LIMIT)
        except (OSError, asyncio.IncompleteReadError, asyncio.TimeoutError):
            self.close()
            return Answer(0, {}, b"", sent_at, 0, time.monotonic())

    async def exchange(self, target, fields, method, body, sent_at):
        await self.send(target, fields, method, body)
        status, got = await read_head(self.reader)
        head_at = time.monotonic()
        content = b""
        if method != "HEAD" and status not in (204, 304):
            content = await self.content(got)
        if got.get("connection", "").lower() == "close":
            self.close()
        return Answer(status, got, content, sent_at, head_at, time.monotonic())

    async def send(self, target, fields=None, method="GET", body=b""):
        """Sends a request and reads nothing."""
        await self.connect()
        lines = [f"{method} {target} HTTP/1.1", "Host: localhost", *(f"{name}: {value}" for name, value in (fields or {}).items())]
        if body or method not in ("GET", "HEAD"):
            lines.append(f"Content-Length: {len(body)}")
        self.writer.write("\r\n".join([*lines, "", ""]).encode() + body)

    async def connect(self):
        if not self.writer:
            self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)

    async def content(self, fields):
        if fields.get("transfer-encoding", "").lower() != "chunked":
            return await self.reader.readexactly(int(fields["content-length"]))
        content = b""
        while size := int(await self.reader.readline(), 16):
            content += await self.reader.readexactly(size)
            await self.reader.readline()
        await self.reader.readline()
        return content

    def close(self):
        if self.writer:
            self.writer.close()
        self.reader = self.writer = None
