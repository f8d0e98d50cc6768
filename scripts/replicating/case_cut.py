"""One replica is cut off from the store for a while. It stops within its lease, and the others go on."""

import asyncio
import time

from faulting.load import Load
from faulting.verdicts import counted, nothing_lost
from harness.checks import Check, at_most, equals
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
        # An operator uses the switch of the replica that is cut off: it is in force there at once, and complete after the cut.
        killed = run.random.choice(cluster.accounts)
        own = Load(cluster, 20, [killed], [victim], workers=4).begin()
        await asyncio.sleep(1)
        ordered = time.monotonic()
        death = await kill(victim, killed, 1)
        answered = time.monotonic()
        await asyncio.sleep(2)
        await own.end()
        await asyncio.sleep(max(0, cut + run.scaled(SECONDS, 20) - time.monotonic()))
        last = max(load.served.values()) - cut
        refused = codes(failures(load, cut + LEASE + LATE))
        sent = [use for use in cluster.provider.recorder.uses if use.process == victim.name and use.at > cut + 2]
        cluster.network.mend(victim.name)
        mended = time.monotonic()
        remaining = [account for account in cluster.accounts if account != killed]
        took, left = await serves_all(load, remaining, mended, AGAIN + LIFE)
        waited = await completed(victim, death, mended)
        await sign_in_again(victim, killed)
        await asyncio.gather(*(serves_all(each, [killed], mended, AGAIN) for each in loads.values()))
        # From now on nothing may fail.
        calm = time.monotonic()
        await asyncio.sleep(run.scaled(20, 10))
        await end(*loads.values())
        before = [one for each in loads.values() for one in failures(each, 0, cut)]
        run.checks += [counted("requests to the replica that is cut off", load.summary), counted("requests to the others", "; ".join(one.summary for one in others)),
                       equals("requests that failed before the cut", len(before), 0),
                       at_most("the replica's last 200 after the cut", last, LEASE + LATE, "s"),
                       equals("what it answers once its lease has ended", refused, ["503 store_lost"]),
                       equals("token requests that it sent later than 2 s after the cut", len(sent), 0),
                       # An account whose token request it had under way waits for its claim.
                       equals("codes of the others' failures", sorted(set(codes([one for each in others for one in each.failures])) - {"503 refresh_failed", "503 killed", "503 account_empty"}), []),
                       equals("a kill at the replica that is cut off: its state and the store's", [death.report["state"], death.report["store"]], ["pending", "unreachable"]),
                       at_most("its last 200 for that account after the order", own.served[killed] - ordered, FENCED, "s"),
                       counted("what it answers for the account until the kill is answered, and for 2 s more",
                               f"{codes(failures(own, ordered, answered))}, {codes(failures(own, answered))}"),
                       at_most("the kill is complete after the cut within", waited, AGAIN, "s"),
                       Check("accounts that failed at the others", str(len({account for each in others for _, account, *_ in each.failures} - {killed})), "-", True),
                       at_most("it serves all accounts again after", took, AGAIN, "s"), equals("accounts that it does not serve", left, []),
                       equals("requests that failed after that", sum(len(failures(each, calm)) for each in loads.values()), 0),
                       *await nothing_lost(cluster)]


async def completed(gateway, death, since):
    """Returns after how many seconds the kill is complete, at most AGAIN."""
    while time.monotonic() < since + AGAIN and (await report_of(gateway, death))["state"] != "complete":
        await asyncio.sleep(0.25)
    return time.monotonic() - since
