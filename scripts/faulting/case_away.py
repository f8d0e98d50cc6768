"""The provider is away: valid tokens flow until they end; then callers are told when to come again, and all processes
together ask it no more often than one would."""

import asyncio
import math
import re
import time

from faulting.load import Load
from faulting.recorder import AWAY, RESETS, SILENT
from faulting.verdicts import counted, once_each
from harness.checks import Check, at_most, equals

ACCOUNTS = 20
# What a backoff after an ambiguous answer is drawn from, evenly from 0 (RefreshFailure): 0.5 s, doubled to 30 s.
FIRST, LONGEST = 0.5, 30
# Token requests before the first backoff: one, and the one more at once.
AT_ONCE = 2
# The end of a request that a gateway has given up may be read a moment after its next one.
READ_LATE = 0.1


async def run(run):
    await valid(run)
    for trouble in (AWAY, RESETS, SILENT):
        await expired(run, trouble)
    # Where there are several accounts, each process soon leaves the provider alone altogether, and no backoff would be seen.
    await expired(run, AWAY, 1)


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


async def expired(run, trouble, accounts=ACCOUNTS):
    seconds = run.scaled(20, 10)
    async with run.with_cluster(accounts, access_ttl="60s", answer_timeout="2s") as cluster:
        await cluster.sign_in(whole=False)
        recorder = cluster.provider.recorder
        before = await attempts(cluster)
        await recorder.be(trouble)
        begun = time.monotonic()
        load = Load(cluster, 100, workers=ACCOUNTS).begin()
        await asyncio.sleep(seconds)
        took = time.monotonic() - begun
        uses = list(recorder.uses)
        name = f"expired, the provider {trouble if trouble == RESETS else 'is ' + trouble}{', one account' if accounts == 1 else ''}: "
        outcomes = {what for _, _, _, what in load.failures}
        run.checks += [counted(name + "requests", load.summary),
                       equals(name + "answered otherwise than 503 refresh_failed with Retry-After", sorted(outcomes), ["503 refresh_failed"])]
        if accounts == 1:
            # Nobody is there to count them but those who try. Nothing is sent, so there is none more at once.
            tried, most = await attempts(cluster) - before, 1.5 * (expected(run.random, took) - 1)
            run.checks.append(Check(name + "tries of all processes, by their metrics", str(tried), f"some, at most {most:.1f}", 0 < tried <= most))
        if trouble == RESETS:
            each = len(uses) / accounts
            # One backoff for all: four of them would ask four times as often.
            run.checks.append(at_most(name + "token requests of an account", each, 1.5 * expected(run.random, took) + AT_ONCE, ""))
            run.checks.append(equals(name + "token requests of an account while another was under way", overlapping(uses), 0))
        if trouble == SILENT:
            # Each is listened to for 2 s, and there are two before the first backoff.
            run.checks.append(at_most(name + "token requests of an account", len(uses) / accounts, AT_ONCE + took / 2, ""))
            run.checks.append(equals(name + "token requests of an account while another was under way", overlapping(uses, READ_LATE), 0))
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


async def attempts(cluster):
    """How often all processes have asked the provider, or tried to, as they say themselves."""
    count = 0
    for gateway in cluster.gateways:
        _, metrics = await gateway.ask("GET", "/metrics")
        count += sum(int(one) for one in re.findall(r"^martlet_refreshes_total\{[^}]*\} (\d+)$", metrics.decode(), re.MULTILINE))
    return count


def overlapping(uses, late=0):
    """How many began before another of the same account had ended, by whichever process; `late` is how much later than it
    was an end may have been read."""
    ends, clashes = {}, 0
    for use in sorted(uses, key=lambda use: use.at):
        clashes += use.at < ends.get(use.account, 0) - late
        ends[use.account] = max(ends.get(use.account, 0), math.inf if use.ended is None else use.ended)
    return clashes
