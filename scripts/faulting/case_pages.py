"""A proxy in front of the provider responds to token requests with 404 and an HTML page for a while. Accounts back off and
recover without manual action."""

import asyncio
import time

from faulting.case_away import LONGEST, expected
from faulting.load import Load
from faulting.recorder import PAGE
from faulting.verdicts import counted
from harness.checks import Check, at_most, equals

ACCOUNTS, PAGES = 50, 5
# Five steps of a backoff and the token requests between them, in seconds.
BACK = 90
# More pages than any account can meet.
MANY = 10_000


async def run(run):
    async with run.with_cluster(1, count=2, access_ttl="60s", timeout="8s") as cluster:
        (account,) = cluster.accounts
        await cluster.sign_in(whole=False)
        cluster.provider.recorder.strike(account, *[PAGE] * PAGES)
        load = Load(cluster, 40, workers=4).begin()
        took, left = await until_served(cluster, load, time.monotonic(), BACK)
        await load.end()
        pages = sum(use.status == 404 for use in cluster.provider.recorder.uses)
        run.checks += [equals("one account: pages", pages, PAGES), *back("one account: ", took, left, BACK), *told("one account: ", load),
                       equals("one account: its state", (await cluster.states())[account]["state"], "valid"),
                       *await nothing_dead(cluster, "one account: ")]
    async with run.with_cluster(ACCOUNTS, count=2, access_ttl="60s", timeout="8s") as cluster:
        recorder, name = cluster.provider.recorder, f"{ACCOUNTS} accounts: "
        await cluster.sign_in(whole=False)
        for account in cluster.accounts:
            recorder.strike(account, *[PAGE] * MANY)
        load, begun = Load(cluster, 100).begin(), time.monotonic()
        await asyncio.sleep(run.scaled(40, 15))
        recorder.strikes.clear()
        cluster.history.note("the provider answers again")
        back_at = time.monotonic()
        uses = [use for use in recorder.uses if use.at <= back_at]
        most = max(sum(use.account == account for use in uses) for account in cluster.accounts)
        # One request at once, then the requests of one backoff that both processes share.
        bound = 1.5 * (expected(run.random, back_at - begun) - 1) * ACCOUNTS
        took, left = await until_served(cluster, load, back_at, LONGEST + 5)
        await load.end()
        run.checks += [Check(name + "token requests in all, and most of one account", f"{len(uses)}, {most}", f"some, at most {bound:.0f} in all", 0 < len(uses) <= bound),
                       *back(name, took, left, LONGEST + 5), *told(name, load), *await nothing_dead(cluster, name)]


async def until_served(cluster, load, since, limit):
    """Waits until every account was served after `since`, at most `limit` seconds. Returns the seconds, and the accounts not served."""
    while (left := [name for name in cluster.accounts if load.served.get(name, 0) < since]) and time.monotonic() < since + limit:
        await asyncio.sleep(0.05)
    return time.monotonic() - since, left


def back(name, took, left, limit):
    return [at_most(name + "served again, by nobody's hand, after", took, limit, "s"), equals(name + "not served in the end", len(left), 0)]


def told(name, load):
    return [counted(name + "requests", load.summary),
            equals(name + "answered otherwise than 502 provider_config with Retry-After", sorted({what for *_, what in load.failures}), ["502 provider_config"])]


async def nothing_dead(cluster, name):
    """Like `nothing_lost`, but counts only what reached the provider: after a page, a gateway sends the refresh token again."""
    stats = await cluster.provider.stats()
    most = max((count for counts in stats["refresh_token_uses"].values() for count in counts), default=0)
    return [equals(name + "accounts dead", sorted(await cluster.dead()), []), equals(name + "most uses of a refresh token at the provider", most, 1),
            equals(name + "reuse detections", stats["reuse_detections"], 0)]
