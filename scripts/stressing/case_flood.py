"""Connections that flood the gateway with what costs it the most for each byte must not slow down well-behaved callers."""

import asyncio

from harness.checks import at_most, equals
from harness.client import load, p99

KINDS = {"replies": "pipelined requests that the gateway answers itself", "up": "a body of one-byte chunks",
         "down": "a response of one-byte chunks"}
CONNECTIONS = 4


async def run(processes, options):
    gateway = processes.gateway(processes.upstream())
    seconds = max(2, 10 * options.share)
    await load(gateway.port, 2)
    quiet, _ = await load(gateway.port, seconds)
    bound = max(5 * p99(quiet) * 1000, 20)
    checks = [at_most("p99 of callers, quiet", p99(quiet) * 1000, 50, "ms")]
    for kind, what in KINDS.items():
        flood = processes.python("flood", gateway.port, CONNECTIONS, kind)
        await asyncio.sleep(1)
        times, failed = await load(gateway.port, seconds)
        lived = flood.is_alive
        flood.end()
        checks += [equals(f"{kind}: it went on to the end", lived, True),
                   equals(f"{kind}: requests of others that failed", failed, 0),
                   at_most(f"p99 of others beside {CONNECTIONS} connections with {what}", p99(times) * 1000, bound, "ms")]
        await asyncio.sleep(1)
    return checks
