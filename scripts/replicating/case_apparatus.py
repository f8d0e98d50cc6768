"""Tests this suite's own network and databases, without Martlet: what the other cases rely on."""

import asyncio
import os
import time

from harness.checks import at_most, equals
from replicating import apparatus_redis
from replicating.postgres import Postgres
from replicating.servers import ASYNCHRONOUS, PASSWORD, SYNCHRONOUS

# How many seconds a statement may take on a network that works, and how long one is waited for that must not succeed.
SOON, LONG = 5, 4
HUNG, DONE, REFUSED = "no answer", "done", "refused"


async def run(run):
    await {"postgres": run_postgres, "redis": apparatus_redis.run}[run.options.store](run)


async def run_postgres(run):
    for standby in (SYNCHRONOUS, ASYNCHRONOUS):
        place = run.work / standby
        place.mkdir(mode=0o711)
        postgres = Postgres(place, run.network, run.history, standby)
        try:
            await postgres.start()
            run.checks += await fail_over(postgres, f"{standby} standby: ")
        except BaseException:
            run.evidence += postgres.tails()
            raise
        finally:
            run.network.mend()
            postgres.stop()


async def fail_over(postgres, name):
    network, is_synchronous = postgres.network, postgres.standby == SYNCHRONOUS

    async def insert(host, number, limit=SOON):
        return await ask(postgres, host, f"insert into numbers values ({number})", limit)

    checks = [equals(name + "a table is created from b", await ask(postgres, "b", "create table numbers (number int)"), DONE)]
    checks += [equals(name + f"{host} writes", await insert(host, number), DONE) for number, host in enumerate("abc")]
    if not is_synchronous:
        # What follows is not on db2.
        network.cut("db2")
        checks.append(equals(name + "b writes while db2 is cut off", await insert("b", 10), DONE))
    network.cut_trunk()
    network.mend("db2")
    checks += [equals(name + "a writes to the isolated primary", await insert("a", 11, LONG), HUNG if is_synchronous else DONE),
               equals(name + "b finds no primary", await insert("b", 12, LONG) in (HUNG, REFUSED), True)]
    began = time.monotonic()
    await postgres.db2.promote()
    checks += [at_most(name + "promotion takes", time.monotonic() - began, 10, "s"), equals(name + "b writes again", await insert("b", 13), DONE)]
    await postgres.db1.stop()
    network.mend()
    checks.append(equals(name + "a writes again", await insert("a", 14), DONE))
    # 11 was committed by db1 alone, and 10 was acknowledged too.
    checks.append(equals(name + "what is left", await ask(postgres, "a", "select string_agg(number::text, ' ' order by number) from numbers"), "0 1 2 13 14"))
    for mode in ("fast", "immediate"):
        began = time.monotonic()
        await postgres.db2.stop(mode)
        await postgres.db2.start()
        checks.append(at_most(name + f"a restart ({mode}) takes", time.monotonic() - began, 20, "s"))
    network.cut("c")
    checks += [equals(name + "c is cut off", await ask(postgres, "c", "select 1", LONG) in (HUNG, REFUSED), True),
               equals(name + "b is not", await ask(postgres, "b", "select 1"), "1")]
    return checks


async def ask(postgres, host, statement, limit=SOON):
    """Runs SQL as the replicas' role, from a replica's host. Returns its output or DONE, HUNG or REFUSED."""
    environment = {**os.environ, "PGPASSWORD": PASSWORD}
    url = f"{postgres.url}&sslrootcert={postgres.certificates.roots}&target_session_attrs=read-write&connect_timeout=2"
    process = await asyncio.create_subprocess_exec(*postgres.network.on(host, ["psql", "-XAtqc", statement, url]), env=environment,
                                                   stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)
    try:
        output, error = await asyncio.wait_for(process.communicate(), limit)
    except asyncio.TimeoutError:
        return HUNG
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        postgres.history.note(f"{host}: {error.decode().strip()[-300:]}")
        return REFUSED
    return output.decode().strip() or DONE
