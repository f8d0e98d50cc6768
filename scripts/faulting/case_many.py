"""10,000 accounts are killed at once. Measures how long that takes and how much memory it needs."""

import asyncio
import collections
import time

from faulting.case_kills import done
from faulting.history import say
from faulting.verdicts import counted
from harness.checks import Check, at_most, equals
from harness.client import Caller

ACCOUNTS, PROCESSES, COMPLETE = 10_000, 2, 1
# How many of the accounts have an imported refresh token too. To import more would take longer than the rest of the case: an
# import is several consecutive writes, while the writes of minted tokens are committed together.
IMPORTED = 200
# Connections to each process.
CALLERS = 32
# The bound of a process's memory growth while tokens are revoked, in MiB.
GROWTH = 128
REVOKING_SECONDS = 90


async def run(run):
    count = int(run.scaled(ACCOUNTS, 1000))
    async with run.with_cluster(count, count=PROCESSES, access_ttl="3600s", direct=True, by_header=True, minting=count - IMPORTED) as cluster:
        began = time.monotonic()
        await cluster.sign_in(cluster.accounts[:IMPORTED])
        imported = time.monotonic() - began
        minted = await ask_all([(gateway, cluster.minting[place::PROCESSES]) for place, gateway in enumerate(cluster.gateways)])
        took = time.monotonic() - began - imported
        say(f"many: {count} accounts have tokens after {imported + took:.0f} s")
        states = collections.Counter(one["state"] for one in (await cluster.states()).values())
        tenth = cluster.accounts[::10]
        served = await ask_all([(gateway, tenth) for gateway in cluster.gateways])
        before = memory(cluster, "VmRSS")
        began = time.monotonic()
        report = await done(cluster.gateways[0], "POST", "/v1/kill", {"scope": {"all": True}, "reason": "drill", "wait": "15s"})
        answered = time.monotonic() - began
        at_once = memory(cluster, "VmRSS")
        outcomes = await ask_all([(gateway, cluster.accounts) for gateway in cluster.gateways])
        report = await revoked(cluster, report["id"], count + IMPORTED)
        tokens = report["tokens"]
        # The peak, which includes the time in which tokens are read and revoked.
        most = memory(cluster, "VmHWM")
        growth = max(after - first for first, after in zip(before, most))
        run.checks += [counted("accounts imported, and minted", f"{IMPORTED} in {imported:.1f} s, {count - IMPORTED} in {took:.1f} s"),
                       equals("answers to who had theirs minted", dict(minted), {"200": count - IMPORTED}),
                       equals("states of accounts before", dict(states), {"valid": count}),
                       equals("answers before, of a tenth", dict(served), {"200": PROCESSES * len(tenth)}),
                       at_most("the kill is answered after", answered, COMPLETE, "s"),
                       at_most("the kill is complete after, by its report", completion(run.history, report), COMPLETE, "s"),
                       counted("memory of each process before and at the answer, MiB", f"{before}, {at_once}"),
                       Check("the most of it while their tokens are revoked, MiB", str(most), f"at most {GROWTH} more", growth <= GROWTH),
                       equals("answers afterwards", dict(outcomes), {"503 killed": PROCESSES * count}),
                       equals("tokens by the report", tokens["total"], count + IMPORTED),
                       equals("tokens that their provider has revoked", tokens["revoked"], count + IMPORTED),
                       counted("what has become of them", tokens)]


def completion(history, report):
    """Returns how many seconds the kill took, or has taken so far if it is not complete."""
    until = history.moment(report["completed_at"]) if report.get("completed_at") else time.monotonic()
    return until - history.moment(report["started_at"])


async def revoked(cluster, kill, total):
    """Returns the kill's report once all tokens are counted and none is waiting, or after REVOKING_SECONDS."""
    deadline = time.monotonic() + REVOKING_SECONDS
    while True:
        report = await done(cluster.gateways[0], "GET", f"/v1/kills/{kill}", None)
        tokens = report["tokens"]
        if tokens["total"] == total and not tokens["waiting"] or time.monotonic() > deadline:
            return report
        await asyncio.sleep(0.5)


def memory(cluster, key):
    """Returns the memory of each process, in MiB."""
    return [gateway.process.memory(key) // 1024 for gateway in cluster.gateways]


async def ask_all(pairs):
    """Requests each account once from the gateway of its pair. Returns how often each response came."""
    outcomes = collections.Counter()

    async def ask_some(gateway, some):
        caller = Caller(gateway.port)
        try:
            for account in some:
                status, _, body = await asyncio.wait_for(caller.fetch("GET", *gateway.cluster.request_for(account)), 20)
                outcomes["503 killed" if status == 503 and b":killed\"" in body else str(status)] += 1
        finally:
            caller.close()

    await asyncio.gather(*(ask_some(gateway, accounts[place::CALLERS]) for gateway, accounts in pairs for place in range(CALLERS)))
    return outcomes
