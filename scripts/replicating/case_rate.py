"""Measures how many refreshes per second one process and three commit to the store, and to SQLite in the same run."""

import asyncio
import time

from faulting.case_rate import syncs
from faulting.load import Load
from faulting.verdicts import counted, once_each
from harness.checks import Check, equals

ACCOUNTS, SECONDS = 2000, 120
COUNTS = (1, 3)


async def run(run):
    accounts, rates, title = int(run.scaled(ACCOUNTS, 600)), {}, run.make_store.title
    for count in COUNTS:
        for store in (title, "SQLite"):
            settings = dict(count=count, access_ttl="3600s", direct=True)
            # Token requests go directly to the mock, because the recorder would be the bottleneck.
            cluster = run.with_replicas(accounts, **settings) if store == title else run.with_cluster(accounts, **settings)
            async with cluster as cluster:
                rates[store, count] = await measure(run, cluster, f"{store}, {count} process{'es' if count > 1 else ''}: ")
    for count in COUNTS:
        ratio = rates[title, count] / rates["SQLite", count]
        run.checks.append(counted(f"{title} compared with SQLite, {count} process{'es' if count > 1 else ''}", f"{ratio:.2f}"))


async def measure(run, cluster, name):
    await cluster.sign_in(whole=False)
    synced = await asyncio.to_thread(syncs, cluster.work)
    processes = [gateway.process for gateway in cluster.gateways]
    used, begun = sum(process.cpu() for process in processes), time.monotonic()
    load = Load(cluster, 5000, workers=64).begin()
    while len(load.served) < len(cluster.accounts) and time.monotonic() < begun + SECONDS:
        await asyncio.sleep(0.02)
    took = time.monotonic() - begun
    await load.end()
    used = sum(process.cpu() for process in processes) - used
    rate = len(load.served) / took
    run.checks += [Check(name + "refreshes per second", f"{rate:.0f} (and {synced:.0f} fdatasyncs of 4 KiB before)", "-", True),
                   counted(name + "processor time of the gateways per refresh, ms", f"{used / max(1, len(load.served)) * 1000:.1f}"),
                   counted(name + "slowest answer, s", f"{load.slowest:.2f}"),
                   equals(name + "accounts refreshed", len(load.served), len(cluster.accounts)),
                   equals(name + "requests that failed", load.failed_of(), 0), *await once_each(cluster, name)]
    return rate
