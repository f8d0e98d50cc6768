"""Random processes are killed and restarted under load. No account may die where the provider's grace suffices. An account
that dies must have died in the stated window (POST sent, response not committed), and is declared dead once."""

import asyncio
import statistics
import time

from faulting.history import say
from faulting.load import Load
from faulting.verdicts import Commits, counted, explained_by_kill, note_uses, one_event_each, spent_twice
from harness.checks import Check, equals

ACCOUNTS, RATE = 200, 240
# The delay makes it likely that a kill hits a process in the middle of an exchange.
SLOW = {"on": "token", "times": 0, "delay_answer": "20ms"}
SETTLE_SECONDS = 30


async def run(run):
    for grace in (20, 5, 0):
        await kill(run, grace)


async def kill(run, grace):
    async with run.with_cluster(ACCOUNTS, grace=f"{grace}s") as cluster:
        await cluster.sign_in()
        await cluster.provider.faults(SLOW)
        load = Load(cluster, RATE).begin()
        # In a full run, five minutes for the three graces together; with --minutes 15, five minutes for each.
        until = time.monotonic() + max(1, run.options.minutes * 20)
        kills, started = 0, time.monotonic()
        while time.monotonic() < until:
            begun = time.monotonic()
            gateway = run.random.choice(cluster.gateways)
            # A random moment within the second, not always its beginning.
            await asyncio.sleep(run.random.random() / 2)
            gateway.kill()
            await gateway.start()
            kills += 1
            await asyncio.sleep(max(0, begun + 1 - time.monotonic()))
        lasted = time.monotonic() - started
        left = await settle(cluster, load)
        await load.end()
        dead = await cluster.dead()
        say(f"killed: grace {grace} s: {kills} kills in {lasted:.0f} s, {len(dead)} of {ACCOUNTS} accounts dead")
        run.checks += judge(cluster, load, grace, f"{kills} in {lasted:.0f} s", dead, left)


async def settle(cluster, load):
    """Waits until each account is served again or dead, at most SETTLE_SECONDS. Returns the accounts that are neither."""
    last, deadline = time.monotonic(), time.monotonic() + SETTLE_SECONDS
    while True:
        dead = await cluster.dead()
        left = [name for name in cluster.accounts if name not in dead and load.served.get(name, 0) < last]
        if not left or time.monotonic() > deadline:
            for name in left:
                cluster.history.note(f"{name} is neither served again nor dead")
            return left
        await asyncio.sleep(0.5)


def judge(cluster, load, grace, kills, dead, left):
    commits, unexplained, waits, of_dead, bad_deaths = Commits(cluster), 0, [], set(), 0
    # An account can only have died by its last refresh token.
    last = {use.account: use.token for use in cluster.provider.recorder.uses}
    for token, uses in spent_twice(cluster).items():
        for first, second in zip(uses, uses[1:]):
            killed = explained_by_kill(cluster, first, second, commits)
            if killed is None:
                unexplained += 1
                note_uses(cluster, uses, "a second time, although nobody was killed in between")
                continue
            waits.append(second.at - killed)
            if first.account in dead and token == last[first.account] and second.status != 200:
                of_dead.add(first.account)
                # With more than two uses, one of them was by a process that took over and was then killed too.
                if grace == 5 and len(uses) == 2 and not again(cluster, first.process, killed, 5):
                    bad_deaths += 1
                    note_uses(cluster, uses, f"too late: {first.process} was killed once, at {killed - cluster.history.began:.3f} s")
    name = f"grace {grace} s: "
    for account in sorted(dead - of_dead):
        cluster.history.note(f"{account} is dead, and nothing says why")
    checks = [counted(name + "kills", kills), counted(name + "requests", load.summary),
              counted(name + "refresh tokens spent again", len(waits)),
              counted(name + "seconds from a kill to that", seconds(waits)),
              equals(name + "spent again without a kill in between", unexplained, 0),
              Check(name + "accounts dead", str(len(dead)), "0" if grace == 20 else "-", grace != 20 or not dead),
              equals(name + "dead outside the stated window", len(dead - of_dead), 0),
              equals(name + "accounts neither served nor dead in the end", len(left), 0),
              one_event_each(cluster, dead)]
    if grace == 5:
        checks.append(equals(name + "dead though their process was not killed again within 5 s", bad_deaths, 0))
    return checks


def again(cluster, process, killed, seconds):
    gateway = next(one for one in cluster.gateways if one.name == process)
    return any(killed < at <= killed + seconds for at in gateway.kills.values())


def seconds(values):
    return f"{statistics.median(values):.2f} (median), {max(values):.2f} (most)" if values else "-"
