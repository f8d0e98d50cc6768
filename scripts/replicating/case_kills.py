"""An account is killed, revived and signed in again, repeatedly and under load, at three replicas in turn. Then the same while one
replica is cut off from the store."""

import asyncio
import contextlib
import statistics

from faulting.case_kills import kill_often, under_pressure
from faulting.verdicts import counted
from harness.checks import at_most, equals
from harness.client import BrokenAnswer, Caller
from replicating.cluster import LAPSE, POLL
from replicating.kills import kill, late_heads, replicas, sign_in_again

KILLS, ACCOUNTS, RATE, BOUND = 500, 20, 500, 250
# Kills while one replica is cut off, the requests per second to each, and the seconds in which a replica serves again.
CUT_KILLS, CUT_RATE, AGAIN = 20, 100, 30


async def run(run):
    async with run.with_replicas(ACCOUNTS, access_ttl="3600s", direct=True) as cluster:
        await cluster.sign_in()
        run.checks += await kill_often(run, cluster, int(run.scaled(KILLS, 50)), RATE, BOUND)
        run.checks += await kill_cut_off(run, cluster, int(run.scaled(CUT_KILLS, 2)))


async def kill_cut_off(run, cluster, count):
    account, took, late, states, left = cluster.accounts[0], [], [], [], []
    async with under_pressure(cluster, account, CUT_RATE) as outcomes:
        for number in range(count):
            victim = cluster.gateways[number % len(cluster.gateways)]
            asked = cluster.gateways[(number + run.random.choice((1, 2))) % len(cluster.gateways)]
            cluster.network.cut(victim.name)
            # Any moment between two of the replica's looks at the store.
            await asyncio.sleep(run.random.random() * POLL)
            death = await kill(asked, account, LAPSE + POLL + 10)
            took.append(death.seconds)
            states.append({one["name"]: one["state"] for one in death.report["replicas"]}.get(victim.name, "not listed"))
            late += await late_heads(cluster, death)
            cluster.network.mend(victim.name)
            await sign_in_again(asked, account)
            if not await is_served(cluster, victim, account):
                left.append(f"{victim.boot}, {replicas(death.report)}")
    name = "one is cut off: "
    return [counted(name + "kills", count), counted(name + "what became of it", ", ".join(f"{states.count(one)} {one}" for one in sorted(set(states)))),
            at_most(name + "the longest time until a kill is complete", max(took), LAPSE + POLL, "s"),
            counted(name + "its median, s", f"{statistics.median(took):.1f}"),
            equals(name + "heads with a dead token read more than 100 ms after that", len(late), 0),
            equals(name + f"replicas that did not serve again within {AGAIN} s", left, []),
            counted(name + "requests", ", ".join(f"{many} {what}" for what, many in sorted(outcomes.items())))]


async def is_served(cluster, gateway, account):
    deadline = asyncio.get_running_loop().time() + AGAIN
    while asyncio.get_running_loop().time() < deadline:
        caller = Caller(gateway.port)
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.TimeoutError, BrokenAnswer):
            if (await asyncio.wait_for(caller.fetch("GET", *cluster.request_for(account)), AGAIN))[0] == 200:
                caller.close()
                return True
        caller.close()
        await asyncio.sleep(0.1)
    return False
