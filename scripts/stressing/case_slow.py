"""Callers that send their heads or bodies a byte at a time: those that behave must not feel them."""

import asyncio

from stressing.checks import Check, at_most, equals
from stressing.client import answer_time, load, p99
from stressing.processes import say


async def run(processes, options):
    count = processes.share(5000)
    # Half of them have one to the upstream too.
    processes.need_descriptors(2 * count)
    gateway = processes.gateway(processes.upstream())
    await load(gateway.port, 2)
    before, _ = await load(gateway.port, 15)
    attack = processes.python("attack", gateway.port, count)
    # Time for all of them to have come, with room for those that are thrown out to come again.
    await asyncio.sleep(8)
    say(f"slow: {count} slow callers; before them the p99 was {p99(before) * 1000:.1f} ms")
    admin, done = [], asyncio.Event()
    watch = asyncio.create_task(ask_admin(gateway.admin, admin, done))
    during, failed = await load(gateway.port, 30)
    done.set()
    await watch
    return [equals("the attack went on to the end", attack.is_alive, True),
            equals("requests of callers that behave that failed", failed, 0),
            at_most("their p99", p99(during) * 1000, max(2 * p99(before) * 1000, 50), "ms"),
            at_most("slowest answer of the admin listener", max(admin) * 1000, 1000, "ms"),
            Check("memory (VmHWM)", f"{gateway.memory('VmHWM') / 1024:.1f} MiB", "-", True)]


async def ask_admin(port, times, done):
    while not done.is_set() or not times:
        times.append(await answer_time(port, "/healthz"))
        await asyncio.sleep(0.5)
