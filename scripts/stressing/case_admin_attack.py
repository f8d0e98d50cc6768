"""Many connections try wrong admin tokens. Callers must not be slowed down, and requests with the right token must succeed."""

import asyncio
import json
import statistics
import subprocess
import time

from harness.checks import Check, at_most, equals
from harness.client import BrokenAnswer, Caller
from stressing.processes import say

ROUNDS = 4
SECONDS = 8


async def run(processes, options):
    gateway = processes.gateway(processes.upstream())
    token = (gateway.home / "state/admin.token").read_text().split()[0]
    await rate(processes, gateway.port, 2)
    checks = []
    for count in (64, 256):
        checks += await attack(processes, gateway, token, count)
    return checks


async def attack(processes, gateway, token, count):
    """Alternates rounds without and with an attack, because the speed of a machine drifts."""
    seconds = max(1, SECONDS * processes.options.share)
    ratios, waits, tallies, lived = [], [], [], True
    for number in range(ROUNDS):
        calm = await rate(processes, gateway.port, seconds)
        path = processes.work / f"guesses-{count}-{number}"
        guesses = processes.python("guess", gateway.admin, count, path)
        await asyncio.sleep(1.5)
        done = asyncio.Event()
        operator = asyncio.create_task(ask(gateway.admin, token, waits, done))
        before, began = last(path), time.monotonic()
        stormy = await rate(processes, gateway.port, seconds)
        after, took = last(path), time.monotonic() - began
        lived = lived and guesses.is_alive
        done.set()
        await operator
        guesses.end()
        ratios.append(stormy / calm)
        tallies.append({key: (value - before.get(key, 0)) / took for key, value in after.items()})
        say(f"admin-attack: {count} connections, {calm:.0f} responses a second, {stormy:.0f} under attack")
    share = 100 * statistics.median(ratios)
    tried = statistics.median(sum(tally.values()) for tally in tallies)
    let_in = sum(tally.get("200", 0) for tally in tallies)
    return [equals(f"{count} connections: the attack went on to the end", lived, True),
            Check(f"{count} connections: answers to callers of those without", f"{share:.0f} %", "at least 80 %", share >= 80),
            at_most(f"{count} connections: slowest answer to a right token", max(waits) * 1000, 1000, "ms"),
            equals(f"{count} connections: wrong tokens that were let in", let_in, 0),
            at_most(f"{count} connections: tokens tried", tried, 2.25 * min(count, 64) + 0.6 * max(0, count - 64), "a second")]


async def rate(processes, port, seconds):
    pump = processes.python("pump", port, 16, seconds, stdout=subprocess.PIPE)
    try:
        return float(await asyncio.to_thread(pump.first_line))
    finally:
        pump.end()


def last(path):
    """Returns the last complete line of the file, decoded."""
    lines = [line for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]
    return json.loads(lines[-1])


async def ask(port, token, waits, done):
    """Appends to `waits` how long an operator waits, on a new connection each time, in seconds; a failure counts as ten."""
    while not done.is_set():
        caller, began = Caller(port), time.monotonic()
        try:
            status, _, _ = await asyncio.wait_for(
                caller.fetch("GET", "/v1/status", {"Authorization": f"Bearer {token}"}), 10)
            waits.append(time.monotonic() - began if status == 200 else 10)
        except (OSError, asyncio.IncompleteReadError, asyncio.TimeoutError, BrokenAnswer):
            waits.append(10)
        finally:
            caller.close()
        await asyncio.sleep(0.2)
