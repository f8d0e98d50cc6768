"""A kill during a 1 GiB download, a stream of server-sent events and an open WebSocket. With `abort` all are cut at once. With
`drain` they run to their end and no new stream begins."""

import asyncio
import sys
import time

from faulting.case_kills import done
from faulting.verdicts import counted
from harness.checks import Check, Skipped, at_most, equals
from harness.processes import Process, free_port

try:
    import websockets
except ImportError:
    websockets = None

GIGABYTE, EVENTS = 1 << 30, 80
CUT_MS = 250


async def run(run):
    if not websockets:
        raise Skipped("Python's websockets package is missing (Debian: python3-websockets)")
    port = free_port()
    echo = Process("the WebSocket server", [sys.executable, "-m", "stressing.echo", str(port)], None)
    try:
        echo.wait_for(port)
        for streams in ("abort", "drain"):
            async with run.with_cluster(1, count=1, access_ttl="600s", direct=True, sockets=port) as cluster:
                await cluster.sign_in()
                run.checks += await kill_streams(cluster, streams)
    finally:
        echo.end()


async def kill_streams(cluster, streams):
    gateway, account = cluster.gateways[0], cluster.accounts[0]
    # Reads slowly, so that the download is in progress when the kill comes.
    download = Stream(gateway.port, f"/{account}/bytes/{GIGABYTE}", pace=0.001)
    events = Stream(gateway.port, f"/{account}/stream/{EVENTS}?every=50ms")
    socket = Socket(gateway.port, account)
    all_of_them = {"download": download, "events": events, "websocket": socket}
    tasks = [asyncio.create_task(one.run()) for one in all_of_them.values()]
    try:
        while not all(one.received > 3 for one in all_of_them.values()):
            await asyncio.sleep(0.05)
        began = time.monotonic()
        report = await done(gateway, "POST", "/v1/kill", {"scope": {"account": account}, "reason": "drill", "streams": streams})
        if streams == "abort":
            await asyncio.sleep(1)
            checks = [at_most(f"{streams}: {name} was cut after", (one.ended - began) * 1000 if one.ended else 99999, CUT_MS, "ms")
                      for name, one in all_of_them.items()]
            return [*checks, equals(f"{streams}: streams that looked whole", [name for name, one in all_of_them.items() if one.is_whole], [])]
        status = await status_of(gateway.port, f"/{account}/stream/1?every=1ms")
        before, socket_before = events.received, socket.received
        await asyncio.sleep(1)
        is_open = {name: one.ended is None for name, one in all_of_them.items()}
        download.pace = 0
        socket.leave()
        await asyncio.wait_for(asyncio.gather(*tasks), 60)
        return [equals(f"{streams}: kept open for a second after the kill", is_open, {name: True for name in is_open}),
                Check(f"{streams}: what came meanwhile", f"{events.received - before} pieces, {socket.received - socket_before} messages",
                      "some of each", socket.received > socket_before and (events.received > before)),
                equals(f"{streams}: ended whole", {name: one.is_whole for name, one in all_of_them.items()}, {name: True for name in is_open}),
                equals(f"{streams}: a new request is answered", status, 503),
                counted(f"{streams}: counted as draining", report["draining"])]
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Stream:
    """A long response. `received` counts the pieces read; `is_whole` tells whether all of it arrived."""

    def __init__(self, port, path, pace=0):
        self.port, self.path, self.pace = port, path, pace
        self.received, self.ended, self.is_whole = 0, None, False

    async def run(self):
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 16)
        try:
            writer.write(f"GET {self.path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
            head = await reader.readuntil(b"\r\n\r\n")
            size = int(dict(line.lower().split(b":", 1) for line in head.split(b"\r\n") if b":" in line).get(b"content-length", -1))
            count, last = 0, b""
            while piece := await reader.read(1 << 16):
                self.received += 1
                count += len(piece)
                last = (last + piece)[-7:]
                if self.pace:
                    await asyncio.sleep(self.pace)
            self.is_whole = count == size if size >= 0 else last.endswith(b"0\r\n\r\n")
        except OSError:
            pass
        finally:
            self.ended = time.monotonic()
            writer.close()


class Socket:
    """A WebSocket client that sends messages and reads the echoes until `leave` is called."""

    def __init__(self, port, account):
        self.address = f"ws://127.0.0.1:{port}/sockets/{account}/"
        self.received, self.ended, self.is_whole = 0, None, False
        self.leaving = asyncio.Event()

    def leave(self):
        self.leaving.set()

    async def run(self):
        try:
            async with websockets.connect(self.address) as socket:
                await socket.recv()
                while not self.leaving.is_set():
                    await socket.send("ping")
                    await asyncio.wait_for(socket.recv(), 10)
                    self.received += 1
                    await asyncio.sleep(0.02)
            self.is_whole = True
        except (OSError, websockets.WebSocketException):
            pass
        finally:
            self.ended = time.monotonic()


async def status_of(port, path):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    line = await reader.readline()
    writer.close()
    return int(line.split()[1])
