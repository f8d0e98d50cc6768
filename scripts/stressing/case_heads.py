"""Heads that never end, on thousands of connections, must share their memory, and give it back."""

import asyncio
import contextlib
import socket

from harness.checks import Check, at_most
from harness.client import answer_time
from stressing.processes import say

HEAD = b"GET /small HTTP/1.1\r\nHost: localhost\r\n" + b"".join(b"X-%d: " % number + b"a" * 10_000 + b"\r\n" for number in range(3))


async def run(processes, options):
    count = processes.share(9900)
    processes.need_descriptors(2 * count + 2500)
    gateway = processes.gateway(processes.upstream())
    for _ in range(200):
        await answer_time(gateway.port)
    before = gateway.memory("VmRSS")
    sockets = await asyncio.to_thread(send, gateway.port, count)
    held = gateway.memory("VmHWM")
    slowest = await answer_time(gateway.port)
    for one in sockets:
        one.close()
    after = gateway.memory("VmRSS")
    for _ in range(30):
        if (after - before) / 1024 <= 10:
            break
        await asyncio.sleep(1)
        after = gateway.memory("VmRSS")
    return [at_most(f"memory that {count} unfinished heads cost (RSS)", (held - before) / 1024, 80, "MiB"),
            at_most("a request beside them", slowest * 1000, 1000, "ms"),
            at_most("memory 30 s after their end (RSS)", (after - before) / 1024, 40, "MiB"),
            Check("bytes of each head", str(len(HEAD)), "-", True)]


def send(port, count):
    sockets = []
    for number in range(count):
        one = socket.create_connection(("127.0.0.1", port), 10)
        with contextlib.suppress(OSError):
            one.sendall(HEAD)
        sockets.append(one)
        if number % 2500 == 2499:
            say(f"heads: {number + 1} connections")
    return sockets
