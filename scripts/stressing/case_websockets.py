"""Sends messages and large frames through the gateway to an echo server and back, with an independent WebSocket library."""

import asyncio
import importlib.util
import random

from harness.checks import Skipped, equals
from harness.processes import free_port
from stressing.processes import TOKEN, say

# How many messages may be in transit at a time.
WINDOW = 64


async def run(processes, options):
    if not importlib.util.find_spec("websockets"):
        raise Skipped("Python's websockets package is missing (Debian: python3-websockets)")
    port = free_port()
    processes.python("echo", port).wait_for(port)
    gateway = processes.gateway(port)
    random.seed(1)
    messages = [message(number) for number in range(processes.share(10_000))]
    token, small = await echo(gateway.port, messages, "deflate")
    large = [random.randbytes(16 << 20) for _ in range(4)]
    say(f"websockets: {small} messages came back equal")
    _, whole = await echo(gateway.port, large, None)
    return [equals("the token is on the handshake", token == f"Bearer {TOKEN}", True),
            equals("messages that came back equal", small, len(messages)),
            equals("frames of 16 MiB that came back equal", whole, len(large)),
            equals("connections still counted by the gateway", await connections(gateway), 0)]


def message(number):
    """Returns a message of 0 to 4 KiB: bytes for an odd `number`, text for an even one."""
    size = random.randrange(4096)
    return random.randbytes(size) if number % 2 else "ü" * (size // 2)


async def echo(port, messages, compression):
    """Returns the `Authorization` value of the handshake, and how many messages came back unchanged and in order."""
    import websockets

    uri, options = f"ws://127.0.0.1:{port}/echo", {"compression": compression, "max_size": None}
    async with websockets.connect(uri, **options) as socket:
        token = await socket.recv()
        room, equal = asyncio.Semaphore(WINDOW), 0

        async def send():
            for one in messages:
                await room.acquire()
                await socket.send(one)

        sending = asyncio.create_task(send())
        for one in messages:
            equal += await socket.recv() == one
            room.release()
        await sending
    return token, equal


async def connections(gateway):
    """Returns how many caller connections the gateway still has after up to 5 s. An ended tunnel must leave none."""
    for _ in range(50):
        left = sum(established(gateway.port))
        if not left:
            break
        await asyncio.sleep(0.1)
    return left


def established(port):
    """Yields for each entry of /proc/net/tcp whether it is a connection of the listener at `port` that is open on its side."""
    with open("/proc/net/tcp") as table:
        for line in list(table)[1:]:
            fields = line.split()
            yield fields[1].endswith(f":{port:04X}") and fields[3] in ("01", "08")
