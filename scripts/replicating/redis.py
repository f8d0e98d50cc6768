"""Redis with TLS: a primary, two replicas and three Sentinels, or one server, each on a host of its own."""

import asyncio
import contextlib
import os
import pwd
import shutil
import signal
import time

from harness.processes import Failed
from replicating import servers
from replicating.network import ISLAND, store_address
from replicating.servers import ALONE, ASYNCHRONOUS, PASSWORD, START_SECONDS, tell

PORT, SENTINEL_PORT, NAME, ROLE = 6379, 26379, "martlet", "martlet"
USER = "redis"
SERVERS, SENTINELS = ("db1", "db2", "db3"), ("s1", "s2", "s3")
# The primary is gone when a majority of the Sentinels has not heard from it for this many seconds.
DOWN_SECONDS = 2
# Sentinels take this many seconds at most to promote a replica, and to make a replica of a former primary that is back.
PROMOTION_SECONDS, REPLICA_SECONDS = 30, 40
EVERY_SECOND, ALWAYS = "everysec", "always"

# What the role of the gateways may do at most: what the documentation of Martlet's store lists, here and at a Sentinel.
RIGHTS = "~martlet:* &martlet:* -@all +select +info +wait +eval +publish +subscribe +hmget +hlen +hset +hdel +zadd +zrem +zrange +zscore +zcard"
SENTINEL_RIGHTS = "-@all +sentinel|master"
USERS = f"""
user default off
user admin on >{PASSWORD} ~* &* +@all
user replica on >{PASSWORD} +psync +replconf +ping
user sentinel on >{PASSWORD} allchannels +multi +slaveof +ping +exec +subscribe +config|rewrite +role +publish +info +client|setname +client|kill +script|kill
user {ROLE} on >{PASSWORD} {RIGHTS}
"""
# The same for servers and for Sentinels. No plain TCP port is open.
COMMON = """
port 0
tls-port {port}
bind {address}
protected-mode no
unixsocket {place}/socket
unixsocketperm 700
tls-cert-file {certificate}
tls-key-file {key}
tls-ca-cert-file {roots}
tls-auth-clients no
tls-replication yes
daemonize no
"""
# RDB files are written without compression, so that a search of the files sees what is in them. A link that is cut counts as down
# after repl-timeout, and replicas come back within seconds.
SERVER = """
dir {data}
appendonly yes
appendfsync {fsync}
aof-use-rdb-preamble no
rdbcompression no
save ""
maxmemory-policy noeviction
min-replicas-to-write {minimum}
min-replicas-max-lag 10
repl-ping-replica-period 1
repl-timeout 5
repl-diskless-sync-delay 0
masteruser replica
masterauth {password}
"""
SENTINEL = """
dir {data}
user default on nopass ~* &* +@all
user {role} on >{password} {rights}
sentinel monitor {name} {primary} {primary_port} 2
sentinel auth-user {name} sentinel
sentinel auth-pass {name} {password}
sentinel down-after-milliseconds {name} {down}
sentinel failover-timeout {name} 10000
sentinel parallel-syncs {name} 2
"""


class Server(servers.Server):
    """One Redis server."""

    user, port, program, question, answer = USER, PORT, "redis-server", "ping", "PONG"
    modes = {"fast": signal.SIGTERM, "immediate": signal.SIGKILL}
    # The user of the administrator.
    login = ("--user", "admin")

    def configure(self):
        """Makes the directory of the data, and writes the configuration. The server rewrites it when Sentinels give it another role."""
        self.data.mkdir()
        path, certificates = self.place / "redis.conf", self.store.certificates
        path.write_text(COMMON.format(port=self.port, address=store_address(self.host), place=self.place, roots=certificates.roots,
                                      certificate=certificates.certificate(self.host), key=certificates.key(self.host)) + self.own_part())
        path.chmod(0o600)
        for one in (self.data, path):
            shutil.chown(one, USER, USER)

    def own_part(self):
        part = SERVER.format(data=self.data, fsync=self.store.fsync, minimum=self.store.minimum, password=PASSWORD) + USERS
        return part if self is self.store.db1 else f"{part}replicaof {store_address('db1')} {PORT}\n"

    def command(self):
        return [self.program, self.place / "redis.conf"]

    def ask_now(self, command):
        """Runs a command as the administrator, over the server's Unix socket. Returns the answer without marks of its types."""
        return tell(["redis-cli", "-e", "-s", self.place / "socket", *self.login, *command.split()], f"`{command}` on {self.host}",
                    env={**os.environ, "REDISCLI_AUTH": PASSWORD} if self.login else None).strip()

    async def has_replicas(self, count, seconds=START_SECONDS):
        """Waits until this primary has so many replicas that follow it."""
        await self.until("info replication", lambda said: said.count("state=online") >= count, f"has {count} replicas", seconds)
        self.store.history.note(f"{self.host} has {count} replicas")

    async def follows(self, primary, seconds=START_SECONDS):
        """Waits until this replica has the data of `primary` and follows it."""
        signs = (f"master_host:{store_address(primary.host)}", "master_link_status:up")
        await self.until("info replication", lambda said: all(sign in said for sign in signs), f"follows {primary.host}", seconds)
        self.store.history.note(f"{self.host} follows {primary.host}")


class Sentinel(Server):
    """One Sentinel. It asks for no password: what it tells is no secret on this network."""

    port, program, login = SENTINEL_PORT, "redis-sentinel", ()

    def own_part(self):
        return SENTINEL.format(data=self.data, role=ROLE, rights=SENTINEL_RIGHTS, password=PASSWORD, name=NAME, primary=store_address("db1"), primary_port=PORT,
                               down=DOWN_SECONDS * 1000)

    @property
    def primary(self):
        """The server that this Sentinel tells clients to use."""
        address = self.ask_now(f"sentinel get-master-addr-by-name {NAME}").split()[0]
        return next(server for server in self.store.servers if store_address(server.host) == address)

    async def is_ready(self):
        """Waits until it knows the replicas and the other Sentinels."""
        def knows_all(said):
            lines = said.splitlines()
            facts = dict(zip(lines[::2], lines[1::2]))
            return (facts.get("num-slaves"), facts.get("num-other-sentinels")) == ("2", "2")

        await self.until(f"sentinel master {NAME}", knows_all, "knows two replicas and two Sentinels", START_SECONDS)
        await self.until(f"sentinel ckquorum {NAME}", lambda said: said.startswith("OK"), "has a quorum", START_SECONDS)


class Redis(servers.Store):
    """The servers of a case. With ALONE there is one server and no Sentinel; else a primary with two replicas, and replication is
    asynchronous, as always in Redis: a failover may lose writes. `fsync` is appendfsync. `minimum` is min-replicas-to-write."""

    # For a case in which a failover loses writes: the new primary has no replicas at first.
    losing = {"minimum": 0}
    name, title, hosts, user, password_file = "redis", "Redis", (*SERVERS, *SENTINELS), USER, "redis.pass"

    def __init__(self, work, network, history, standby=None, fsync=None, minimum=1):
        super().__init__(work, network, history)
        self.standby, is_alone = standby or ASYNCHRONOUS, standby == ALONE
        # With one server, nobody else has what it acknowledged.
        self.fsync, self.minimum = fsync or (ALWAYS if is_alone else EVERY_SECOND), 0 if is_alone else minimum
        self.db1, self.db2, self.db3 = self.databases = [Server(host, self) for host in SERVERS]
        self.sentinels = [] if is_alone else [Sentinel(host, self) for host in SENTINELS]
        if is_alone:
            self.databases = [self.db1]
        # The last primary that was waited for.
        self.known = self.db1

    @property
    def url(self):
        if self.standby == ALONE:
            return f"rediss://{ROLE}@{store_address('db1')}:{PORT}/0"
        return f"rediss://{ROLE}@{','.join(f'{store_address(host)}:{SENTINEL_PORT}' for host in SENTINELS)}/0?sentinel={NAME}"

    def configuration(self, secret):
        return super().configuration(secret) + f"""
  prefix: "{ROLE}:\""""

    @property
    def servers(self):
        return [*self.databases, *self.sentinels]

    @property
    def primary(self):
        """The server that a Sentinel of the mainland tells clients to use, or the only one."""
        return next((sentinel.primary for sentinel in self.sentinels if sentinel.host not in ISLAND), self.db1)

    async def start_servers(self):
        for server in self.servers:
            server.create()
            server.configure()
        await self.db1.start()
        if self.standby == ALONE:
            return
        await asyncio.gather(self.db2.start(), self.db3.start())
        await self.db1.has_replicas(2)
        await asyncio.gather(*(sentinel.start() for sentinel in self.sentinels))
        await asyncio.gather(*(sentinel.is_ready() for sentinel in self.sentinels))
        self.history.note("the Sentinels know each other and all servers")

    def begin_losing(self):
        """Writes no longer reach db2, but still db3, which acknowledges them."""
        self.network.separate("db1", "db2")

    def isolate(self):
        """Cuts the island off, together with the replica that acknowledges."""
        self.network.move("db3")
        self.network.cut_trunk()
        self.network.join()

    async def fail_over(self, notice=0):
        """Waits until the Sentinels of the mainland have promoted a replica, at least `notice` seconds. Returns the new primary."""
        began, former = time.monotonic(), self.known
        mainland = [sentinel for sentinel in self.sentinels if sentinel.host not in ISLAND]
        await asyncio.gather(*(sentinel.until(f"sentinel get-master-addr-by-name {NAME}",
                                              lambda said: said.split()[:1] not in ([], [store_address(former.host)]),
                                              f"names another primary than {former.host}", PROMOTION_SECONDS) for sentinel in mainland))
        self.known = self.primary
        await self.known.until("role", lambda said: said.startswith("master"), "is primary", PROMOTION_SECONDS)
        self.history.note(f"{self.known.host} is primary, {time.monotonic() - began:.3f} s after the wait for it began")
        await asyncio.sleep(max(0, began + notice - time.monotonic()))
        return self.known

    async def retire(self):
        """Does nothing to the old primary before the island is back: the Sentinels make a replica of it."""

    async def is_retired(self):
        """Waits, after the cut, until the old primary takes no more writes: until it follows the new one."""
        await self.db1.follows(self.known, REPLICA_SECONDS)

    def dump(self):
        """Returns all files of all servers, which also have what was overwritten, as long as they were not rewritten."""
        found = b""
        for path in (path for server in self.databases for path in sorted(server.data.rglob("*")) if path.is_file()):
            # A server replaces its files when it rewrites them.
            with contextlib.suppress(FileNotFoundError):
                found += path.read_bytes()
        return found


def require():
    """Raises Failed with the Debian package if a program, or the servers' user, is missing."""
    servers.require({"redis-server": "redis-server", "redis-sentinel": "redis-sentinel", "redis-cli": "redis-tools"})
    try:
        pwd.getpwnam(USER)
    except KeyError:
        raise Failed(f"there is no user {USER} (Debian: redis-server)") from None
