"""The provider rotates a refresh token and its response is lost. With a grace the account recovers. Without a grace it is
declared dead once, and no process retries in a loop."""

import asyncio
import time

from faulting.load import Load
from faulting.verdicts import counted, one_event_each
from harness.checks import Check, at_most, equals

LOST = {"on": "token", "drop": "after_commit"}
# The lost token request and one retry. If another process has to take over a lapsed claim, it may send one more.
MOST_REQUESTS = 3


async def run(run):
    async with run.with_cluster(3, access_ttl="60s", grace="5s") as cluster:
        for account, times in zip(cluster.accounts, (1, 2, 1)):
            await cluster.sign_in([account], whole=False)
            await cluster.provider.faults({**LOST, "times": times})
            took, load = await until(cluster, account, lambda load: account in load.served, 25)
            run.checks += [at_most(f"{account}: {times} answers lost, grace 5 s: recovered after", took, 20, "s")]
        run.checks += [equals("grace 5 s: accounts dead", len(await cluster.dead()), 0)]
    async with run.with_cluster(2, access_ttl="60s") as cluster:
        for account in cluster.accounts:
            await cluster.sign_in([account], whole=False)
            await cluster.provider.faults(LOST)
            took, load = await until(cluster, account, lambda load: load.failed_of("reauthorization_required") >= 1, 35, then=3)
            uses = [use for use in cluster.provider.recorder.uses if use.account == account]
            run.checks += [at_most(f"{account}: an answer lost, grace 0 s: declared dead after", took, 30, "s"),
                           at_most(f"{account}: token requests for it", len(uses), MOST_REQUESTS, ""),
                           counted(f"{account}: requests", load.summary)]
        dead = await cluster.dead()
        run.checks += [equals("grace 0 s: accounts dead", len(dead), 2), one_event_each(cluster, dead)]
        stats = await cluster.provider.stats()
        run.checks += [Check("grace 0 s: token requests", str(stats["token_requests"]), "-", True)]


async def until(cluster, account, condition, limit, then=0):
    """Sends requests for one account to all processes until `condition` holds or `limit` seconds have passed, and for `then`
    seconds more. Returns how long it took until the condition held, and the load."""
    load = Load(cluster, 40, [account], workers=2).begin()
    begun = time.monotonic()
    while not condition(load) and time.monotonic() < begun + limit:
        await asyncio.sleep(0.05)
    took = time.monotonic() - begun
    await asyncio.sleep(then)
    await load.end()
    return took, load
