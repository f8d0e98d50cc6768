"""Accounts under load move from SQLite to PostgreSQL, to Redis and to another SQLite file, and no caller notices."""

import asyncio
import time

from faulting.history import say
from faulting.verdicts import counted
from harness.checks import equals
from moving.databases import ANOTHER, POSTGRES, REDIS, SQLITE
from moving.moves import all_served, leavings, move, settled, spent_once
from moving.traffic import Traffic

ACCOUNTS, LEAST, RATE = 10_000, 1000, 100
# Tokens are refreshed after half of their life, so 10,000 accounts with tokens of this many seconds take 67 refreshes a second.
LIFE, LEAST_LIFE = 300, 30
# How long the traffic runs before the first takeover, and after the last one, in seconds.
BEFORE, AFTER = 15, 5
# The last target is another file: the first one has been moved away to PostgreSQL, and a move needs an empty store, or the one that
# the records were moved from.
TOUR = ((SQLITE, POSTGRES), (POSTGRES, REDIS), (REDIS, ANOTHER))


async def run(run):
    count, life = int(run.scaled(ACCOUNTS, LEAST)), run.scaled(LIFE, LEAST_LIFE)
    # Token requests go directly to the mock, because the recorder would need too much of the processors.
    async with run.with_movers(count, access_ttl=f"{life:.0f}s", direct=True) as cluster:
        began = time.monotonic()
        await cluster.sign_in_at_both()
        say(f"round: {count} accounts imported in {time.monotonic() - began:.0f} s")
        await settled(cluster)
        victims = cluster.accounts[-len(TOUR):]
        traffic = Traffic(cluster, 2 * RATE, cluster.accounts[:-len(TOUR)]).begin()
        try:
            await asyncio.sleep(BEFORE)
            before = traffic.waits(time.monotonic() - BEFORE, time.monotonic())
            run.checks.append(counted("p99 and longest response before, s", "{:.3f}, {:.3f}".format(*before)))
            for (source, target), victim in zip(TOUR, victims):
                run.checks += await move(cluster, source, target, traffic, victim)
            await asyncio.sleep(AFTER)
        finally:
            await traffic.end()
        run.checks += [counted("requests", traffic.summary), equals("requests that failed", traffic.failed_of(), 0), *leavings(cluster),
                       *await all_served(cluster, but=victims), *await spent_once(cluster)]
