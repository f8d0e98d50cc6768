"""Tests Redis, the Sentinels and the cuts between them without Martlet, by redis-cli and openssl as the gateways' role."""

import asyncio
import os
import subprocess
import time

from harness.checks import Check, at_most, equals
from replicating.network import store_address
from replicating.redis import ALWAYS, DOWN_SECONDS, NAME, PORT, REPLICA_SECONDS, ROLE, SENTINEL_PORT, SENTINELS, SERVERS, Redis
from replicating.servers import ALONE, PASSWORD

# How many seconds commands may take on a network that works, and how long those are waited for that must not succeed.
SOON, LONG = 5, 4
HUNG, REFUSED = "no answer", "refused"
# What a promotion takes at most, in seconds: the Sentinels miss the primary, vote, and choose a replica.
PROMOTED = DOWN_SECONDS + 6


async def run(run):
    for name, part, settings in (("", parts, {}), ("a failover that loses: ", loses, Redis.losing), ("an island that goes on: ", goes_on, Redis.losing),
                                 ("one server: ", alone, {"standby": ALONE})):
        place = run.work / (part.__name__)
        place.mkdir(mode=0o711)
        redis = Redis(place, run.network, run.history, **settings)
        try:
            await redis.start()
            await part(run, redis, name)
        except BaseException:
            run.evidence += redis.tails(30)
            raise
        finally:
            run.network.mend()
            redis.stop()


async def parts(run, redis, name):
    network, checks = redis.network, run.checks
    checks += await certificates(redis)
    checks += await rights(redis)
    for number, host in enumerate("abc"):
        said = await write(redis, host, number)
        checks.append(Check(f"{host} writes: new fields, and replicas that acknowledge it", said, "1, and 1 or 2", said in ("1 1", "1 2")))
    checks.append(equals("the Sentinels' primary, as a sees it", await primary_of(redis, "a"), store_address("db1")))
    # The island has a Sentinel, which goes on to name db1.
    network.cut_trunk()
    began = time.monotonic()
    checks.append(equals("the island is cut off: a writes to the isolated primary, and replicas that acknowledge it", await write(redis, "a", 11, "db1"), "1 0"))
    await redis.fail_over()
    checks.append(at_most("the island is cut off: promotion takes", time.monotonic() - began, PROMOTED, "s"))
    checks.append(equals("the island is cut off: the Sentinels' primary is another, as b sees it", await primary_of(redis, "b") != store_address("db1"), True))
    checks.append(equals("the island is cut off: the Sentinels' primary, as a sees it", await primary_of(redis, "a"), store_address("db1")))
    began = time.monotonic()
    await redis.known.has_replicas(1)
    checks += [at_most("the island is cut off: until the new primary has a replica", time.monotonic() - began, 10, "s"),
               equals("the island is cut off: b writes: new fields, and replicas that acknowledge it", await write(redis, "b", 12), "1 1")]
    network.mend()
    began = time.monotonic()
    await redis.db1.follows(redis.known, REPLICA_SECONDS)
    checks += [at_most("the old primary is a replica after the cut within", time.monotonic() - began, REPLICA_SECONDS, "s"),
               equals("a writes again, and replicas that acknowledge it", (await write(redis, "a", 13)).startswith("1 "), True),
               # 11 was on db1 alone, and no replica acknowledged it.
               equals("what is left", await left(redis, "a"), "0 1 2 12 13")]
    checks.append(equals("the Sentinels' primary is the same again for a and b", len({await primary_of(redis, host) for host in "ab"}), 1))
    network.cut("c")
    checks += [equals("c is cut off", await ask(redis, "c", redis.known.host, "hlen martlet:numbers", limit=LONG) in (HUNG, REFUSED), True),
               equals("b is not", await ask(redis, "b", redis.known.host, "hmget martlet:numbers 0"), "0")]


async def loses(run, redis, name):
    """A write that db3 acknowledges is lost, because db2 is promoted, which could not follow any more."""
    network, checks = redis.network, run.checks
    checks.append(equals(name + "a writes, and both replicas acknowledge it", await write(redis, "a", 0, wait=2), "1 2"))
    redis.begin_losing()
    await asyncio.sleep(0.5)
    checks += [equals(name + "db2 and db1 are cut off from each other: both replicas are waited for, one acknowledges", await write(redis, "a", 1, wait=2), "1 1"),
               equals(name + "b and s1 still reach db2",
                      [await ask(redis, host, "db2", "hlen martlet:numbers") for host in ("b", "s1")], ["1", "1"])]
    # As long as a case lets writes go on.
    await asyncio.sleep(3)
    checks.append(equals(name + "a writes, and db3 acknowledges it", await write(redis, "a", 2), "1 1"))
    await asyncio.gather(redis.db1.stop("immediate"), redis.db3.stop("immediate"))
    began = time.monotonic()
    promoted = await redis.fail_over()
    checks += [at_most(name + "promotion takes", time.monotonic() - began, PROMOTED, "s"), equals(name + "the new primary", promoted.host, "db2"),
               equals(name + "what is left of 0 1 2, all acknowledged", await left(redis, "b"), "0")]
    network.mend()
    began = time.monotonic()
    await asyncio.gather(redis.db1.start(), redis.db3.start())
    await asyncio.gather(*(server.follows(redis.db2, REPLICA_SECONDS) for server in (redis.db1, redis.db3)))
    checks += [at_most(name + "the others follow it after their start within", time.monotonic() - began, REPLICA_SECONDS, "s"),
               equals(name + "what is left then", await left(redis, "b"), "0"),
               equals(name + "b writes, and both acknowledge it", await write(redis, "b", 3, wait=2), "1 2")]


async def goes_on(run, redis, name):
    """The isolated primary has a replica that acknowledges what it writes, until the cut ends. All that is lost then."""
    checks = run.checks
    redis.begin_losing()
    checks.append(equals(name + "a writes, and db3 acknowledges it", await write(redis, "a", 0), "1 1"))
    redis.isolate()
    checks.append(equals(name + "a writes to the isolated primary, and db3 acknowledges it", await write(redis, "a", 1, "db1"), "1 1"))
    promoted = await redis.fail_over()
    checks += [equals(name + "the new primary", promoted.host, "db2"), equals(name + "b writes there without a replica", await write(redis, "b", 2), "1 0"),
               equals(name + "a writes to the isolated primary, and db3 acknowledges it still", await write(redis, "a", 3, "db1"), "1 1"),
               equals(name + "what is left of 0 1 2 3 at either primary", [await left(redis, "a", "db1"), await left(redis, "b")], ["0 1 3", "2"])]
    redis.network.mend()
    began = time.monotonic()
    await asyncio.gather(*(server.follows(redis.db2, REPLICA_SECONDS) for server in (redis.db1, redis.db3)))
    checks += [at_most(name + "the others follow the new primary after the cut within", time.monotonic() - began, REPLICA_SECONDS, "s"),
               equals(name + "what is left then", await left(redis, "a"), "2")]


async def alone(run, redis, name):
    checks = run.checks
    for number, mode in enumerate(("fast", "immediate")):
        said = await write(redis, "a", number, "db1")
        checks.append(equals(name + "a writes: new fields, and replicas that acknowledge it", said, "1 0"))
        began = time.monotonic()
        await redis.db1.stop(mode)
        await redis.db1.start()
        checks.append(at_most(name + f"a restart ({mode}) takes", time.monotonic() - began, 20, "s"))
    checks += [equals(name + "what is left", await left(redis, "a", "db1"), "0 1"),
               equals(name + "appendfsync", (await redis.db1.ask("config get appendfsync")).split()[-1], ALWAYS)]


async def certificates(redis):
    """Checks that each server has a certificate for its own address, and for no other."""
    async def verify(host, port, address):
        command = ["openssl", "s_client", "-connect", f"{store_address(host)}:{port}", "-CAfile", redis.certificates.roots, "-verify_return_error",
                   "-verify_ip", address]
        done = await asyncio.to_thread(subprocess.run, redis.network.on("b", [str(part) for part in command]), input="", capture_output=True, text=True, timeout=20)
        return done.returncode == 0

    places = [*((host, PORT) for host in SERVERS), *((host, SENTINEL_PORT) for host in SENTINELS)]
    return [equals("certificates that verify", [host for host, port in places if await verify(host, port, store_address(host))], [*SERVERS, *SENTINELS]),
            equals("certificates that verify for another address", [host for host, port in places if await verify(host, port, "10.77.0.99")], [])]


async def rights(redis):
    checks = [equals(f"the role may not: {command}", (await ask(redis, "a", "db1", command))[:6], "NOPERM")
              for command in ("flushall", "config set appendonly no", "shutdown", "hlen other:key", "publish other 1", "get martlet:0")]
    return [*checks, equals("without a password", (await ask(redis, "a", "db1", "hlen martlet:numbers", login=()))[:6], "NOAUTH"),
            equals("without TLS", await ask(redis, "a", "db1", "hlen martlet:numbers", tls=False), REFUSED)]


async def primary_of(redis, host):
    """Returns the address of the primary that the first Sentinel tells that the host reaches."""
    for sentinel in SENTINELS:
        said = await ask(redis, host, sentinel, f"sentinel get-master-addr-by-name {NAME}", limit=1, login=())
        if said not in (HUNG, REFUSED):
            return said.split()[0]
    return REFUSED


async def write(redis, host, number, database=None, wait=1):
    """Writes a number as the gateways do. Returns how many were new, and how many replicas acknowledge it, or HUNG or REFUSED."""
    return await ask(redis, host, database or redis.known.host, f"hset martlet:numbers {number} {number}\nwait {wait} 1500")


async def left(redis, host, database=None):
    """Returns the numbers that are there, in order."""
    return await ask(redis, host, database or redis.known.host, f"hmget martlet:numbers {' '.join(map(str, range(20)))}")


async def ask(redis, host, server, commands, limit=SOON, login=("--user", ROLE), tls=True):
    """Runs commands on one connection, a line each, as the gateways' role and from a host. Returns the answers or HUNG or REFUSED."""
    command = ["redis-cli", "-h", store_address(server), "-p", SENTINEL_PORT if server in SENTINELS else PORT, *login]
    if tls:
        command += ["--tls", "--cacert", redis.certificates.roots]
    environment = {**os.environ, "REDISCLI_AUTH": PASSWORD} if login else None
    process = await asyncio.create_subprocess_exec(*redis.network.on(host, [str(part) for part in command]), env=environment, stdin=subprocess.PIPE,
                                                   stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)
    try:
        output, error = await asyncio.wait_for(process.communicate(f"{commands}\n".encode()), limit)
    except asyncio.TimeoutError:
        return HUNG
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode or not output.strip():
        redis.history.note(f"{host}: {error.decode().strip()[-300:]}")
        return REFUSED
    return " ".join(output.decode().split())
