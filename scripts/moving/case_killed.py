"""Both gateways are killed in a move. The move goes on when they are back."""

import asyncio
import contextlib
import time

from faulting.verdicts import counted
from harness.checks import Check, equals
from moving.cluster import BEGUN, GONE_OVER
from moving.databases import ANOTHER, POSTGRES, REDIS, SQLITE
from moving.moves import all_served, ended, moved, name_of, part_moved, settled, slow_down
from moving.traffic import Traffic
from replicating.waiting import until

ACCOUNTS, LEAST, FEW, RATE = 3000, 600, 200, 60
LIFE = 20
# How long the provider takes for a response, and how long a token request is waited for before the kill, in seconds.
LATENESS, WAIT_SECONDS = 0.5, 5
# A process that is killed while a token request is under way loses the response. The provider takes the spent token for this long.
GRACE = "30s"
# The part of the accounts that has moved when the gateways are killed.
LEAST_PART, MOST_PART = 0.3, 0.8
# How often the gateways are killed around the moment at which they go over, and how long after the second one has the new store, in
# seconds. Every other time, the delay begins when the log says that they go over.
TRIES, LEAST_TRIES, DELAY, SHORT_DELAY = 6, 4, 0.6, 0.15
PATH = (SQLITE, POSTGRES, REDIS, ANOTHER)


async def run(run):
    await half_way(run)
    await around(run)


async def half_way(run):
    count = int(run.scaled(ACCOUNTS, LEAST))
    async with run.with_movers(count, access_ttl=f"{LIFE}s", grace=GRACE, wanted=(POSTGRES,)) as cluster:
        await cluster.sign_in_at_both()
        await settled(cluster)
        name = "half-way, " + name_of(SQLITE, POSTGRES)
        traffic = Traffic(cluster, RATE, is_strict=False).begin()
        try:
            cluster.provider.recorder.lateness = lambda use: LATENESS
            await slow_down(cluster)
            await cluster.take_over(cluster.migrating(POSTGRES, SQLITE))
            part = await part_moved(cluster, SQLITE, LEAST_PART, MOST_PART)
            await cluster.provider.expire()
            await until(lambda: under_way(cluster), WAIT_SECONDS, 0.01)
            sent = under_way(cluster)
            kill_both(cluster)
            left = cluster.databases[SQLITE].accounts()
            there = cluster.databases[POSTGRES].accounts()
            run.checks.append(Check(name + "accounts in the old and in the new store after the kill", f"{left}, {there}", "some in both",
                                    left > 0 and there > 0))
            await slow_down(cluster, 0)
            began = time.monotonic()
            await cluster.restart(cluster.layout)
            await ended(cluster)
        finally:
            await traffic.end()
        run.checks += [counted(name + "moved before the kill, and token requests under way then", f"{part:.0%}, {sent}"),
                       counted(name + "the move is done after the restart in, s", f"{time.monotonic() - began:.1f}"),
                       counted(name + "requests", traffic.summary), equals(name + "requests that failed", traffic.failed_of(), 0),
                       *await moved(cluster, name, SQLITE, POSTGRES), *await all_served(cluster, name)]


async def around(run):
    """Kills both gateways around the moment at which they go over, along a path of stores, and back along it."""
    tries, stages = int(run.scaled(TRIES, LEAST_TRIES)), []
    async with run.with_movers(FEW, access_ttl=f"{LIFE}s", grace=GRACE) as cluster:
        await cluster.sign_in_at_both()
        await settled(cluster)
        for number in range(tries):
            source, target = leg(number)
            name = f"going over, {number + 1}: " + name_of(source, target)
            began = time.monotonic()
            # They go over together, when the last process with the old store alone has ended.
            await cluster.take_over(cluster.migrating(target, source))
            if number % 2:
                await said(cluster, BEGUN, began)
                await asyncio.sleep(run.random.uniform(0, SHORT_DELAY))
            else:
                await asyncio.sleep(run.random.uniform(0, DELAY))
            kill_both(cluster)
            stages.append(stage(cluster, began))
            cluster.history.note(f"they were killed {stages[-1]}")
            await cluster.restart(cluster.layout)
            await ended(cluster)
            run.checks += [*await moved(cluster, name, source, target), *await all_served(cluster, name)]
            await cluster.take_over(cluster.alone(target))
    run.checks.append(counted("going over: when they were killed", "; ".join(f"{stages.count(one)} {one}" for one in sorted(set(stages)))))


def leg(number):
    """Returns the source and the target of a move: there and back again between neighbours of the path."""
    legs = list(zip(PATH, PATH[1:]))
    tour = legs + [(target, source) for source, target in reversed(legs)]
    return tour[number % len(tour)]


def under_way(cluster):
    """Returns how many token requests have been sent and have no response."""
    return sum(use.ended is None for use in cluster.provider.recorder.uses)


def kill_both(cluster):
    for gateway in cluster.gateways:
        gateway.kill()


async def said(cluster, message, since, limit=15):
    """Waits until a gateway has logged this."""
    deadline = time.monotonic() + limit
    while time.monotonic() < deadline and not lines(cluster, message, since):
        await asyncio.sleep(0.005)


def lines(cluster, message, since):
    with contextlib.suppress(FileNotFoundError):
        # Times in the log are rounded to milliseconds.
        return [line for line in cluster.log_lines(message) if line["at"] >= since - 0.002]
    return []


def stage(cluster, since):
    if not lines(cluster, BEGUN, since):
        return "before the move began"
    return {0: "before one had gone over", 1: "when one had gone over"}.get(len(lines(cluster, GONE_OVER, since)), "when both had gone over")
