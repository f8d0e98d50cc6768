"""The provider is away. Requests succeed while their tokens are valid. Then callers get 503 with Retry-After, and all
processes together contact the provider no more often than a single process would."""

import asyncio
import math
import re
import time

from faulting.load import Load
from faulting.recorder import AWAY, RESETS, SILENT
from faulting.verdicts import counted, once_each
from harness.checks import Check, at_most, equals

ACCOUNTS = 20
# The backoff after an ambiguous response (RefreshFailure) is drawn uniformly from 0 to a maximum. The maximum begins at 0.5 s
# and doubles up to 30 s.
FIRST, LONGEST = 0.5, 30
# Token requests before the first backoff: the first one and its immediate retry.
AT_ONCE = 2
# When a gateway gives up a request, the recorder may read the end of that connection shortly after the next request, in
# seconds.
READ_LATE = 0.1


async def run(run):
    await valid(run)
    for trouble in (AWAY, RESETS, SILENT):
        await expired(run, trouble)
    # With several accounts, each process soon stops contacting the provider altogether, and the backoff of one account would not
    # be visible.
    await expired(run, AWAY, 1)


async def valid(run):
    life = int(run.scaled(60, 30))
    async with run.with_cluster(ACCOUNTS, access_ttl=f"{life}s") as cluster:
        await cluster.sign_in()
        load = Load(cluster, 100).begin()
        # Refreshes are due after half of a token's life, which is in the middle of the outage.
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
            # Only the processes can count these attempts. Nothing is sent, so there is no immediate retry.
            tried, most = await attempts(cluster) - before, 1.5 * (expected(run.random, took) - 1)
            run.checks.append(Check(name + "tries of all processes, by their metrics", str(tried), f"some, at most {most:.1f}", 0 < tried <= most))
        if trouble == RESETS:
            each = len(uses) / accounts
            # All processes share one backoff. With a backoff each, four processes would send four times as many requests.
            run.checks.append(at_most(name + "token requests of an account", each, 1.5 * expected(run.random, took) + AT_ONCE, ""))
            run.checks.append(equals(name + "token requests of an account while another was under way", overlapping(uses), 0))
        if trouble == SILENT:
            # A gateway waits 2 s for each response, and sends two requests before the first backoff.
            run.checks.append(at_most(name + "token requests of an account", len(uses) / accounts, AT_ONCE + took / 2, ""))
            run.checks.append(equals(name + "token requests of an account while another was under way", overlapping(uses, READ_LATE), 0))
        await recorder.be(None)
        back = time.monotonic()
        # The longest step of the backoff, and time for the requests in progress when the provider came back.
        longest = LONGEST + 5
        while any(load.served.get(account, 0) < back for account in cluster.accounts) and time.monotonic() < back + longest:
            await asyncio.sleep(0.1)
        waited = time.monotonic() - back
        await load.end()
        run.checks += [Check(name + "all accounts served again after", f"{waited:.1f} s", f"at most {longest} s", waited <= longest),
                       equals(name + "accounts dead", len(await cluster.dead()), 0)]


def expected(random, seconds, rounds=2000):
    """Returns the expected number of token requests of one account in `seconds` with full-jitter backoff, by simulation."""
    count = 0
    for _ in range(rounds):
        at, longest = 0.0, FIRST
        while at < seconds:
            at += random.random() * longest
            longest = min(longest * 2, LONGEST)
            count += at < seconds
    return AT_ONCE + count / rounds


async def attempts(cluster):
    """Returns how often all processes have sent, or tried to send, a token request, according to their own metrics."""
    count = 0
    for gateway in cluster.gateways:
        _, metrics = await gateway.ask("GET", "/metrics")
        count += sum(int(one) for one in re.findall(r"^martlet_refreshes_total\{[^}]*\} (\d+)$", metrics.decode(), re.MULTILINE))
    return count


def overlapping(uses, late=0):
    """Returns how many token requests began before another one of the same account had ended, in any process. `late` is how
    many seconds after the real end the recorder may have seen it."""
    ends, clashes = {}, 0
    for use in sorted(uses, key=lambda use: use.at):
        clashes += use.at < ends.get(use.account, 0) - late
        ends[use.account] = max(ends.get(use.account, 0), math.inf if use.ended is None else use.ended)
    return clashes
