"""A failover by Sentinels loses the last writes, although a replica acknowledged them: one replica no longer follows the primary,
the other acknowledges, and then the primary and that replica are killed (SIGKILL). All gateways live on, and know what was lost."""

import asyncio
import json
import shutil
import time

from faulting.case_kills import ON_ITS_WAY, done
from faulting.cluster import PUT_BACK, REFRESHED
from faulting.load import Load, unserved
from faulting.verdicts import counted, events, forgotten, once_each
from harness.checks import Check, at_most, equals
from harness.client import Caller
from replicating.kills import kill, late_heads, sign_in_again
from replicating.redis import REPLICA_SECONDS
from replicating.waiting import codes, end, failures, loads_of, serves_all, tally

ACCOUNTS, RATE, LIFE = 120, 40, 20
SLOWNESS = (0.05, 1)
# For how many seconds refreshes don't reach db2, before and after the kill. Sentinels promote no replica that has lost its primary
# for ten times as long as the primary must be silent.
BEFORE, AFTER = 3, 1
# A kill with all replicas there, in seconds.
AT_ONCE = 1
# How long the callers go on after the new primary has a replica, and within how many seconds all accounts are served then.
LASTS, AGAIN = 30, 20
# The longest time until the new primary has a replica: only then are writes acknowledged again.
REPLICATED = REPLICA_SECONDS
PERMITTED = {"503 store_lost", "503 refresh_failed"}


async def run(run):
    name = "both are killed: "
    # db2 is alone at first, and must accept writes.
    async with run.with_replicas(ACCOUNTS, access_ttl=f"{LIFE}s", **run.make_store.losing) as cluster:
        network, store, (_, b, c) = cluster.network, cluster.store, cluster.gateways
        cluster.provider.recorder.lateness = lambda use: run.random.uniform(*SLOWNESS)
        await cluster.sign_in_at_all()
        killed = run.random.choice(cluster.accounts)
        others = [account for account in cluster.accounts if account != killed]
        loads, of_killed = loads_of(cluster, RATE, others), Load(cluster, 30, [killed], workers=4).begin()
        await asyncio.sleep(LIFE)
        calm, safe = [one for load in (*loads.values(), of_killed) for one in load.failures], await cluster.safe_stores()
        store.begin_losing()
        losing = time.monotonic()
        await asyncio.sleep(BEFORE)
        death = await kill(b, killed, AT_ONCE)
        await asyncio.sleep(AFTER)
        follows = "master_link_status:up" in await store.db3.ask("info replication")
        await asyncio.gather(store.db1.stop("immediate"), store.db3.stop("immediate"))
        cut = time.monotonic()
        promoted = await store.fail_over()
        took = time.monotonic() - cut
        # Both come back as they were. db1 believes that it is primary, and db3 follows it, until the Sentinels change that.
        network.mend()
        await asyncio.gather(store.db1.start(), store.db3.start())
        await promoted.has_replicas(1, REPLICATED)
        replicated = time.monotonic()
        settled = await asyncio.gather(*(serves_all(load, others, replicated, AGAIN) for load in loads.values()))
        served = time.monotonic()
        await asyncio.gather(*(server.follows(promoted, REPLICATED) for server in (store.db1, store.db3)))
        await asyncio.sleep(max(0, replicated + run.scaled(LASTS, AGAIN) - time.monotonic()))
        known = [gateway.name for gateway in cluster.gateways if await knows(gateway, death)]
        late = await late_heads(cluster, death)
        refused = codes(failures(of_killed, cut))
        await end(*loads.values(), of_killed)
        # What a gateway knows whose directory is new, it has from the store.
        await renew(c)
        in_store = [await knows(c, death), await code_of(c, killed)]
        await sign_in_again(b, killed)
        lost = [line for line in cluster.log_lines(REFRESHED) if losing <= line["at"] <= cut]
        put_back, dead = cluster.log_lines(PUT_BACK), await cluster.dead() | set(events(cluster))
        left = await unserved(cluster, [account for account in cluster.accounts if account not in dead], AGAIN)
        failed = [one for load in loads.values() for one in load.failures]
        run.checks += [
            equals(name + "requests that failed before the cut", len(calm), 0), equals(name + "replicas that say that a failover loses nothing", safe, ""),
            equals(name + "db3 follows the primary to the end, and the new primary", [follows, promoted.host], [True, "db2"]),
            at_most(name + "a kill that only db1 and db3 have is complete after", death.seconds, AT_ONCE, "s"),
            counted(name + "promotion after the primary's end, s; until it has a replica, s", f"{took:.1f}; {replicated - cut:.1f}"),
            counted(name + "requests", "; ".join(f"{one}: {load.summary}" for one, load in loads.items())),
            Check(name + "refreshes that db2 never got, by replica", tally(lost), "some", bool(lost)),
            Check(name + "records put back, by replica", tally(put_back), "some", bool(put_back)),
            equals(name + "commits that are lost in the end", await forgotten(cluster, others), []),
            equals(name + "grants lost", sorted(dead), []), *await once_each(cluster, name),
            equals(name + "replicas that list the lost kill in the end", known, [gateway.name for gateway in cluster.gateways]),
            equals(name + "a replica with a new directory lists it, and refuses the account, because the store has it", in_store, [True, "killed"]),
            equals(name + "heads with a dead token read more than 100 ms after the kill", len(late), 0),
            equals(name + "the killed account: error codes after the loss that it must not give", sorted(set(refused) - {"503 killed", "503 store_lost"}), []),
            at_most(name + "the killed account: its last 200 after the kill's completion", after_kill(of_killed, death, killed, cluster), ON_ITS_WAY, "s"),
            equals(name + "the others: error codes that they must not give", sorted(set(codes(failed)) - PERMITTED), []),
            at_most(name + "the others: all replicas serve all accounts after the new primary has a replica within", max(one for one, _ in settled), AGAIN, "s"),
            equals(name + "the others: accounts that a replica does not serve then", sorted({account for _, some in settled for account in some}), []),
            equals(name + "the others: requests that failed later than that", len([one for one in failed if one[0] > served]), 0),
            equals(name + "living accounts that a replica does not serve in the end", sorted({account for _, account in left}), [])]


def after_kill(load, death, account, cluster):
    """Returns how many seconds after the kill was complete a caller got the last 200."""
    complete = (death.complete or float("inf")) - cluster.history.wall
    return max(0, load.served.get(account, 0) - complete)


async def knows(gateway, death):
    """Returns whether the gateway lists the kill."""
    status, body = await gateway.ask("GET", "/v1/kills")
    return status == 200 and any(one["id"] == death.report["id"] for one in json.loads(body)["kills"])


async def renew(gateway):
    """Ends the gateway, and starts it with an empty state_dir: without its journal and its copy of the kills."""
    gateway.ask_to_end()
    await gateway.end_code(20)
    shutil.rmtree(gateway.state)
    await gateway.start()


async def code_of(gateway, account):
    """Returns the status or the error code that a request for the account gets."""
    caller = Caller(gateway.port)
    try:
        status, _, body = await asyncio.wait_for(caller.fetch("GET", *gateway.cluster.request_for(account)), 20)
    finally:
        caller.close()
    return status if status == 200 else json.loads(body)["type"].rpartition(":")[2]
