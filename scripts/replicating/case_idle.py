"""10,000 accounts: how long their import takes, how often idle replicas call the store, and how often a refresh does."""

import asyncio
import collections
import json
import re
import time

from faulting.history import say
from faulting.verdicts import counted, once_each
from harness.checks import Check, at_most, equals
from harness.client import Caller

ACCOUNTS, IDLE_SECONDS, REFRESHES = 10_000, 120, 300
# The bounds of store calls per second and idle replica, and per refresh.
IDLE_CALLS, REFRESH_CALLS = 2, 5
# The calls of idle replicas, which are taken off, are not quite regular.
INEXACT = 0.1
# How many refreshes are under way at each replica.
AT_ONCE = 4
CALLS = re.compile(r"^martlet_store_duration_seconds_count\{([^}]*)\} (\d+)", re.MULTILINE)


async def run(run):
    accounts = int(run.scaled(ACCOUNTS, 1000))
    async with run.with_replicas(accounts, access_ttl="43200s", direct=True) as cluster:
        began = time.monotonic()
        await cluster.sign_in_at_all()
        took = time.monotonic() - began
        say(f"idle: {accounts} accounts imported in {took:.0f} s")
        run.checks.append(counted("accounts imported, through three replicas", f"{accounts} in {took:.1f} s, {accounts / took:.0f} per second"))
        await settled(cluster)
        rate, idle = await rest(run, cluster)
        # Each part with accounts that were not refreshed before, in random order.
        count, chosen, one = int(run.scaled(REFRESHES, 60)), run.random.sample(cluster.accounts, len(cluster.accounts)), run.random.choice(cluster.gateways)
        await cluster.provider.expire()
        for number, (how, refresh) in enumerate({"for callers": request, "ordered by the API": order}.items()):
            first, second = (chosen[(2 * number + place) * count:][:count] for place in range(2))
            run.checks += await refreshes(cluster, f"refreshes {how}, by one replica, one after another: ", first, rate, refresh, [one], 1)
            run.checks += await refreshes(cluster, f"refreshes {how}, by all replicas, {AT_ONCE} at once: ", second, rate, refresh, cluster.gateways, AT_ONCE)
        run.checks += [counted("idle: calls of the store per second, by operation", per(idle, 1)), *await once_each(cluster)]


async def refreshes(cluster, name, accounts, rate, refresh, gateways, at_once):
    """Refreshes each account at one of `gateways`, `at_once` at each, and counts the calls of the store beyond those of idle
    replicas."""
    before, began, outcomes = {gateway: await calls(cluster, [gateway]) for gateway in cluster.gateways}, time.monotonic(), collections.Counter()
    lanes = at_once * len(gateways)

    async def some(lane):
        for account in accounts[lane::lanes]:
            outcomes[await refresh(gateways[lane % len(gateways)], account)] += 1

    await asyncio.gather(*(some(lane) for lane in range(lanes)))
    lasted = time.monotonic() - began
    await settled(cluster, 1)
    idle = rate * (time.monotonic() - began)
    spent = {gateway: difference(first, await calls(cluster, [gateway])) for gateway, first in before.items()}
    checks = [counted(name + "how many, and how long it took", f"{len(accounts)} in {lasted:.1f} s"),
              equals(name + "what came of them", dict(outcomes), {"200 valid" if refresh is order else "200": len(accounts)})]
    if len(gateways) == 1:
        own, foreign = spent.pop(gateways[0]), add(spent.values())
        each = (sum(own.values()) - idle) / len(accounts)
        # An order is also written into the audit log.
        checks.append(at_most(name + "its calls of the store per refresh", each, REFRESH_CALLS + INEXACT, "") if refresh is request
                      else counted(name + "its calls of the store per refresh", f"{each:.1f}"))
        return [*checks, counted(name + "of these, by operation", per(own, len(accounts))),
                counted(name + "calls of the other replicas per refresh", f"{(sum(foreign.values()) - 2 * idle) / len(accounts):.1f}: {per(foreign, len(accounts))}")]
    each = add(spent.values())
    return [*checks, counted(name + "calls of all replicas per refresh", f"{(sum(each.values()) - len(spent) * idle) / len(accounts):.1f}: {per(each, len(accounts))}")]


def add(counts):
    return dict(sum(map(collections.Counter, counts), collections.Counter()))


async def request(gateway, account):
    """Sends a request whose token has expired. Returns the status."""
    caller = Caller(gateway.port)
    try:
        return str((await asyncio.wait_for(caller.fetch("GET", *gateway.cluster.request_for(account)), 20))[0])
    finally:
        caller.close()


async def order(gateway, account):
    """Orders a refresh. Returns the status and the state of the account."""
    status, body = await gateway.ask("POST", f"/v1/accounts/{account}/refresh", {})
    return f"{status} {json.loads(body).get('state')}"


async def settled(cluster, seconds=5):
    """Waits until the calls of the store that imports and refreshes leave behind are done: until two looks differ no more than when
    the replicas are idle."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        before = await calls(cluster)
        await asyncio.sleep(seconds)
        if sum(difference(before, await calls(cluster)).values()) <= IDLE_CALLS * seconds * len(cluster.gateways):
            return
    cluster.history.note("the replicas did not come to rest")


async def rest(run, cluster):
    """Measures the calls of the store while nothing is asked. Returns their number per second and replica, and by operation."""
    seconds, before, mean = run.scaled(IDLE_SECONDS, 30), [await calls(cluster, [gateway]) for gateway in cluster.gateways], 0
    began = time.monotonic()
    await asyncio.sleep(seconds)
    after = [await calls(cluster, [gateway]) for gateway in cluster.gateways]
    lasted, operations = time.monotonic() - began, {}
    for gateway, first, last in zip(cluster.gateways, before, after):
        spent = difference(first, last)
        each = sum(spent.values()) / lasted
        run.checks.append(Check(f"idle: calls of the store per second by {gateway.name}", f"{each:.2f}", f"at most {IDLE_CALLS}", each <= IDLE_CALLS))
        mean += each / len(cluster.gateways)
        for name, count in spent.items():
            operations[name] = operations.get(name, 0) + count / lasted / len(cluster.gateways)
    return mean, operations


async def calls(cluster, gateways=None):
    """Returns the calls of the store so far by their labels."""
    found = {}
    for gateway in gateways or cluster.gateways:
        _, metrics = await gateway.ask("GET", "/metrics")
        for labels, count in CALLS.findall(metrics.decode()):
            found[labels] = found.get(labels, 0) + int(count)
    return found


def difference(before, after):
    return {name: count - before.get(name, 0) for name, count in after.items()}


def per(found, number):
    return ", ".join(f"{count / number:.2f} {name}" for name, count in sorted(found.items()) if count) or "none"
