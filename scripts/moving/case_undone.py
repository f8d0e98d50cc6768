"""A move is given up half-way: the gateways start with the two stores exchanged, and all records go back."""

import asyncio
import time

from faulting.verdicts import counted
from harness.checks import Check, equals
from moving.databases import POSTGRES, SQLITE
from moving.moves import all_served, ended, moved, part_moved, settled, slow_down, spent_once
from moving.traffic import Traffic

ACCOUNTS, LEAST, RATE, LIFE = 3000, 600, 60, 20
# The part of the accounts that has moved when the gateways are asked to end. More of them move until they have ended.
LEAST_PART, MOST_PART = 0.2, 0.7
# How long there is traffic before the move and after it, in seconds.
LONG, SHORT = 20, 8


async def run(run):
    count, seconds = int(run.scaled(ACCOUNTS, LEAST)), run.scaled(LONG, SHORT)
    async with run.with_movers(count, access_ttl=f"{LIFE}s", wanted=(POSTGRES,)) as cluster:
        await cluster.sign_in_at_both()
        await settled(cluster)
        # While both gateways end, callers send no new request. Those that are under way get their responses.
        before = Traffic(cluster, RATE, is_strict=False).begin()
        await asyncio.sleep(seconds)
        await slow_down(cluster)
        await cluster.take_over(cluster.migrating(POSTGRES, SQLITE))
        await part_moved(cluster, SQLITE, LEAST_PART, MOST_PART)
        codes = await cluster.end_all()
        await before.end()
        left, there = cluster.databases[SQLITE].accounts(), cluster.databases[POSTGRES].accounts()
        began = time.monotonic()
        await cluster.restart(cluster.migrating(SQLITE, POSTGRES))
        after = Traffic(cluster, RATE).begin()
        try:
            await ended(cluster)
            took = time.monotonic() - began
            checks = await moved(cluster, "back again: ", POSTGRES, SQLITE)
            await cluster.take_over(cluster.alone(SQLITE))
            await asyncio.sleep(seconds)
        finally:
            await after.end()
        run.checks += [Check("accounts in the first and in the second store, when both gateways have ended", f"{left}, {there}", "some in both", left > 0 and there > 0),
                       equals("their return codes", codes, [0, 0]), counted("the way back takes, from the start on, s", f"{took:.1f}"), *checks,
                       counted("requests before and after", f"{before.summary}; {after.summary}"),
                       equals("requests that failed", before.failed_of() + after.failed_of(), 0), *await all_served(cluster), *await spent_once(cluster)]
