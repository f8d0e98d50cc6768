"""A large upload and a large download. The gateway must hold only a small part of either in memory."""

import asyncio

from harness.checks import at_most, equals
from harness.client import read_head

PIECE = b"x" * 65536


async def run(processes, options):
    size = processes.share(1 << 30)
    upstream = processes.upstream()
    checks = []
    for what, transfer in (("upload", upload), ("download", download)):
        # A new gateway for each transfer, because VmHWM is the peak of a process's whole life.
        gateway = processes.gateway(upstream)
        arrived = await transfer(gateway.port, size)
        checks.append(equals(f"bytes of the {what} that arrived", arrived, size))
        checks.append(at_most(f"memory for the {what} (VmHWM)", gateway.memory("VmHWM") / 1024, 100, "MiB"))
    return checks


async def upload(port, size):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"POST /sink HTTP/1.1\r\nHost: localhost\r\nContent-Length: {size}\r\n\r\n".encode())
    left = size
    while left > 0:
        writer.write(PIECE[:left])
        left -= len(PIECE)
        await writer.drain()
    _, fields = await read_head(reader)
    arrived = int(await reader.readexactly(int(fields["content-length"])))
    writer.close()
    return arrived


async def download(port, size):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET /bytes/{size} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    await read_head(reader)
    arrived = 0
    while piece := await reader.read(1 << 20):
        arrived += len(piece)
    writer.close()
    return arrived
