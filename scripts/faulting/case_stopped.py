"""One of four processes is stopped (SIGSTOP) at a step of a refresh or at a random moment, for less time than a claim stands and
for more. It then continues without noticing the stop."""

import asyncio
import time

from faulting.history import say
from faulting.load import Load, unserved
from faulting.verdicts import Commits, counted, note_uses, one_event_each, spent_twice
from harness.checks import Check, equals

SHARED, RATE = 30, 80
# A claim stands for the gateway's wait for a response (here the same as the callers' timeout) plus 4 s. A reader of the claim
# counts from a moment up to a second before the exchange.
TIMEOUT, CLAIM, RECOVERY = 2, 6, 20
MOMENTS = ("sent", "answered", "at random")
# The delay lets a stop come between a token request and its response.
SLOW = {"on": "token", "times": 0, "delay_answer": "20ms"}


async def run(run):
    longest = [one for one in (3, 13, 30) if one <= max(3, run.options.minutes * 6)]
    for grace in ("0s", "60s"):
        async with run.with_cluster(SHARED + 4, grace=grace, timeout=f"{TIMEOUT}s", answer_timeout=f"{TIMEOUT}s") as cluster:
            await cluster.sign_in()
            await cluster.provider.faults(SLOW)
            # Most accounts are used at all processes. Each of the last four is used at one process alone, so that no other process
            # takes its refresh over.
            loads = [Load(cluster, RATE, cluster.accounts[:SHARED])]
            solo = dict(zip((gateway.name for gateway in cluster.gateways), cluster.accounts[SHARED:]))
            loads += [Load(cluster, 8, [solo[gateway.name]], [gateway], workers=4) for gateway in cluster.gateways]
            for load in loads:
                load.begin()
            await asyncio.sleep(2)
            for seconds in longest:
                for moment in MOMENTS:
                    await stop_one(run, cluster, seconds, moment, solo)
            # Time for the refreshes that were in progress during the last stop.
            await asyncio.sleep(CLAIM + 3)
            for load in loads:
                await load.end()
            dead = await cluster.dead()
            left = await unserved(cluster, [name for name in cluster.accounts if name not in dead], RECOVERY)
            run.checks += await judge(cluster, grace, loads, solo, left)


async def stop_one(run, cluster, seconds, moment, solo):
    gateway = run.random.choice(cluster.gateways)
    if moment == "at random":
        await asyncio.sleep(run.random.random())
        gateway.hold()
    else:
        gateway_is_there = asyncio.get_running_loop().create_future()

        def watch(step, use):
            # Stops the process in this very moment. Only this process uses the account, so the test sees what becomes of the
            # response.
            if step == moment and use.boot == gateway.boot and use.account == solo[gateway.name] and not gateway_is_there.done():
                gateway.hold()
                cluster.history.note(f"{gateway.boot} had {step} {use.account}'s refresh token {use.token}")
                gateway_is_there.set_result(use)

        cluster.provider.recorder.watchers.append(watch)
        try:
            await asyncio.wait_for(gateway_is_there, 15)
        finally:
            cluster.provider.recorder.watchers.remove(watch)
    say(f"stopped: {gateway.name}, {moment}, for {seconds} s")
    try:
        await asyncio.sleep(seconds)
    finally:
        gateway.go_on()
    await asyncio.sleep(2)


async def judge(cluster, grace, loads, solo, left):
    dead = await cluster.dead()
    commits, again, unexplained, early, by_itself = Commits(cluster), 0, 0, 0, 0
    for uses in spent_twice(cluster).values():
        for first, second in zip(uses, uses[1:]):
            again += 1
            until = (first.answered or first.at + TIMEOUT) + 2
            gateway = next(one for one in cluster.gateways if one.name == first.process)
            held = [one for one in gateway.stops if first.at - 1 <= one[0] <= until and (one[1] or time.monotonic()) > first.at]
            if not held or commits.after(first, held[0][0]):
                unexplained += 1
                note_uses(cluster, uses, "again, although nobody was stopped")
            elif second.process == first.process:
                # The response waits in the socket while the process is stopped, so it must not send the token again.
                by_itself += 1
                note_uses(cluster, uses, "again by the process that went on")
            elif second.at - first.at < CLAIM - 1:
                early += 1
                note_uses(cluster, uses, "again, before its claim had lapsed")
            else:
                note_uses(cluster, uses, "again, as it may be")
    lonely = sorted(set(solo.values()) & {use.account for uses in spent_twice(cluster).values() for use in uses[1:]})
    # The requests of `unserved` can themselves make an account die.
    left = [f"{account} by {process}" for process, account in left if account not in dead]
    name = f"grace {grace}: "
    checks = [counted(name + "requests", "; ".join(load.summary for load in loads)),
              counted(name + "refresh tokens spent again, as a claim had lapsed", again),
              equals(name + "spent again without a stop", unexplained, 0),
              equals(name + "spent again by another before the claim had lapsed", early, 0),
              equals(name + "spent again by the same process: late successes that were not kept", by_itself, 0),
              equals(name + "of accounts that one process uses: late successes that were not kept", lonely, []),
              equals(name + "requests that nobody answered, though their process was not stopped", sum(load.unanswered for load in loads), 0),
              equals(name + "living accounts that a process does not serve in the end", left, []),
              one_event_each(cluster, dead)]
    reused = {use.account for uses in spent_twice(cluster).values() for use in uses[1:]}
    checks.append(equals(name + "dead without a second use", sorted(dead - reused), []))
    if grace != "0s":
        checks.append(Check(name + "accounts dead", str(len(dead)), "0", not dead))
    else:
        checks.append(counted(name + "accounts dead", len(dead)))
    return checks
