"""The provider is away: valid tokens flow until they end; then callers are told when to come again, and all processes
together ask it no more often than one would."""

import asyncio
import time

from faulting.load import Load
from faulting.recorder import AWAY, RESETS, SILENT
from faulting.verdicts import counted, once_each
from harness.checks import Check, at_most, equals

ACCOUNTS = 20
# What a backoff after an ambiguous answer is drawn from, evenly from 0 (Setback): 0.5 s, doubled to 30 s.
FIRST, LONGEST = 0.5, 30
# Token requests before the first backoff: one, and the one more at once.
AT_ONCE = 2


async def run(run):
    await valid(run)
    for trouble in (AWAY, RESETS, SILENT):
        await expired(run, trouble)


async def valid(run):
    life = int(run.scaled(60, 30))
    async with run.with_cluster(ACCOUNTS, access_ttl=f"{life}s") as cluster:
        await cluster.sign_in()
        load = Load(cluster, 100).begin()
        # Their refreshes are due after half of their life, in the middle of it.
        await asyncio.sleep(life / 6)
        await cluster.provider.recorder.be(AWAY)
        await asyncio.sleep(life / 2)
        await cluster.provider.recorder.be(None)
        failed, requests = load.failed_of(), load.outcomes[200]
        await asyncio.sleep(life / 2)
        await load.end()
        name = f"tokens of {life} s, {life / 2:g} s without a provider: "
        run.checks += [counted(name + "requests meanwhile", requests), equals(name + "of them failed", failed, 0),
                       equals(name + "failed afterwards", load.failed_of() - failed, 0)]
        run.checks += await once_each(cluster)


async def expired(run, trouble):
    seconds = run.scaled(20, 10)
    async with run.with_cluster(ACCOUNTS, access_ttl="60s") as cluster:
        await cluster.sign_in(whole=False)
        recorder = cluster.provider.recorder
        await recorder.be(trouble)
        begun = time.monotonic()
        load = Load(cluster, 100, workers=ACCOUNTS).begin()
        await asyncio.sleep(seconds)
        took = time.monotonic() - begun
        uses = list(recorder.uses)
        name = f"expired, the provider {trouble if trouble == RESETS else 'is ' + trouble}: "
        outcomes = {what for _, _, _, what in load.failures}
        run.checks += [counted(name + "requests", load.summary),
                       equals(name + "answered otherwise than 503 refresh_failed with Retry-After", sorted(outcomes), ["503 refresh_failed"])]
        if trouble == RESETS:
            each = len(uses) / ACCOUNTS
            # One backoff for all: four of them would ask four times as often.
            run.checks.append(at_most(name + "token requests of an account", each, 1.5 * expected(run.random, took) + AT_ONCE, ""))
            run.checks.append(equals(name + "token requests of an account while another was under way", overlapping(cluster), 0))
        if trouble == SILENT:
            # Each takes the provider's timeout of 2 s, and there are two before the first backoff.
            run.checks.append(at_most(name + "token requests of an account", len(uses) / ACCOUNTS, AT_ONCE + took / 2, ""))
        await recorder.be(None)
        back = time.monotonic()
        # The longest step of the backoff, and what was under way when the provider came back.
        longest = LONGEST + 5
        while any(load.served.get(account, 0) < back for account in cluster.accounts) and time.monotonic() < back + longest:
            await asyncio.sleep(0.1)
        waited = time.monotonic() - back
        await load.end()
        run.checks += [Check(name + "all accounts served again after", f"{waited:.1f} s", f"at most {longest} s", waited <= longest),
                       equals(name + "accounts dead", len(await cluster.dead()), 0)]


def expected(random, seconds, rounds=2000):
    """How many token requests one account makes in this time by a backoff of full jitter."""
    count = 0
    for _ in range(rounds):
        at, longest = 0.0, FIRST
        while at < seconds:
            at += random.random() * longest
            longest = min(longest * 2, LONGEST)
            count += at < seconds
    return AT_ONCE + count / rounds


def overlapping(cluster):
    stats = {}
    clashes = 0
    for use in cluster.provider.recorder.uses:
        last = stats.get(use.account)
        # One that is reset takes no time; two processes that ask at the same step come within milliseconds.
        if last is not None and last.boot != use.boot and use.at - last.at < 0.001:
            clashes += 1
        stats[use.account] = use
    return clashes
