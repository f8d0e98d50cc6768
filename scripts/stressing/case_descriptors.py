"""More connections than file descriptors. The gateway sheds connections, stays reachable for operators, and recovers."""

import asyncio
import time

from harness.checks import Check, at_most, equals
from harness.client import answer_time
from stressing.processes import say

LIMIT = 256


async def run(processes, options):
    # At least twice the limit, so that the gateway can't accept all of them.
    count = max(2 * LIMIT, processes.share(1000))
    gateway = processes.gateway(processes.upstream(), descriptors=LIMIT)
    outcomes, connections = {}, []
    begun = time.monotonic()
    await asyncio.gather(*(hold(gateway.port, outcomes, connections) for _ in range(count)))
    say("descriptors: " + ", ".join(f"{number} {what}" for what, number in sorted(outcomes.items())))
    # The accepted connections are still open.
    admin = max([await answer_time(gateway.admin, "/healthz") for _ in range(5)])
    for writer in connections:
        writer.close()
    left = time.monotonic()
    while await answer_time(gateway.port, limit=1) >= 1 and time.monotonic() < left + 30:
        await asyncio.sleep(0.1)
    return [equals("the gateway lives", gateway.is_alive, True),
            equals(f"connections of {count} left without an answer or an end", outcomes.get("left waiting", 0), 0),
            Check("answered at once", str(outcomes.get("answered", 0)), "more than 0", outcomes.get("answered", 0) > 0),
            at_most("slowest answer of the admin listener", admin * 1000, 1000, "ms"),
            at_most("until callers are served again", time.monotonic() - left, 5, "s"),
            Check("all of it", f"{time.monotonic() - begun:.1f} s", "-", True)]


async def hold(port, outcomes, connections):
    """Sends one request and keeps the connection open. Counts the outcome."""
    outcome = "refused or ended"
    try:
        reader, writer = await asyncio.wait_for(asyncio.open_connection("127.0.0.1", port), 10)
        connections.append(writer)
        writer.write(b"GET /small HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answer = await asyncio.wait_for(reader.read(4096), 10)
        if answer:
            outcome = "answered" if answer.startswith(b"HTTP/1.1 200") else "shed with an answer"
    except asyncio.TimeoutError:
        outcome = "left waiting"
    except OSError:
        pass
    outcomes[outcome] = outcomes.get(outcome, 0) + 1
