"""All of 10,000 accounts are killed at once: how long that takes, and what memory."""

import asyncio
import collections
import time

from faulting.case_kills import done
from faulting.history import say
from faulting.verdicts import counted
from harness.checks import Check, at_most, equals
from harness.client import Caller

ACCOUNTS, PROCESSES, COMPLETE = 10_000, 2, 1
# Of the memory of a process, in MiB, while its tokens are revoked.
GROWTH = 128
SETTLE_SECONDS, REVOKING_SECONDS = 60, 10


async def run(run):
    count = int(run.scaled(ACCOUNTS, 1000))
    async with run.with_cluster(count, count=PROCESSES, access_ttl="3600s", direct=True, by_header=True) as cluster:
        began = time.monotonic()
        await cluster.sign_in()
        took = time.monotonic() - began
        say(f"many: {count} accounts were imported in {took:.0f} s")
        states = collections.Counter(one["state"] for one in (await cluster.states()).values())
        served = await ask_all(cluster, cluster.accounts[::10])
        before = memory(cluster, "VmRSS")
        began = time.monotonic()
        report = await done(cluster.gateways[0], "POST", "/v1/kill", {"scope": {"all": True}, "reason": "drill", "wait": "15s"})
        answered = time.monotonic() - began
        complete = answered if report["state"] == "complete" else await completion(cluster, report["id"], began)
        at_once = memory(cluster, "VmRSS")
        outcomes = await ask_all(cluster, cluster.accounts)
        tokens = await counts(cluster, report["id"], 2 * count)
        # The most that it ever was, also while tokens are taken and revoked.
        most = memory(cluster, "VmHWM")
        growth = max(after - first for first, after in zip(before, most))
        run.checks += [counted("accounts imported, s", f"{count} in {took:.1f}"),
                       equals("states of accounts before", dict(states), {"valid": count}),
                       equals("answers before, of a tenth", dict(served), {"200": PROCESSES * len(cluster.accounts[::10])}),
                       at_most("the kill is answered after", answered, COMPLETE, "s"),
                       at_most("the kill is complete after", complete, COMPLETE, "s"),
                       counted("memory of each process before and at the answer, MiB", f"{before}, {at_once}"),
                       Check("the most of it until their tokens were taken, MiB", str(most), f"at most {GROWTH} more", growth <= GROWTH),
                       equals("answers afterwards", dict(outcomes), {"503 killed": PROCESSES * count}),
                       equals("tokens by the report", tokens["total"], 2 * count),
                       counted("what has become of them", tokens)]


async def completion(cluster, kill, began):
    """How long it took from `began` until the report says so."""
    while time.monotonic() < began + SETTLE_SECONDS:
        if (await done(cluster.gateways[0], "GET", f"/v1/kills/{kill}", None))["state"] == "complete":
            break
        await asyncio.sleep(0.05)
    return time.monotonic() - began


async def counts(cluster, kill, total):
    """The report's, which may come after the kill's answer, once some have been revoked."""
    deadline = time.monotonic() + SETTLE_SECONDS
    while True:
        await asyncio.sleep(REVOKING_SECONDS)
        tokens = (await done(cluster.gateways[0], "GET", f"/v1/kills/{kill}", None))["tokens"]
        if tokens["total"] == total or time.monotonic() > deadline:
            return tokens


def memory(cluster, key):
    """In MiB, of each process."""
    return [gateway.process.memory(key) // 1024 for gateway in cluster.gateways]


async def ask_all(cluster, accounts):
    """What each process answers for each account."""
    outcomes = collections.Counter()

    async def ask_some(gateway, some):
        caller = Caller(gateway.port)
        try:
            for account in some:
                status, _, body = await asyncio.wait_for(caller.fetch("GET", *cluster.request_for(account)), 20)
                outcomes["503 killed" if status == 503 and b":killed\"" in body else str(status)] += 1
        finally:
            caller.close()

    await asyncio.gather(*(ask_some(gateway, accounts[place::8]) for gateway in cluster.gateways for place in range(8)))
    return outcomes
