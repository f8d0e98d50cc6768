"""Waits for what replicas do, each time with a deadline."""

import asyncio
import collections
import time

from faulting.load import Load


class StrictLoad(Load):
    """A load for which every request without a 200 has failed, even if the test stopped its process."""

    def was_disturbed(self, gateway, began):
        return False


async def until(condition, limit, pause=0.05):
    """Waits until `condition()` holds, at most `limit` seconds. Looks again after each `pause`. Returns how long it took, and whether
    the condition holds."""
    begun = time.monotonic()
    while not (holds := condition()) and time.monotonic() < begun + limit:
        await asyncio.sleep(pause)
    return time.monotonic() - begun, holds


def loads_of(cluster, rate, accounts=None, of=Load):
    """Begins a load of `rate` requests a second for each replica, and returns them by the replica's name."""
    return {gateway.name: of(cluster, rate, accounts, [gateway]).begin() for gateway in cluster.gateways}


async def end(*loads):
    for load in loads:
        load.ending.set()
    await asyncio.gather(*(load.end() for load in loads))


def failures(load, since=0, until=float("inf")):
    """Returns the failures of requests that were answered in this time."""
    return [one for one in load.failures if since <= one[0] <= until]


def codes(failed):
    return sorted({what for *_, what in failed})


async def serves_living(cluster, load, accounts, since, limit):
    """Like `serves_all`, without the accounts that are dead by then. Returns the seconds."""
    while True:
        dead = await cluster.dead()
        left = [account for account in accounts if account not in dead and load.served.get(account, 0) < since]
        if not left or time.monotonic() > since + limit:
            return time.monotonic() - since
        await asyncio.sleep(0.25)


async def serves_all(load, accounts, since, limit):
    """Waits until the load got a 200 for each account after `since`. Returns the seconds from `since`, and the accounts without one."""
    def left():
        return [account for account in accounts if load.served.get(account, 0) < since]

    await until(lambda: not left(), since + limit - time.monotonic())
    return time.monotonic() - since, left()


def tally(lines):
    """Returns a text that says how many of the log entries are from each replica."""
    return ", ".join(f"{count} {name}" for name, count in sorted(collections.Counter(line["process"] for line in lines).items())) or "none"
