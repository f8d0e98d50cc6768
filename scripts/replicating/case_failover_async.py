"""The primary and one replica are cut off from the asynchronous standby and the other replicas, and the standby is promoted. It
has lost the last commits, and the isolated replica goes on with the old primary. With Redis, a replica that acknowledges its writes
is isolated too. Then, with Redis, the same happens without an isolated replica: see lossy_failover."""

import asyncio
import time

from faulting.cluster import PUT_BACK, REFRESHED
from faulting.load import Load, unserved
from faulting.verdicts import counted, forgotten, note_uses, spent_twice
from harness.checks import Check, at_most, equals
from replicating import lossy_failover
from replicating.cluster import LAPSE, LEASE, POLL
from replicating.kills import kill, late_heads, sign_in_again
from replicating.waiting import end, failures, serves_living, tally

ACCOUNTS, RATE, LIFE = 120, 40, 20
SLOWNESS = (0.05, 1)
# For how many seconds commits don't reach the standby; how many seconds later it is promoted; and how long the island is cut off.
LOSES, NOTICE, LASTS = 2.5, 3, 30
FOUND, AGAIN = 10, 30


async def run(run):
    await isolated(run)
    if run.options.store == "redis":
        await lossy_failover.run(run)


async def isolated(run):
    async with run.with_replicas(ACCOUNTS, access_ttl=f"{LIFE}s", **run.make_store.losing) as cluster:
        network, recorder, (a, b, c) = cluster.network, cluster.provider.recorder, cluster.gateways
        recorder.lateness = lambda use: run.random.uniform(*SLOWNESS)
        # The isolated replica uses only the first half. What it does to them while nobody knows of it can destroy their grants.
        shared, apart = cluster.accounts[::2], cluster.accounts[1::2]
        killed = run.random.choice(shared)
        await asyncio.gather(cluster.sign_in(shared, by=a), cluster.sign_in(apart, by=b))
        island, others = Load(cluster, RATE, shared, [a]), [Load(cluster, RATE, accounts, [b, c]) for accounts in (shared, apart)]
        loads = [load.begin() for load in (island, *others)]
        await asyncio.sleep(LIFE)
        calm, safe = [one for load in loads for one in load.failures], await cluster.safe_stores()
        cluster.store.begin_losing()
        losing = time.monotonic()
        await asyncio.sleep(LOSES)
        cluster.store.isolate()
        cut = time.monotonic()
        await cluster.store.fail_over(NOTICE)
        promoted = time.monotonic()
        await asyncio.sleep(FOUND)
        death = await kill(b, killed, LAPSE + POLL + 10)
        late = await late_heads(cluster, death)
        await asyncio.sleep(max(0, cut + run.scaled(LASTS, 20) - time.monotonic()))
        goes_on = [account for account, at in island.served.items() if at > cut + LEASE + 1]
        await cluster.store.retire()
        network.mend()
        mended = time.monotonic()
        # Until then the isolated replica may go on with the old primary.
        await cluster.store.is_retired()
        spent_alone = {use.account for use in recorder.uses if use.process == "a" and use.at > losing - 2}
        await sign_in_again(b, killed)
        joined = await serves_living(cluster, island, shared, mended, AGAIN + 5)
        await end(*loads)
        dead = await cluster.dead()
        left = await unserved(cluster, [account for account in cluster.accounts if account not in dead], 20)
        lost = [line for line in cluster.log_lines(REFRESHED) if losing <= line["at"] <= cut]
        put_back = cluster.log_lines(PUT_BACK)
        known = {line["account.name"] for line in lost if line["process"] != "a"}
        twice = {uses[0].account for uses in spent_twice(cluster).values()}
        for uses in spent_twice(cluster).values():
            note_uses(cluster, uses, "twice")
        unexplained = sorted(dead - spent_alone)
        run.checks += [
            equals("requests that failed before the cut", len(calm), 0), equals("replicas that say that a failover loses nothing", safe, ""),
            counted("requests to the isolated replica", island.summary), counted("requests to the others", "; ".join(load.summary for load in others)),
            Check("refreshes whose commits the standby never got, by replica", tally(lost), "some by b and c", bool(known)),
            Check("records put back, by replica", tally(put_back), "some", bool(put_back)),
            equals("accounts that only b and c use: commits that are lost in the end", await forgotten(cluster, apart), []),
            equals("accounts that only b and c use: grants lost", sorted(dead & set(apart)), []),
            equals("accounts that only b and c use: refresh tokens sent twice", sorted(twice & set(apart)), []),
            Check(f"the isolated replica: accounts that it still serves {LEASE + 1} s after the cut, because it renews its lease at the old primary",
                  str(len(goes_on)), "-", True),
            at_most("a kill at another replica meanwhile is complete after", death.seconds, LAPSE + POLL, "s"),
            counted("the isolated replica: heads with a dead token later, because it does not learn of the kill", len(late)),
            counted("the isolated replica: accounts whose refresh tokens it sent while nobody else knew of it", len(spent_alone)),
            Check("grants lost, of accounts that the isolated replica uses too", f"{len(dead & set(shared))} of {len(shared)}", "-", True),
            equals("grants lost although it did not send their refresh tokens", unexplained, []),
            equals(f"failures of the others later than {FOUND} s after the promotion, of accounts that only they use",
                   len(failures(others[1], promoted + FOUND)), 0),
            at_most("the isolated replica: after the cut, it serves all living accounts within", joined, AGAIN, "s"),
            equals("living accounts that a replica does not serve in the end", sorted({account for _, account in left}), [])]
