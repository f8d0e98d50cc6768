"""The three stores of a case: SQLite, PostgreSQL and Redis, and what an administrator sees in each."""

import contextlib
import pathlib
import socket
import sqlite3

from harness.processes import Failed
from replicating import postgres, redis
from replicating.servers import ALONE, PASSWORD

# The host of both servers.
HOST = "db1"
SQLITE, POSTGRES, REDIS = "sqlite", "postgres", "redis"
# A second SQLite file.
ANOTHER = "another"
TITLES = {SQLITE: "SQLite", POSTGRES: "PostgreSQL", REDIS: "Redis", ANOTHER: "another SQLite file"}
# Records that are about one copy of the store. They are never copied.
OF_ONE_COPY = (b"replicas/", b"place", b"mirror")
# Besides these, the kill log and the record that names the store stay in a store that was moved away.
STAYS = (*OF_ONE_COPY, b"kills/", b"kill-snapshots/", b"canary")
ACCOUNTS = b"accounts/"


class File:
    """An SQLite database. It is read without a write to it, as long as a gateway has it open or has closed it in order."""

    def __init__(self, path):
        self.path = path

    def settings(self, _):
        return {"driver": SQLITE, "path": str(self.path)}

    def ask(self, statement):
        if not self.path.exists():
            return []
        with contextlib.closing(sqlite3.connect(f"{self.path.as_uri()}?mode=ro", uri=True, timeout=10)) as connection:
            return connection.execute(statement).fetchall()

    def records(self):
        return {bytes(key): (version % (1 << 64), bytes(value)) for key, version, value in self.ask("select key, version, value from record")}

    def accounts(self):
        return sum(count for count, in self.ask("select count(*) from record where key >= x'6163636f756e74732f' and key < x'6163636f756e747330'"))


class Server:
    """What PostgreSQL and Redis have in common. `store` has one server."""

    def __init__(self, store):
        self.store = store

    @property
    def server(self):
        return self.store.db1

    def settings(self, gateway):
        return {"driver": self.store.name, "url": self.store.url, "password": {"file": str(gateway.secret(self.store.password_file, PASSWORD))},
                "ca": str(self.store.certificates.roots)}


class Tables(Server):
    """A PostgreSQL server."""

    def ask(self, statement):
        """Returns the rows, or none if there is no table yet."""
        try:
            return [line.split("|") for line in self.server.ask_now(statement, postgres.NAME).splitlines()]
        except Failed as error:
            if "does not exist" in str(error):
                return []
            raise

    def records(self):
        rows = self.ask("select encode(key, 'hex'), version, encode(value, 'hex') from martlet.record")
        return {bytes.fromhex(key): (int(version) % (1 << 64), bytes.fromhex(value)) for key, version, value in rows}

    def accounts(self):
        return sum(int(count) for count, in self.ask("select count(*) from martlet.record where key >= 'accounts/'::bytea and key < 'accounts0'::bytea"))


class Hash(Server):
    """A Redis server."""

    def records(self):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(30)
            connection.connect(str(self.server.place / "socket"))
            file = connection.makefile("rwb")
            ask(file, b"AUTH", b"admin", PASSWORD.encode())
            pairs = ask(file, b"HGETALL", b"martlet:records")
        # The field 0xFF is the mark of the layout, not a record.
        return {key: (int.from_bytes(value[:8], "big"), value[8:]) for key, value in zip(pairs[::2], pairs[1::2]) if key != b"\xff"}

    def accounts(self):
        return int(self.server.ask_now("zlexcount martlet:keys [accounts/ (accounts0"))


def ask(file, *command):
    """Sends a command to Redis (RESP2), because redis-cli does not print bytes as they are. Returns the reply."""
    file.write(b"*%d\r\n" % len(command) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in command))
    file.flush()
    return reply(file)


def reply(file):
    line = file.readline()
    kind, rest = line[:1], line[1:-2]
    if kind == b"$":
        return file.read(int(rest) + 2)[:-2]
    if kind == b"*":
        return [reply(file) for _ in range(int(rest))]
    if kind == b"-":
        raise Failed(f"Redis: {rest.decode(errors='replace')}")
    return rest


class RestartedServer(redis.Server):
    """A Redis server that has its data again after a restart. While it loads an append-only file, Redis before the repair of its
    issue 14541 drops each transaction that the user default must not make, also if nobody can be that user."""

    def own_part(self):
        return super().own_part().replace("user default off\n", "user default off resetpass +@all ~* &*\n")


class RestartedRedis(redis.Redis):
    def __init__(self, *arguments, **settings):
        super().__init__(*arguments, **settings)
        self.db1 = RestartedServer(HOST, self)
        self.databases = [self.db1]
        self.known = self.db1


class Databases:
    """The databases of a case. `wanted` names the servers that it needs; there is always room for two SQLite files."""

    def __init__(self, work, network, history, wanted):
        make = {POSTGRES: (postgres.Postgres, Tables), REDIS: (RestartedRedis, Hash)}
        self.servers = {name: make[name][0](work, network, history, standby=ALONE) for name in wanted}
        self.by_name = {SQLITE: File(work / "state" / "tokens.db"), ANOTHER: File(work / "state" / "another.db"),
                        **{name: make[name][1](store) for name, store in self.servers.items()}}

    def __getitem__(self, name):
        return self.by_name[name]

    async def start(self):
        for store in self.servers.values():
            await store.start()

    def logs(self):
        return [(f"{name}: {what}", content) for name, store in self.servers.items() for what, content in store.logs()]

    def dumps(self):
        return [(f"the database {name}", store.dump()) for name, store in self.servers.items() if store.db1.is_running]

    def tails(self, lines=15):
        return "".join(store.tails(lines) for store in self.servers.values())

    def stop(self):
        for store in self.servers.values():
            store.stop()


def without(records, prefixes):
    return {key: record for key, record in records.items() if not key.startswith(prefixes)}


def left_behind(records):
    """Returns the keys of a store that was moved away which should be in the other store."""
    return sorted(key.decode(errors="replace") for key in without(records, STAYS))


def require():
    """Raises Failed with the Debian package if a program is missing."""
    postgres.require()
    redis.require()
    if not pathlib.Path("/proc/sys/net/ipv4/tcp_migrate_req").exists():
        raise Failed("this kernel has no net.ipv4.tcp_migrate_req (Linux 5.14)")
