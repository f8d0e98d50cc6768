"""The provider rotates the refresh token at once and responds after 9 to 55 s. Callers get 503 with Retry-After, no process
sends that refresh token again, and the late response is used. In some parts the store is away, the sender is stopped or the
sender is asked to end in the middle of the wait."""

import asyncio
import collections
import functools
import time

from faulting.load import Load
from faulting.store import out_of_reach
from faulting.verdicts import counted, nothing_lost
from harness.checks import at_most, equals

DELAYS, EACH = (9, 12, 30, 55), 3
# How long callers wait, and how long a gateway waits for the provider's response, in seconds.
TIMEOUT, LISTENING = 8, 60
# How many seconds after the first token requests a trouble begins, and how many seconds it lasts.
BEGINS, LASTS = 4, 20
# The bound in seconds from a late response, or from the end of a trouble, to the first request that is served with it. A
# process checks a claim each second.
USED = 3
REFUSALS = {"503 refresh_failed", "503 store_lost"}


async def run(run):
    # A token lives for 60 s and is refreshed after half of that. The response to a second token request comes within twice the
    # delay.
    delays = [one for one in DELAYS if one <= max(12, run.options.minutes * 11)]
    parts = [("one process", 1, None), ("two processes", 2, None), ("one, the store away", 1, store_away), ("two, the store away", 2, store_away),
             ("two, the sender stopped", 2, stopped), ("one, it is asked to end", 1, asked_to_end),
             ("two, the sender is asked to end", 2, asked_to_end)]
    await run.side_by_side(part(run, f"{name}: ", count, delays, trouble) for name, count, trouble in parts)


async def part(run, name, count, delays, trouble):
    async with run.with_cluster(EACH * len(delays), count=count, access_ttl="60s", timeout=f"{TIMEOUT}s") as cluster:
        recorder = cluster.provider.recorder
        groups = {delay: cluster.accounts[place * EACH:][:EACH] for place, delay in enumerate(delays)}
        delay_of = {account: delay for delay, accounts in groups.items() for account in accounts}
        recorder.lateness = lambda use: delay_of.get(use.account, 0)
        await cluster.sign_in(whole=False)
        # Each group has a load of its own, so that callers who wait for one token response don't hold up requests of other groups.
        begin = functools.partial(begin_loads, cluster, groups.values())
        first, *others = cluster.gateways
        loads = begin([first])
        # The first process sends all token requests.
        await until(lambda: len(uses_of(recorder)) == len(delay_of), 10)
        loads += begin(others) if others else []
        excused, checks = 0, []
        if trouble:
            await asyncio.sleep(BEGINS)
            excused, checks = await trouble(cluster, name)
        rounds = 1 if trouble is asked_to_end else 2
        await until(lambda: all(is_served(recorder, loads, account, rounds) for account in delay_of), rounds * max(delays) + 45)
        for load in loads:
            load.ending.set()
        await asyncio.gather(*(load.end() for load in loads))
        outcomes = sum((load.outcomes for load in loads), collections.Counter())
        checks += [counted(name + "requests", ", ".join(f"{many} {what}" for what, many in sorted(outcomes.items(), key=str))),
                   at_most(name + "the slowest answer", max(load.longest for load in loads), TIMEOUT + 1, "s"),
                   equals(name + "otherwise refused than for a while", sorted({what for load in loads for *_, what in load.failures} - REFUSALS), []),
                   equals(name + "token requests that were given up", sum(use.is_given_up for use in recorder.uses), 0)]
        checks += [at_most(f"{name}{delay} s late: used after", max(lag(recorder, loads, account, excused) for account in accounts), USED, "s")
                   for delay, accounts in groups.items()]
        run.checks += checks + await nothing_lost(cluster, name, max(delays) + 10)


def begin_loads(cluster, groups, gateways):
    return [Load(cluster, 12 * len(gateways), accounts, gateways, workers=4).begin() for accounts in groups]


async def until(condition, limit):
    deadline = time.monotonic() + limit
    while not condition() and time.monotonic() < deadline:
        await asyncio.sleep(0.1)


def uses_of(recorder):
    """Returns the token requests of each account, in the order of their arrival."""
    uses = collections.defaultdict(list)
    for use in recorder.uses:
        uses[use.account].append(use)
    return uses


def is_served(recorder, loads, account, rounds):
    """Returns whether the account was served after `rounds` of its token requests got a response."""
    answers = [use.answered for use in uses_of(recorder)[account] if use.answered]
    return len(answers) >= rounds and max(load.served.get(account, 0) for load in loads) > answers[rounds - 1]


def lag(recorder, loads, account, excused):
    """Returns how many seconds after the first late response the account was first served. `excused` is the moment until which
    a trouble may have prevented that; if it is later than the response, the time counts from it."""
    firsts = [load.first_served[account] for load in loads if account in load.first_served]
    answered = next((use.answered for use in uses_of(recorder)[account] if use.answered), None)
    return max(0, min(firsts) - max(answered, excused)) if firsts and answered else 9999


# The troubles in the middle of the wait. Each function returns the moment until which the trouble may have prevented that an
# account is served, and its own checks.


async def store_away(cluster, name):
    hold = out_of_reach(cluster.state)
    await asyncio.to_thread(hold.__enter__)
    cluster.history.note("the store is away")
    try:
        await asyncio.sleep(LASTS)
    finally:
        hold.__exit__(None, None, None)
        cluster.history.note("the store is there again")
    return time.monotonic(), []


async def stopped(cluster, name):
    cluster.gateways[0].hold()
    try:
        await asyncio.sleep(LASTS)
    finally:
        cluster.gateways[0].go_on()
    return time.monotonic(), []


async def asked_to_end(cluster, name):
    gateway = cluster.gateways[0]
    waits = [use for use in cluster.provider.recorder.uses if not use.ended]
    gateway.ask_to_end()
    code, took = await gateway.end_code(LISTENING + 10)
    if code is not None:
        await gateway.start()
    # If there is another process, it serves meanwhile.
    excused = time.monotonic() if len(cluster.gateways) == 1 else 0
    return excused, [equals(name + "return code", code, 0), at_most(name + "it ended after", took, LISTENING - BEGINS, "s"),
                     equals(name + "token requests under way that had no answer", sum(not use.answered for use in waits), 0)]
