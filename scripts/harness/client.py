"""A caller that knows nothing of Martlet but HTTP/1.1."""

import asyncio
import time


class BrokenAnswer(Exception):
    pass


async def read_head(reader, first=b""):
    """The status and the fields, names in lower case; `first` is what was read of it before."""
    lines = (first + await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    fields = dict((name.lower(), value.strip()) for name, _, value in (line.partition(":") for line in lines[1:] if line))
    return int(lines[0].split(" ")[1]), fields


class Caller:
    """One connection at a time, kept as long as the other side keeps it; `port` may be the path of a Unix socket."""

    def __init__(self, port):
        self.port, self.reader, self.writer = port, None, None
        # Whether the last request had at least a byte of an answer.
        self.has_answer = False

    async def get(self, path):
        """The status of the answer, whose body is read and forgotten."""
        return (await self.fetch("GET", path))[0]

    async def fetch(self, method, path, fields=None, body=b""):
        """The status, the fields and the body of the answer."""
        if not self.writer:
            if isinstance(self.port, str):
                self.reader, self.writer = await asyncio.open_unix_connection(self.port)
            else:
                self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        self.has_answer = False
        lines = [f"{method} {path} HTTP/1.1", "Host: localhost", *(f"{name}: {value}" for name, value in (fields or {}).items())]
        if method != "GET":
            lines.append(f"Content-Length: {len(body)}")
        self.writer.write("\r\n".join([*lines, "", ""]).encode() + body)
        first = await self.reader.readexactly(1)
        self.has_answer = True
        status, got = await read_head(self.reader, first)
        # An answer that says 204 has no body, nor its length.
        if "content-length" not in got and status != 204:
            raise BrokenAnswer("an answer without a length")
        content = await self.reader.readexactly(int(got.get("content-length", 0)))
        if got.get("connection", "").lower() == "close":
            self.close()
        return status, got, content

    def close(self):
        if self.writer:
            self.writer.close()
        self.reader = self.writer = None


async def answer_time(port, path="/small", limit=10):
    """How long a new connection and one answer take, in seconds; `limit` when it fails or takes longer."""
    caller, started = Caller(port), time.monotonic()
    try:
        status = await asyncio.wait_for(caller.get(path), limit)
        return time.monotonic() - started if status == 200 else limit
    except (OSError, asyncio.IncompleteReadError, asyncio.TimeoutError, BrokenAnswer):
        return limit
    finally:
        caller.close()


async def load(port, seconds, rate=100, workers=8):
    """Answer times of so many requests a second, on connections that are kept; and how many failed."""
    times, failed = [], 0
    start = time.monotonic()

    async def work(number):
        nonlocal failed
        caller = Caller(port)
        for turn in range(number, int(seconds * rate), workers):
            await asyncio.sleep(max(0, start + turn / rate - time.monotonic()))
            began = time.monotonic()
            try:
                failed += await asyncio.wait_for(caller.get("/small"), 10) != 200
            except (OSError, asyncio.IncompleteReadError, asyncio.TimeoutError, BrokenAnswer):
                caller.close()
                failed += 1
            times.append(time.monotonic() - began)
        caller.close()

    await asyncio.gather(*(work(number) for number in range(workers)))
    return sorted(times), failed


def p99(times):
    return times[len(times) * 99 // 100]
