"""Two processes commit and empty SQLite's log as fast as they can. No acknowledged commit may be lost."""

import asyncio
import json
import os
import time

from faulting.cluster import PUT_BACK
from faulting.history import say
from faulting.load import Load
from faulting.verdicts import acknowledged, counted, forgotten, once_each
from harness.checks import Check, equals
from harness.processes import ask

# Tokens of 3 s are refreshed continuously, and each refresh commits twice.
ACCOUNTS, RATE, SECONDS = 200, 400, 120
# How many tasks open and close the store in a loop. A close empties the log; the gateways empty it each second.
CLOSERS = 2


async def run(run):
    async with run.with_cluster(ACCOUNTS, count=2) as cluster:
        await cluster.sign_in()
        load, log = Load(cluster, RATE).begin(), Log(cluster.state / "tokens.db-wal")
        ending = asyncio.Event()
        tasks = [asyncio.create_task(task) for task in [log.watch(ending), *(closing(cluster, ending) for _ in range(CLOSERS))]]
        begun = time.monotonic()
        await asyncio.sleep(run.scaled(SECONDS, 5))
        ending.set()
        _, *closed = await asyncio.gather(*tasks)
        lasted = time.monotonic() - begun
        await load.end()
        # A second load requests each account once more, with the tokens that the store has now.
        last = Load(cluster, RATE).begin()
        while len(last.served) < ACCOUNTS and not last.failures and time.monotonic() < begun + lasted + 30:
            await asyncio.sleep(0.1)
        await last.end()
        told, lost = acknowledged(cluster), await forgotten(cluster, cluster.accounts)
        broken = [word for words in closed for word in words if word]
        for word in broken[:10]:
            cluster.history.note(f"store verify: {word}")
        verified = await verify(cluster)
        commits, opened = 2 * sum(map(len, told.values())), sum(map(len, closed))
        say(f"checkpoints: {commits} commits or more, the log emptied {log.emptied} times or more, in {lasted:.0f} s")
        run.checks += [counted("commits, at least", commits), counted("stores opened and closed meanwhile", opened),
                       Check("times that the log was seen to shrink", str(log.emptied), f"at least {lasted:.0f}", log.emptied >= lasted),
                       counted("largest log seen, KiB", log.largest >> 10), counted("requests", load.summary),
                       equals("requests that failed", load.failed_of() + last.failed_of(), 0),
                       equals("accounts served at last", len(last.served), ACCOUNTS),
                       equals("accounts that lost what was acknowledged", len(lost), 0),
                       equals("records that the store had lost and a process put back", len(cluster.log_lines(PUT_BACK)), 0),
                       equals("store verify that failed meanwhile", len(broken), 0),
                       equals("store verify at last", verified, ""), *await once_each(cluster)]


async def closing(cluster, ending):
    """Opens, verifies and closes the store until `ending` is set. Returns one error text for each run, "" if it succeeded."""
    words = []
    while not ending.is_set():
        words.append(await verify(cluster))
    return words


async def verify(cluster):
    answer = await asyncio.to_thread(ask, [cluster.program, "store", "verify", "--json", "--config", cluster.work / "a.yaml"])
    if answer.returncode != 0:
        return f"{answer.returncode}: {answer.stderr.strip()[:300]}"
    report = json.loads(answer.stdout)
    return "" if report["opened"] == report["records"] and not report["unreadable"] else f"{report['unreadable'][:5]}"


class Log:
    """Watches the size of the write-ahead log file."""

    def __init__(self, path):
        self.path, self.emptied, self.largest = path, 0, 0

    async def watch(self, ending):
        before = 0
        while not ending.is_set():
            size = os.stat(self.path).st_size if self.path.exists() else 0
            self.emptied += size < before
            before, self.largest = size, max(size, self.largest)
            await asyncio.sleep(0.002)
