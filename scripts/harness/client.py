"""A plain HTTP/1.1 client, independent of Martlet's code."""

import asyncio
import time


class BrokenAnswer(Exception):
    pass


async def read_head(reader, first=b""):
    """Reads a response head. Returns the status and the fields, with names in lower case. `first` holds bytes already read."""
    lines = (first + await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    fields = dict((name.lower(), value.strip()) for name, _, value in (line.partition(":") for line in lines[1:] if line))
    return int(lines[0].split(" ")[1]), fields


class Caller:
    """Has one connection at a time and keeps it until the server closes it. `port` is a TCP port of this host, a pair of a host and
    a port, or the path of a Unix socket."""

    def __init__(self, port):
        self.port, self.reader, self.writer = port, None, None
        # Whether at least one byte of the response to the last request has arrived.
        self.has_answer = False

    async def get(self, path):
        """Returns the status of the response; the body is read and discarded."""
        return (await self.fetch("GET", path))[0]

    async def fetch(self, method, path, fields=None, body=b""):
        """Returns the status, the fields and the body of the response."""
        if not self.writer:
            if isinstance(self.port, str):
                self.reader, self.writer = await asyncio.open_unix_connection(self.port)
            else:
                host, port = self.port if isinstance(self.port, tuple) else ("127.0.0.1", self.port)
                self.reader, self.writer = await asyncio.open_connection(host, port)
        self.has_answer = False
        lines = [f"{method} {path} HTTP/1.1", "Host: localhost", *(f"{name}: {value}" for name, value in (fields or {}).items())]
        if method != "GET":
            lines.append(f"Content-Length: {len(body)}")
        self.writer.write("\r\n".join([*lines, "", ""]).encode() + body)
        first = await self.reader.readexactly(1)
        self.has_answer = True
        status, got = await read_head(self.reader, first)
        # A 204 response has neither a body nor a Content-Length.
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
    """Returns how long a new connection and one request take, in seconds, or `limit` if they fail or take longer."""
    caller, started = Caller(port), time.monotonic()
    try:
        status = await asyncio.wait_for(caller.get(path), limit)
        return time.monotonic() - started if status == 200 else limit
    except (OSError, asyncio.IncompleteReadError, asyncio.TimeoutError, BrokenAnswer):
        return limit
    finally:
        caller.close()


async def load(port, seconds, rate=100, workers=8):
    """Sends `rate` requests a second on kept connections. Returns the sorted response times and the number of failed requests."""
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
