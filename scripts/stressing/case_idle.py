"""Callers that got one response and keep their connection. Measures the memory of each idle connection."""

import asyncio
import socket

from harness.checks import at_most, equals
from harness.client import answer_time
from stressing.processes import say

REQUEST = b"GET /small HTTP/1.1\r\nHost: localhost\r\n\r\n"


async def run(processes, options):
    count = processes.share(10_000)
    # The gateway reserves a descriptor for an upstream connection of each caller, and some more.
    processes.need_descriptors(2 * count + 2500)
    gateway = processes.gateway(processes.upstream())
    # The first requests load code and data into memory, which must not count as the memory of a connection.
    for _ in range(200):
        await answer_time(gateway.port)
    before = gateway.memory("VmRSS")
    sockets, answered = await asyncio.to_thread(settle, gateway.port, count)
    per_connection = (gateway.memory("VmRSS") - before) / count
    for one in sockets:
        one.close()
    return [equals("connections that were answered", answered, count),
            at_most("memory of each (RSS)", per_connection, 12, "KiB")]


def settle(port, count):
    sockets, answered = [], 0
    for number in range(count):
        one = socket.create_connection(("127.0.0.1", port), 10)
        one.sendall(REQUEST)
        answered += one.recv(4096).startswith(b"HTTP/1.1 200")
        sockets.append(one)
        if number % 2500 == 2499:
            say(f"idle: {number + 1} connections")
    return sockets, answered
