"""An account is killed, revived and signed in again, repeatedly and under load. Measures how long a kill takes, and whether
a dead token is sent upstream after the kill's response. Runs with one process, and with three that share one file."""

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import time

from faulting.verdicts import counted
from harness.checks import Check, at_most, equals
from harness.processes import Failed, Process

KILLS, ACCOUNTS = 1000, 20
# For this many seconds after the response to a kill, requests sent before it may still be in transit or unread.
ON_ITS_WAY = 0.1
# The number of processes, the requests per second to each, and the bound of the p99 of a kill, in ms.
SETTINGS = ((1, 2000, 50), (3, 500, 250))


async def run(run):
    for count, rate, bound in SETTINGS:
        async with run.with_cluster(ACCOUNTS, count=count, access_ttl="600s", direct=True) as cluster:
            await cluster.sign_in()
            run.checks += await kill_often(run, cluster, int(run.scaled(KILLS, 50)), rate, bound)


async def kill_often(run, cluster, kills, rate, bound):
    name = f"{len(cluster.gateways)} of them, {rate}/s each: "
    account, took, spans, states = cluster.accounts[0], [], [], {}
    syncs = await asyncio.to_thread(sync_times, cluster.work)
    begun = time.monotonic()
    async with under_pressure(cluster, account, rate) as outcomes:
        for number in range(kills):
            gateway = cluster.gateways[number % len(cluster.gateways)]
            began, at = time.monotonic(), time.time()
            report = await done(gateway, "POST", "/v1/kill", {"scope": {"account": account}, "reason": "drill"})
            took.append((time.monotonic() - began) * 1000)
            spans.append((at, at + time.monotonic() - began))
            states[report["state"]] = states.get(report["state"], 0) + 1
            await done(gateway, "POST", "/v1/revive", {"scope": {"account": account}, "reason": "over"})
            await cluster.sign_in([account], by=gateway)
            # Time for the new token to be used before the next kill.
            await asyncio.sleep(0.02)
        seconds = time.monotonic() - begun
    within, beyond = after([use["at"] for use in (await cluster.provider.stats())["dead_uses"]], spans)
    took.sort()
    served = outcomes.get("200", 0)
    p99 = took[len(took) * 99 // 100]
    for late in beyond[:20]:
        run.history.note(f"a head with a dead token {late:.3f} s after a kill's response")
    return [counted(name + "kills", ", ".join(f"{count} {state}" for state, count in states.items())),
            at_most(name + "a kill's answer takes, p99", p99, bound, "ms"),
            counted(name + "a kill's answer takes, median and longest, ms", f"{took[len(took) // 2]:.1f}, {took[-1]:.1f}"),
            counted(name + "fdatasync of 4 KiB before, median and p99, ms", ", ".join(f"{one:.2f}" for one in syncs)),
            counted(name + "requests", ", ".join(f"{count} {what}" for what, count in sorted(outcomes.items()))),
            counted(name + "requests served per second", f"{served / seconds:.0f}"),
            counted(name + f"heads with a dead token read up to {ON_ITS_WAY * 1000:.0f} ms after a kill's answer", len(within)),
            equals(name + "heads with a dead token read later", len(beyond), 0),
            Check(name + "kills that were complete", str(states.get("complete", 0)), str(kills), states.get("complete") == kills)]


@contextlib.asynccontextmanager
async def under_pressure(cluster, account, rate):
    """A context in which each gateway gets `rate` requests a second for one account. Afterwards its dictionary says how many got
    which status."""
    path, fields = cluster.request_for(account)
    places = (":".join(map(str, gateway.port)) if isinstance(gateway.port, tuple) else gateway.port for gateway in cluster.gateways)
    pressure = Process("the callers", [sys.executable, "-m", "faulting.pressure", path, rate, *places,
                                       *(f"--field={name}: {value}" for name, value in fields.items())], None, stdout=subprocess.PIPE, text=True)
    outcomes = {}
    try:
        yield outcomes
    finally:
        pressure.process.terminate()
        said = await asyncio.to_thread(pressure.process.communicate, timeout=30)
    outcomes.update(json.loads(said[0]))


def after(dead, spans):
    """Returns how many seconds after the latest kill's response each request head with a dead token was read, as two lists:
    the values up to ON_ITS_WAY, which are permitted, and the larger ones.

    `spans` has the begin and the end of each kill. A head that is read during a kill may carry the token
    of that kill, which the provider already knows as revoked. Such a head counts as 0 seconds.
    """
    within, beyond, turn = [], [], 0
    for at in sorted(dead):
        while turn < len(spans) and spans[turn][0] <= at:
            turn += 1
        since = max(0, at - spans[turn - 1][1]) if turn else 0
        (within if since <= ON_ITS_WAY else beyond).append(since)
    return within, beyond


async def done(gateway, method, path, body):
    status, answer = await gateway.ask(method, path, body, limit=40)
    if status != 200:
        raise Failed(f"{method} {path} got status {status}: {answer[:300]}")
    return json.loads(answer)


def sync_times(directory, count=300):
    """Returns how long a sync of 4 KiB takes in the same directory: the median and the p99, in ms."""
    path, took = directory / "sync-times", []
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, b"\1" * 4096 * 64)
        os.fsync(descriptor)
        for number in range(count):
            began = time.monotonic()
            os.pwrite(descriptor, os.urandom(4096), number % 64 * 4096)
            os.fdatasync(descriptor)
            took.append((time.monotonic() - began) * 1000)
    finally:
        os.close(descriptor)
        path.unlink()
    took.sort()
    return took[count // 2], took[count * 99 // 100]
