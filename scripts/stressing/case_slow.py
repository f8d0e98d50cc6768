"""Callers that send their heads or bodies one byte at a time must not slow down well-behaved callers."""

import asyncio
import json

from harness.checks import Check, at_most, equals
from harness.client import answer_time, load, p99
from stressing.processes import say


async def run(processes, options):
    count = processes.share(5000)
    # Half of the slow callers (those that send bodies) need an upstream connection too.
    processes.need_descriptors(2 * count)
    gateway = processes.gateway(processes.upstream())
    await load(gateway.port, 2)
    before, _ = await load(gateway.port, 15)
    tallies = processes.work / "attack"
    attack = processes.python("attack", gateway.port, count, tallies)
    # Time for all slow callers to connect, and for disconnected ones to reconnect.
    await asyncio.sleep(8)
    say(f"slow: {count} slow callers; before them the p99 was {p99(before) * 1000:.1f} ms")
    admin, done = [], asyncio.Event()
    watch = asyncio.create_task(ask_admin(gateway.admin, admin, done))
    arrived = len(read(tallies))
    during, failed = await load(gateway.port, 30)
    endured = read(tallies)
    done.set()
    await watch
    # A disconnected caller waits a second before it reconnects, and the gateway disconnects many at the same time.
    at_once = min([one["open"] for one in endured[arrived:]], default=0)
    return [equals("the attack went on to the end", attack.is_alive, True),
            equals("slow callers that were let in", endured[-1]["let_in"], count),
            equals("their connections that were refused", endured[-1]["refused"], 0),
            Check("their connections at once", str(at_once), f"at least {count // 2}", at_once >= count // 2),
            equals("requests of callers that behave that failed", failed, 0),
            at_most("their p99", p99(during) * 1000, max(2 * p99(before) * 1000, 50), "ms"),
            at_most("slowest answer of the admin listener", max(admin) * 1000, 1000, "ms"),
            Check("memory (VmHWM)", f"{gateway.memory('VmHWM') / 1024:.1f} MiB", "-", True)]


def read(tallies):
    """Returns the line of each second of the attack, decoded, without an incomplete last line."""
    return [json.loads(line) for line in tallies.read_text().splitlines(keepends=True) if line.endswith("\n")]


async def ask_admin(port, times, done):
    while not done.is_set() or not times:
        times.append(await answer_time(port, "/healthz"))
        await asyncio.sleep(0.5)
