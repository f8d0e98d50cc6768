"""10,000 callers request an account without an access token, and its provider takes 5 s. One token request serves all callers."""

import asyncio
import collections
import resource

from faulting.history import say
from harness.checks import at_most, equals
from harness.client import BrokenAnswer, Caller

COUNT, PROVIDER_SECONDS = 10_000, 5
SLOW = {"on": "token", "times": 0, "delay_answer": f"{PROVIDER_SECONDS}s"}


async def run(run):
    async with run.with_cluster(2, count=2, access_ttl="60s", timeout="8s") as cluster:
        await cluster.provider.faults(SLOW)
        for account, leaving in zip(cluster.accounts, (0, COUNT // 2)):
            await cluster.sign_in([account], whole=False)
            await crowd(run, cluster, account, leaving)


async def crowd(run, cluster, account, leaving):
    loop = asyncio.get_running_loop()
    door, outcomes, begun = asyncio.Semaphore(400), collections.Counter(), loop.time()
    await asyncio.gather(*(one(cluster, account, number, number < leaving, door, outcomes) for number in range(COUNT)))
    took = loop.time() - begun
    say(f"waiters: {outcomes} after {took:.1f} s")
    uses = [use for use in cluster.provider.recorder.uses if use.account == account]
    name = f"{leaving} of {COUNT} leave: " if leaving else ""
    # The flight has run to its end, and its token is used.
    more = [(await get(gateway.port, account, 20)) for gateway in cluster.gateways]
    state = (await cluster.states())[account]
    run.checks += [equals(name + "answered", outcomes[200], COUNT - leaving), equals(name + "token requests", len(uses), 1),
                   equals(name + "answers at each process afterwards", more, [200, 200]),
                   equals(name + "token requests after that", len([use for use in cluster.provider.recorder.uses if use.account == account]), 1),
                   equals(name + "the account's state and generation", f"{state['state']}, {state['generation']}", "valid, 1"),
                   # The wait for the flight is bounded by the timeout; then thousands of responses come at once.
                   at_most(name + "all of it", took, 40, "s")]


async def one(cluster, account, number, leaves, door, outcomes):
    # The first process gets as many callers as it has descriptors for, counting one upstream connection for each caller.
    first = min(COUNT, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2 - 1500)
    gateway = cluster.gateways[0 if number % COUNT < first else 1]
    caller = Caller(gateway.port)
    try:
        async with door:
            caller.reader, caller.writer = await asyncio.open_connection("127.0.0.1", gateway.port)
        if leaves:
            try:
                await asyncio.wait_for(caller.get(f"/{account}/status/200"), PROVIDER_SECONDS / 4)
                outcomes["answered too early"] += 1
            except asyncio.TimeoutError:
                outcomes["left"] += 1
            return
        outcomes[await asyncio.wait_for(caller.get(f"/{account}/status/200"), 60)] += 1
    except (OSError, asyncio.IncompleteReadError, asyncio.TimeoutError, BrokenAnswer) as error:
        outcomes[type(error).__name__] += 1
    finally:
        caller.close()


async def get(port, account, limit):
    caller = Caller(port)
    try:
        return await asyncio.wait_for(caller.get(f"/{account}/status/200"), limit)
    finally:
        caller.close()
