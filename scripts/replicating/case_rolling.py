"""A rolling restart: one replica after another is asked to end and started again, while callers use the others."""

import asyncio

from faulting.verdicts import counted, nothing_lost
from harness.checks import at_most, equals
from replicating.waiting import StrictLoad, end, loads_of, until

ACCOUNTS, RATE, LIFE, ROUNDS = 100, 100, 20, 5
# How long a replica may need to end: its open token requests are answered sooner.
END_SECONDS = 20
SLOWNESS = (0.02, 1)


async def run(run):
    async with run.with_replicas(ACCOUNTS, access_ttl=f"{LIFE}s") as cluster:
        cluster.provider.recorder.lateness = lambda use: run.random.uniform(*SLOWNESS)
        await cluster.sign_in_at_all()
        loads = loads_of(cluster, RATE, of=StrictLoad)
        await asyncio.sleep(LIFE)
        times, returned, slow = [], set(), []
        for _ in range(int(run.scaled(ROUNDS, 1))):
            for gateway in cluster.gateways:
                load = loads[gateway.name]
                # Requests that are under way run to their end in the replica.
                gateway.is_avoided = True
                gateway.ask_to_end()
                code, took = await gateway.end_code(END_SECONDS)
                times.append(took)
                returned.add(code)
                await gateway.start()
                gateway.is_avoided = False
                # The next replica stops only when this one serves.
                before = load.outcomes[200]
                seconds, serves = await until(lambda: load.outcomes[200] >= before + 2 * ACCOUNTS // len(cluster.gateways), 20)
                slow.append(seconds)
                if not serves:
                    run.history.find(f"{gateway.boot} serves too few requests after its start")
        await asyncio.sleep(LIFE / 2)
        await end(*loads.values())
        run.checks += [counted("restarts", len(times)), counted("requests", "; ".join(f"{name}: {load.summary}" for name, load in loads.items())),
                       equals("requests that failed", sum(load.failed_of() for load in loads.values()), 0),
                       equals("return codes", sorted(returned, key=str), [0]), at_most("the slowest end", max(times), END_SECONDS, "s"),
                       at_most("the longest time until a replica serves well again", max(slow), 20, "s"),
                       *await nothing_lost(cluster)]
