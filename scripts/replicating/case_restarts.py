"""The store is restarted repeatedly under load. No refresh token is sent twice, and requests fail only while the store is away."""

import asyncio
import collections
import time

from faulting.load import Load
from faulting.verdicts import counted, forgotten, nothing_lost
from harness.checks import Check, equals
from replicating.redis import ALWAYS
from replicating.servers import ALONE
from replicating.waiting import codes

ACCOUNTS, RATE, LIFE, RESTARTS = 300, 150, 20, 5
# How each restart ends the server, and how many seconds the server then stays away. 15 s are more than a lease.
MODES, AWAY = ("fast", "immediate"), (0, 0, 15)
# How many seconds after the store is back a request may still fail: it may wait for a refresh that waits for its turn.
GRACE = 15
PERMITTED = {"503 store_lost", "503 refresh_failed"}
# The parts of the case on each store, with the store's settings. A primary that is killed comes back with all that it acknowledged
# only if it syncs each write.
PARTS = {"postgres": {"": {}}, "redis": {"one server: ": {"standby": ALONE}, "with Sentinels: ": {"fsync": ALWAYS}}}


async def run(run):
    for name, settings in PARTS[run.options.store].items():
        await part(run, name, settings)


async def part(run, name, settings):
    async with run.with_replicas(ACCOUNTS, access_ttl=f"{LIFE}s", **settings) as cluster:
        await cluster.sign_in_at_all()
        load, outages = Load(cluster, RATE).begin(), []
        interval = run.scaled(300 / (RESTARTS + 1), GRACE + 5)
        for number in range(int(run.scaled(RESTARTS, len(AWAY)))):
            # A random moment, so that refreshes are at any step.
            await asyncio.sleep(interval - run.random.random())
            server, began = cluster.store.primary, time.monotonic()
            await server.stop(MODES[number % len(MODES)])
            await asyncio.sleep(AWAY[number % len(AWAY)])
            await server.start()
            outages.append((began, time.monotonic()))
        await asyncio.sleep(interval)
        await load.end()
        outside = [one for one in load.failures if not any(since <= one[0] <= until + GRACE for since, until in outages)]
        for at, account, process, what in outside[:20]:
            run.history.find(f"{at - run.history.began:9.3f} s  {what} for {account} at {process}, although the store was there")
        # What failed long after the outage tells how long the replicas need.
        lags = [at - max((until for since, until in outages if since <= at), default=at) for at, *_ in load.failures]
        run.checks += [counted(name + "restarts, and how long the store was away, s", ", ".join(f"{until - since:.1f}" for since, until in outages)),
                       counted(name + "requests", load.summary),
                       equals(name + "requests that failed with another code", sorted(set(codes(load.failures)) - PERMITTED), []),
                       equals(name + f"requests that failed later than {GRACE} s after the store was back",
                              dict(collections.Counter(what for *_, what in outside)), {}),
                       Check(name + "the last failure after the store was back, s", f"{max(lags, default=0):.1f}", "-", True),
                       equals(name + "accounts with a lost commit", await forgotten(cluster, cluster.accounts), []), *await nothing_lost(cluster, name)]
