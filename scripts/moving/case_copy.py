"""`martlet store copy` without gateways: from SQLite to PostgreSQL, once cut short by SIGKILL, and on to Redis."""

import json
import subprocess
import time

from faulting.history import say
from faulting.verdicts import counted
from harness.checks import Check, equals
from harness.processes import Failed
from moving.databases import OF_ONE_COPY, POSTGRES, REDIS, SQLITE, TITLES, without
from moving.moves import all_served, settled, spent_once
from replicating.waiting import until

ACCOUNTS, LEAST = 10_000, 1000
# The part of the accounts that is in the target when the first copy is killed, at least.
PART = 0.2
REFUSED = 1


async def run(run):
    count = int(run.scaled(ACCOUNTS, LEAST))
    async with run.with_movers(count, access_ttl="3600s", direct=True) as cluster:
        began = time.monotonic()
        await cluster.sign_in_at_both()
        say(f"copy: {count} accounts imported in {time.monotonic() - began:.0f} s")
        await settled(cluster)
        files = {name: cluster.write_configuration(f"{name}.yaml", cluster.alone(name)) for name in (SQLITE, POSTGRES, REDIS)}
        refusal = await cluster.command("store", "copy", "--config", files[SQLITE], "--to", files[POSTGRES])
        text = refusal.stderr.strip().splitlines()[-1] if refusal.stderr.strip() else ""
        run.checks += [equals("with gateways: the exit code", refusal.returncode, REFUSED), Check("with gateways: what it says", text[-300:], "who is listed", "listed" in text),
                       equals("with gateways: accounts in the new store", cluster.databases[POSTGRES].accounts(), 0)]
        codes = await cluster.end_all()
        run.checks.append(equals("return codes of the gateways", codes, [0, 0]))
        there = await cut_short(cluster, files)
        run.checks += await copy(cluster, files, SQLITE, POSTGRES, there)
        run.checks += await copy(cluster, files, POSTGRES, REDIS, 0)
        await cluster.restart(cluster.alone(REDIS))
        run.checks += [*await all_served(cluster), *await spent_once(cluster)]


async def cut_short(cluster, files):
    """Kills a copy half-way. Returns how many accounts it has copied."""
    copying = subprocess.Popen(cluster.on_host("store", "copy", "--config", files[SQLITE], "--to", files[POSTGRES]), stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    try:
        await until(lambda: copying.poll() is not None or cluster.databases[POSTGRES].accounts() > PART * len(cluster.accounts), 120, 0.01)
        is_running = copying.poll() is None
    finally:
        copying.kill()
        copying.wait()
    there = cluster.databases[POSTGRES].accounts()
    cluster.history.note(f"a copy is killed: {there} accounts are in the new store")
    if not is_running or there >= len(cluster.accounts):
        raise Failed(f"the copy ended before it was killed, with {there} accounts in the new store")
    return there


async def copy(cluster, files, source, target, there):
    """Copies. `there` is the number of accounts that an earlier copy has left in the target. Returns the checks."""
    name, before = f"{TITLES[source]} to {TITLES[target]}: ", len(without(cluster.databases[target].records(), OF_ONE_COPY))
    began = time.monotonic()
    ended = await cluster.command("store", "copy", "--config", files[source], "--to", files[target], "--json")
    took = time.monotonic() - began
    if not ended.stdout.startswith("{"):
        raise Failed(f"martlet store copy ended with {ended.returncode}: {ended.stderr.strip()[-500:]}")
    report, verified = json.loads(ended.stdout), await cluster.verified(cluster.alone(target))
    first, second = [without(cluster.databases[one].records(), OF_ONE_COPY) for one in (source, target)]
    different = sorted(key.decode(errors="replace") for key in first.keys() | second.keys() if first.get(key) != second.get(key))
    return [equals(name + "exit code", ended.returncode, 0), counted(name + "takes, s", f"{took:.1f}"),
            counted(name + "records that were there before, accounts among them", f"{before}, {there}"),
            Check(name + "records, and those that it copied", f"{report['records']}, {report['copied']}", "only the rest, and the audit log's entries",
                  report["records"] - before <= report["copied"] <= report["records"] - before + 1),
            equals(name + "records verified", report["verified"], report["records"]),
            equals(name + "records that open, by store verify", verified["opened"], verified["records"]),
            equals(name + "accounts", cluster.databases[target].accounts(), len(cluster.accounts)),
            # The audit log says in the source that the copy has ended.
            Check(name + "records that differ", str(different[:5]), "at most the audit log's last entries", all(key.startswith("audit/") for key in different))]
