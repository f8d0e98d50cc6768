"""The primary of a mirrored store is lost with all its data, and a gateway goes on from the mirror."""

import asyncio
import shutil
import time

from faulting.verdicts import counted
from harness.checks import Check, at_most, equals
from moving.cluster import ACCEPT
from moving.databases import POSTGRES, REDIS
from moving.case_mirror import are_up_to_date
from moving.moves import all_served, settled, spent_once
from moving.traffic import Traffic
from replicating.kills import kill

ACCOUNTS, KILLED, RATE, LIFE = 300, 3, 60, 20
# How long there is traffic before the loss and after it, and how long a kill may take, in seconds.
BEFORE, AFTER, KILL_SECONDS = 15, 5, 20
# The exit code for a store that must not be used.
REFUSED = 78


async def run(run):
    async with run.with_movers(ACCOUNTS, access_ttl=f"{LIFE}s", layout=lambda cluster: cluster.mirroring(POSTGRES, REDIS)) as cluster:
        await cluster.sign_in_at_both()
        await settled(cluster)
        run.checks.append(await are_up_to_date(cluster, "before: "))
        killed, living = cluster.accounts[:KILLED], cluster.accounts[KILLED:]
        traffic = Traffic(cluster, RATE, living, is_strict=False).begin()
        try:
            await asyncio.sleep(run.scaled(BEFORE, LIFE / 4))
            deaths = [await kill(cluster.gateways[number % 2], account, KILL_SECONDS) for number, account in enumerate(killed)]
            run.checks += [at_most("the longest time until a kill is complete", max(death.seconds for death in deaths), KILL_SECONDS, "s"),
                           equals("requests that failed before the loss", traffic.failed_of(), 0)]
            await lose(cluster)
            # Tokens that come meanwhile are in the journals.
            await asyncio.sleep(AFTER)
        finally:
            await traffic.end()
        began = time.monotonic()
        codes = await cluster.end_all()
        run.checks += [counted("requests until the gateways end", traffic.summary),
                       counted("return codes of the gateways, and how long their ends take, s", f"{codes}, {time.monotonic() - began:.1f}")]
        run.checks += await start_from_mirror(cluster)
        after = Traffic(cluster, RATE, living).begin()
        await asyncio.sleep(AFTER)
        await after.end()
        run.checks += [counted("requests at the mirror", after.summary), equals("requests at the mirror that failed", after.failed_of(), 0),
                       *await all_served(cluster, but=killed), *await spent_once(cluster)]


async def lose(cluster):
    """Kills the primary and removes its data."""
    server = cluster.databases.servers[POSTGRES].db1
    server.process.process.kill()
    server.process.process.wait()
    cluster.history.note("the primary is killed, and its data is removed")
    # Its children notice that it has gone, and may still write.
    while server.data.exists():
        await asyncio.to_thread(shutil.rmtree, server.data, True)
        await asyncio.sleep(0.1)


async def start_from_mirror(cluster):
    """Starts the gateways on the mirror alone: the first one refuses to start until it may. Returns the checks."""
    first, second = cluster.gateways
    path = cluster.write_configuration("mirror.yaml", cluster.alone(REDIS))
    refusal = await cluster.command("serve", "--config", path)
    text = refusal.stderr.splitlines()[-1] if refusal.stderr else ""
    cluster.history.note(f"the refusal: {text}")
    cluster.layout = cluster.alone(REDIS)
    await first.start(arguments=ACCEPT)
    await second.start()
    return [equals("the exit code without --accept-older-store", refusal.returncode, REFUSED),
            Check("what it says", text[-400:], "that it is a mirror, and how complete", all(one in text for one in ("is a mirror of", "complete at", ACCEPT[0])))]
