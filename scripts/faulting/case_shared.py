"""Four processes and 200 accounts with tokens of 3 s, so that refreshes are continuous. No refresh token may be spent twice."""

import asyncio

from faulting.load import Load
from faulting.verdicts import counted, once_each
from harness.checks import equals

ACCOUNTS, RATE = 200, 240


async def run(run):
    async with run.with_cluster(ACCOUNTS) as cluster:
        await cluster.sign_in()
        load = Load(cluster, RATE).begin()
        await asyncio.sleep(run.scaled(60, 5))
        await load.end()
        run.checks += [counted("requests", load.summary), counted("slowest answer, s", f"{load.slowest:.2f}"),
                       equals("requests that failed", load.failed_of(), 0), *await once_each(cluster)]
