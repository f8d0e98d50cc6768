"""All access tokens expire at once, under load at three replicas. Each account is refreshed once."""

import asyncio
import time

from faulting.verdicts import counted, once_each
from harness.checks import Check, at_most, equals
from replicating.waiting import end, loads_of, serves_all

ACCOUNTS, RATE, STORMS = 300, 100, 10
# How many seconds all replicas have to serve all accounts again.
SETTLE = 30


async def run(run):
    # Tokens live so long that only the storms cause refreshes.
    async with run.with_replicas(ACCOUNTS, access_ttl="3600s") as cluster:
        await cluster.sign_in_at_all()
        loads, times, storms, left = loads_of(cluster, RATE), [], int(run.scaled(STORMS, 2)), []
        for number in range(storms):
            # Each replica has used each account's token.
            left += await served_by_all(loads, cluster.accounts, time.monotonic())
            run.history.note(f"storm {number + 1}: all access tokens expire")
            await cluster.provider.expire()
            began = time.monotonic()
            left += await served_by_all(loads, cluster.accounts, began)
            times.append(time.monotonic() - began)
            # An account is refreshed at most five times in 30 s.
            await asyncio.sleep(max(0, began + 8 - time.monotonic()))
        await end(*loads.values())
        refreshes = (await cluster.provider.stats())["token_requests"]["ok"]
        run.checks += [counted("storms, and accounts", f"{storms}, {ACCOUNTS}"), counted("requests", "; ".join(load.summary for load in loads.values())),
                       equals("requests that failed", sum(load.failed_of() for load in loads.values()), 0),
                       Check("refreshes", str(refreshes), str(storms * ACCOUNTS), refreshes == storms * ACCOUNTS),
                       equals("accounts that a replica did not serve in time", len(left), 0),
                       at_most("the longest time until all replicas served all accounts", max(times), SETTLE, "s"),
                       counted("the slowest answer, s", f"{max(load.longest for load in loads.values()):.2f}"), *await once_each(cluster)]


async def served_by_all(loads, accounts, since):
    results = await asyncio.gather(*(serves_all(load, accounts, since, SETTLE) for load in loads.values()))
    return [account for _, left in results for account in left]
