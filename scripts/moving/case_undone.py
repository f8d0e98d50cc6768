"""A move is given up half-way: the gateways start with the two stores exchanged, and all records go back."""

import asyncio
import time

from faulting.verdicts import counted
from harness.checks import Check, at_most, equals
from moving.databases import POSTGRES, SQLITE
from moving.moves import all_served, ended, moved, part_moved, settled, slow_down, spent_once
from moving.traffic import Traffic

ACCOUNTS, LEAST, RATE, LIFE = 3000, 600, 60, 20
# A process that is killed while a token request is under way loses the response. The provider takes the spent token for this long.
GRACE = "30s"
# The part of the accounts that has moved when the gateways end.
LEAST_PART, MOST_PART = 0.2, 0.7
# How long there is traffic before the move and after it, and how long the gateways may take to end, in seconds.
LONG, SHORT, END_SECONDS = 20, 8, 10


async def run(run):
    await undo(run, "stopped: ", is_killed=False)
    await undo(run, "killed: ", is_killed=True)


async def undo(run, name, is_killed):
    count, seconds = int(run.scaled(ACCOUNTS, LEAST)), run.scaled(LONG, SHORT)
    async with run.with_movers(count, access_ttl=f"{LIFE}s", grace=GRACE if is_killed else "0s", wanted=(POSTGRES,)) as cluster:
        await cluster.sign_in_at_both()
        await settled(cluster)
        # While both gateways end, callers send no new request. Those that are under way get their responses, unless it is a kill.
        before = Traffic(cluster, RATE, is_strict=False).begin()
        await asyncio.sleep(seconds)
        await slow_down(cluster)
        await cluster.take_over(cluster.migrating(POSTGRES, SQLITE))
        await part_moved(cluster, SQLITE, LEAST_PART, MOST_PART)
        run.checks += await end(cluster, name, is_killed)
        await before.end()
        left, there = cluster.databases[SQLITE].accounts(), cluster.databases[POSTGRES].accounts()
        await slow_down(cluster, 0)
        began = time.monotonic()
        await cluster.restart(cluster.migrating(SQLITE, POSTGRES))
        after = Traffic(cluster, RATE).begin()
        try:
            await ended(cluster)
            took = time.monotonic() - began
            checks = await moved(cluster, name + "back again: ", POSTGRES, SQLITE)
            await cluster.take_over(cluster.alone(SQLITE))
            await asyncio.sleep(seconds)
        finally:
            await after.end()
        run.checks += [Check(name + "accounts in the first and in the second store then", f"{left}, {there}", "some in both", left > 0 and there > 0),
                       counted(name + "the way back takes, from the start on, s", f"{took:.1f}"), *checks,
                       counted(name + "requests before and after", f"{before.summary}; {after.summary}"),
                       equals(name + "requests that failed", before.failed_of() + after.failed_of(), 0), *await all_served(cluster, name)]
        if not is_killed:
            run.checks += await spent_once(cluster, name)


async def end(cluster, name, is_killed):
    """Ends both gateways. Returns the checks."""
    if is_killed:
        for gateway in cluster.gateways:
            gateway.kill()
        return []
    began = time.monotonic()
    codes = await cluster.end_all()
    return [equals(name + "return codes", codes, [0, 0]), at_most(name + "both gateways have ended after", time.monotonic() - began, END_SECONDS, "s")]
