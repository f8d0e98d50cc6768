"""A mirror is away for a while, and then does not answer, while accounts are refreshed, imported, removed and killed. In the end it is
equal to the primary, byte for byte."""

import asyncio
import signal
import time

from faulting.case_kills import done
from faulting.verdicts import counted
from harness.checks import Check, at_most, equals
from harness.processes import Failed
from moving.databases import ACCOUNTS as ACCOUNTS_PREFIX, ANOTHER, OF_ONE_COPY, POSTGRES, REDIS, TITLES, without
from moving.moves import all_served, settled, spent_once, until_so
from moving.traffic import Traffic
from replicating.kills import kill

ACCOUNTS, RATE, LIFE = 300, 60, 20
# How long the mirror is away, and how long it does not answer afterwards, in seconds.
AWAY, LEAST_AWAY, SILENT = 60, 15, 10
# So many accounts are killed and signed in again, removed, and imported again, while the mirror is away.
EACH = 5
# How long the mirrors may take to have all records, and then to be equal when nobody changes any, in seconds.
CAUGHT_UP, EQUAL, KILL_SECONDS = 60, 30, 20


async def run(run):
    mirrors = (REDIS,) if run.is_quick else (REDIS, ANOTHER)
    async with run.with_movers(ACCOUNTS, access_ttl=f"{LIFE}s", layout=lambda cluster: cluster.mirroring(POSTGRES, *mirrors)) as cluster:
        await cluster.sign_in_at_both()
        await settled(cluster)
        run.checks.append(await are_up_to_date(cluster, "at first: "))
        killed, removed, imported, others = (cluster.accounts[number * EACH:][:EACH] for number in range(4))
        traffic = Traffic(cluster, RATE, cluster.accounts[4 * EACH:]).begin()
        try:
            redis = cluster.databases.servers[REDIS].db1
            began = time.monotonic()
            await redis.stop("immediate")
            run.checks += [*await kill_and_sign_in(cluster, killed, "away: "), *await change(cluster, removed, imported, "away: ")]
            run.checks.append(await is_behind(cluster, "away: "))
            await asyncio.sleep(max(0, began + run.scaled(AWAY, LEAST_AWAY) - time.monotonic()))
            await redis.start()
            run.checks.append(await are_up_to_date(cluster, "back: "))
            redis.process.process.send_signal(signal.SIGSTOP)
            run.history.note("the mirror is stopped")
            began = time.monotonic()
            run.checks += await kill_and_sign_in(cluster, others, "silent: ")
            run.checks.append(await is_behind(cluster, "silent: "))
            await asyncio.sleep(max(0, began + SILENT - time.monotonic()))
            redis.process.process.send_signal(signal.SIGCONT)
            run.history.note("the mirror goes on")
            run.checks.append(await are_up_to_date(cluster, "there again: "))
            await asyncio.sleep(LIFE / 4)
        finally:
            await traffic.end()
        for mirror in mirrors:
            run.checks += await compare(run, cluster, mirror)
        run.checks += [counted("requests", traffic.summary), counted("longest response, s", f"{traffic.longest:.2f}"),
                       equals("requests that failed", traffic.failed_of(), 0)]
        # For these there are tokens again.
        await cluster.sign_in(removed)
        run.checks += [*await all_served(cluster, but=(killed[0], others[0])), *await spent_once(cluster)]


async def are_up_to_date(cluster, name, limit=CAUGHT_UP):
    """Checks that each gateway says that all mirrors have all records, within `limit` seconds."""
    async def is_so():
        return all([set(await gateway.mirrors()) == {"up_to_date"} for gateway in cluster.gateways])

    took, holds = await until_so(is_so, limit)
    return at_most(name + "the mirrors have all records after", took if holds else 9999, limit, "s")


async def is_behind(cluster, name):
    said = [await gateway.mirrors() for gateway in cluster.gateways]
    return Check(name + "what the gateways say about their mirrors", str(said), "one of them is behind", any(one != "up_to_date" for states in said for one in states))


async def kill_and_sign_in(cluster, accounts, name):
    """Kills accounts, and revives and signs in all but the first, which stay killed for the mirror to learn it."""
    took = []
    for account in accounts:
        death = await kill(cluster.gateways[0], account, KILL_SECONDS)
        took.append(death.seconds)
        if account == accounts[0]:
            continue
        await done(cluster.gateways[1], "POST", "/v1/revive", {"scope": {"account": account}, "reason": "over"})
        await cluster.sign_in([account], by=cluster.gateways[1])
    return [at_most(name + "the longest time until a kill is complete", max(took), KILL_SECONDS, "s")]


async def change(cluster, removed, imported, name):
    """Removes the tokens of some accounts, and imports new ones for others."""
    statuses = []
    for account in removed:
        status, body = await cluster.gateways[0].ask("DELETE", f"/v1/accounts/{account}/tokens")
        statuses.append(status)
        if status >= 300:
            raise Failed(f"removing the tokens of {account} got status {status}: {body[:300]}")
    await cluster.sign_in(imported, by=cluster.gateways[1])
    return [counted(name + "responses to removals", sorted(set(statuses)))]


async def compare(run, cluster, mirror):
    """Checks that all records of a mirror are equal to the primary's, once nobody changes any."""
    name, found = f"{TITLES[mirror]}: ", {}

    async def is_equal():
        nonlocal found
        primary, other = [without(await asyncio.to_thread(cluster.databases[one].records), OF_ONE_COPY) for one in (POSTGRES, mirror)]
        found = {key: (primary.get(key), other.get(key)) for key in primary.keys() | other.keys() if primary.get(key) != other.get(key)}
        run.history.note(f"{name}{len(primary)} records in the primary, {len(other)} in the mirror, {len(found)} differ")
        found[b"count"] = len(primary), sum(key.startswith(ACCOUNTS_PREFIX) for key in other)
        return len(found) == 1

    took, _ = await until_so(is_equal, EQUAL, 1)
    records, accounts = found.pop(b"count")
    for key, (first, second) in sorted(found.items())[:20]:
        versions = [one and one[0] for one in (first, second)]
        run.history.find(f"{name}{key.decode(errors='replace')} has version {versions[0]} in the primary and {versions[1]} in the mirror")
    return [Check(name + "records, and accounts among them", f"{records}, {accounts}", f"{ACCOUNTS} accounts", accounts == ACCOUNTS),
            equals(name + "records that differ from the primary's", len(found), 0), counted(name + "equal after the last request, s", f"{took:.1f}")]
