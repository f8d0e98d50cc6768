"""The clocks of the replicas differ: one wall clock is ahead, one behind, and the third replica's clocks run fast or slow. Refreshes
and kills hold, and each replica knows how far its wall clock is from the store's.

libfaketime does not serve here: with a rate it also changes the monotonic clocks, but hands absolute moments to the kernel as they
are, so that timers never fire. clocks.c converts them back."""

import asyncio
import json
import os
import pathlib
import subprocess
import sys
import time

from faulting.verdicts import counted, nothing_lost
from harness.checks import Check, at_most, equals
from harness.processes import Failed
from replicating.cluster import LAPSE, POLL
from replicating.kills import kill, late_heads, sign_in_again
from replicating.waiting import end, loads_of, serves_all

ACCOUNTS, RATE, LIFE, SECONDS, KILLS = 100, 60, 20, 60, 30
OFFSETS, RATES, TOLERANCE = {"a": 2, "b": -2}, (1.05, 0.95), 0.5
AGAIN = 30
# Prints the wall clock, and how much each clock advances in a second of the kernel's timers.
PROBE = """
import select, time
clocks = [time.CLOCK_REALTIME, time.CLOCK_MONOTONIC, time.CLOCK_MONOTONIC_RAW, time.CLOCK_BOOTTIME]
before = [time.clock_gettime(one) for one in clocks]
select.select([], [], [], 2)
print(time.time(), *((time.clock_gettime(one) - at) / 2 for one, at in zip(clocks, before)))
"""


async def run(run):
    library = run.work / "clocks.so"
    source = pathlib.Path(__file__).with_name("clocks.c")
    built = subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", library, source], capture_output=True, text=True, timeout=60)
    if built.returncode != 0:
        raise Failed(f"cc failed (Debian: gcc and libc6-dev): {built.stderr.strip()[:300]}")
    rates = RATES if run.options.minutes >= 5 else [run.random.choice(RATES)]
    for rate in rates:
        await part(run, library, rate)


async def part(run, library, rate):
    name = f"clocks of c × {rate}: "
    clocks = {replica: environment(library, OFFSETS.get(replica, 0), rate if replica == "c" else 1) for replica in "abc"}
    run.checks += [await probe(name, replica, added) for replica, added in clocks.items()]
    async with run.with_replicas(ACCOUNTS, access_ttl=f"{LIFE}s", clocks=clocks) as cluster:
        a, b, c = cluster.gateways
        started = time.monotonic()
        await cluster.sign_in_at_all()
        loads = loads_of(cluster, RATE)
        await asyncio.sleep(run.scaled(SECONDS, LIFE))
        await cluster.provider.expire()
        storm = time.monotonic()
        settled = await asyncio.gather(*(serves_all(load, cluster.accounts, storm, AGAIN) for load in loads.values()))
        failed = [one for load in loads.values() for one in load.failures]
        account, took, late, states = cluster.accounts[0], [], [], []
        for number in range(int(run.scaled(KILLS, 6))):
            death = await kill(cluster.gateways[number % 3], account, LAPSE + POLL)
            took.append(death.seconds)
            late += await late_heads(cluster, death)
            await sign_in_again(cluster.gateways[number % 3], account)
            states.append(death.report["state"])
        # The replica whose clocks run fast or slow holds the lease, and then it is the one that waits.
        cut = []
        for victim, asked in ((c, a), (a, c), (c, b), (b, c)):
            cluster.network.cut(victim.name)
            death = await kill(asked, account, LAPSE * 1.06 + POLL + 10)
            cut.append(death.seconds)
            late += await late_heads(cluster, death)
            cluster.network.mend(victim.name)
            mended = time.monotonic()
            await sign_in_again(asked, account)
            await serves_all(loads[victim.name], cluster.accounts, mended, AGAIN)
        run.checks += [await offset(name, gateway, OFFSETS.get(gateway.name, 0) + ((rate - 1) * (time.monotonic() - started) if gateway is c else 0))
                       for gateway in cluster.gateways]
        await end(*loads.values())
        run.checks += [counted(name + "requests", "; ".join(load.summary for load in loads.values())),
                       equals(name + "requests that failed before the kills", len(failed), 0),
                       at_most(name + "all tokens expire: all replicas serve all accounts after", max(took for took, _ in settled), AGAIN, "s"),
                       equals(name + "accounts that a replica does not serve then", sum(len(left) for _, left in settled), 0),
                       equals(name + "kills that were not complete", len(states) - states.count("complete"), 0),
                       at_most(name + "the slowest kill", max(took) * 1000, 1000, "ms"),
                       # The waiting replica's own clocks may run slow by 5 %.
                       at_most(name + "one is cut off: the longest time until a kill is complete", max(cut), LAPSE / min(1, rate) + POLL, "s"),
                       equals(name + "heads with a dead token read more than 100 ms after a kill", len(late), 0),
                       *await nothing_lost(cluster, name)]


def environment(library, offset, rate):
    return {"LD_PRELOAD": str(library), "CLOCK_OFFSET": str(offset), "CLOCK_RATE": str(rate)}


async def probe(name, replica, added):
    """Checks what the library does to a process's clocks."""
    offset, rate = float(added["CLOCK_OFFSET"]), float(added["CLOCK_RATE"])
    done = await asyncio.to_thread(subprocess.run, [sys.executable, "-c", PROBE], env={**os.environ, **added}, capture_output=True, text=True, timeout=30)
    wall, *rates = (float(one) for one in done.stdout.split())
    holds = all(abs(one - rate) < 0.02 for one in rates) and abs(wall - time.time() - offset) < 0.5 + abs(rate - 1) * 5
    return Check(f"{name}a probe with the clocks of {replica}", f"{wall - time.time():+.1f} s; × {', '.join(f'{one:.3f}' for one in rates)}",
                 f"{offset:+.0f} s; × {rate}", holds)


async def offset(name, gateway, ahead):
    """Checks what the replica says about its wall clock, which is `ahead` seconds ahead of the store's."""
    status, body = await gateway.ask("GET", "/v1/status")
    found = json.loads(body)["store"].get("clock_offset_ms") if status == 200 else None
    what, bound = f"{name}how far the store's clock is ahead of its own, says {gateway.name}", f"{-ahead:+.2f} s ± {TOLERANCE}"
    if found is None:
        return Check(what, "nothing", bound, False)
    return Check(what, f"{found / 1000:+.2f} s", bound, abs(found / 1000 + ahead) <= TOLERANCE)
