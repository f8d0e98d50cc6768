"""One replica is cut off from the store for a while. It stops within its lease, and the others go on."""

import asyncio
import time

from faulting.load import Load
from faulting.verdicts import counted, forgotten, nothing_lost
from harness.checks import at_most, equals
from replicating.cluster import LEASE
from replicating.kills import kill, report_of, sign_in_again
from replicating.waiting import codes, end, failures, loads_of, serves_all

ACCOUNTS, RATE, LIFE, SECONDS = 100, 60, 20, 60
# Seconds for a request that was let in just before the lease ended.
LATE = 0.5
# A replica joins again within this many seconds.
AGAIN = 20
SLOWNESS = (0.02, 1)
# How many seconds a kill may take to find out that the store can't be reached. The replica is fenced by then.
FENCED = 2.5


async def run(run):
    async with run.with_replicas(ACCOUNTS, access_ttl=f"{LIFE}s") as cluster:
        # Some token requests of the replica are under way when it is cut off.
        cluster.provider.recorder.lateness = lambda use: run.random.uniform(*SLOWNESS)
        await cluster.sign_in_at_all()
        loads = loads_of(cluster, RATE)
        await asyncio.sleep(LIFE)
        victim = run.random.choice(cluster.gateways)
        others = [load for name, load in loads.items() if name != victim.name]
        load = loads[victim.name]
        cluster.network.cut(victim.name)
        cut = time.monotonic()
        # A kill is ordered at the replica that is cut off. It is in force there at once, and complete after the cut.
        killed = run.random.choice(cluster.accounts)
        of_killed = Load(cluster, 20, [killed], [victim], workers=4).begin()
        await asyncio.sleep(1)
        ordered = time.monotonic()
        death = await kill(victim, killed, 1)
        answered = time.monotonic()
        await asyncio.sleep(2)
        await of_killed.end()
        await asyncio.sleep(max(0, cut + run.scaled(SECONDS, 20) - time.monotonic()))
        last = max(load.served.values()) - cut
        refused = codes(failures(load, cut + LEASE + LATE))
        sent = [use for use in cluster.provider.recorder.uses if use.process == victim.name and use.at > cut + 2]
        cluster.network.mend(victim.name)
        mended = time.monotonic()
        took, left = await serves_all(load, [account for account in cluster.accounts if account != killed], mended, AGAIN + LIFE)
        waited = await completed(victim, death, mended)
        await sign_in_again(victim, killed)
        await asyncio.gather(*(serves_all(each, [killed], mended, AGAIN) for each in loads.values()))
        # From now on nothing may fail.
        calm = time.monotonic()
        await asyncio.sleep(run.scaled(20, 10))
        await end(*loads.values())
        before = [one for each in loads.values() for one in failures(each, 0, cut)]
        elsewhere = [one for each in others for one in each.failures]
        # An account waits for the claim of a token request that the replica had under way.
        permitted = {"503 refresh_failed", "503 killed", "503 account_empty"}
        run.checks += [
            counted("requests to the replica that is cut off", load.summary), counted("requests to the others", "; ".join(one.summary for one in others)),
            equals("requests that failed before the cut", len(before), 0),
            at_most("the replica that is cut off: its last 200 after the cut", last, LEASE + LATE, "s"),
            equals("its error codes once its lease has ended", refused, ["503 store_lost"]),
            equals("its token requests later than 2 s after the cut", len(sent), 0),
            at_most("after the cut, it serves all accounts within", took, AGAIN, "s"), equals("accounts that it does not serve then", left, []),
            equals("the others: error codes that they must not give", sorted(set(codes(elsewhere)) - permitted), []),
            counted("the others: accounts with failures", len({account for _, account, *_ in elsewhere} - {killed})),
            equals("a kill at the replica that is cut off: its state, and the store's", [death.report["state"], death.report["store"]], ["pending", "unreachable"]),
            at_most("the account's last 200 there after the order", of_killed.served[killed] - ordered, FENCED, "s"),
            counted("its error codes until the response to the order, and for 2 s more",
                    f"{codes(failures(of_killed, ordered, answered))}, {codes(failures(of_killed, answered))}"),
            at_most("after the cut, that kill is complete within", waited, AGAIN, "s"),
            equals("requests that failed after all that", sum(len(failures(each, calm)) for each in loads.values()), 0),
            equals("accounts with a lost commit", await forgotten(cluster, [account for account in cluster.accounts if account != killed]), []),
            *await nothing_lost(cluster)]


async def completed(gateway, death, since):
    """Returns after how many seconds the kill is complete, at most AGAIN."""
    while time.monotonic() < since + AGAIN and (await report_of(gateway, death))["state"] != "complete":
        await asyncio.sleep(0.25)
    return time.monotonic() - since
