"""A primary and, if asked for, a standby of PostgreSQL with TLS, each on a host of its own."""

import asyncio
import pathlib
import pwd
import shutil
import signal

from harness.processes import Failed
from replicating import servers
from replicating.network import REPLICAS, store_address
from replicating.servers import ALONE, ASYNCHRONOUS, PASSWORD, START_SECONDS, SYNCHRONOUS, as_user, tell

PORT, NAME, ROLE = 5432, "martlet", "martlet"
# The operating system's user that runs the servers, because PostgreSQL refuses to run as root. It is also the superuser.
USER = "postgres"
HOSTS = ("db1", "db2")


def program(name):
    """Returns the path of a server program of the newest PostgreSQL of this machine."""
    versions = sorted(pathlib.Path("/usr/lib/postgresql").glob(f"[0-9]*/bin/{name}"), key=lambda path: int(path.parts[4]))
    if not versions:
        raise Failed(f"there is no /usr/lib/postgresql/*/bin/{name} (Debian: postgresql-15)")
    return versions[-1]


class Server(servers.Server):
    """One PostgreSQL server."""

    user, question, answer = USER, "select 1", "1"
    # As `pg_ctl stop -m` ends a server.
    modes = {"smart": signal.SIGTERM, "fast": signal.SIGINT, "immediate": signal.SIGQUIT}

    def __init__(self, host, store):
        super().__init__(host, store)
        self.synchronous = False

    def configure(self):
        """Writes the configuration. A change of `synchronous` alone needs no restart."""
        settings = {
            "listen_addresses": store_address(self.host), "port": PORT, "unix_socket_directories": self.place,
            "ssl": "on", "ssl_cert_file": self.store.certificates.certificate(self.host), "ssl_key_file": self.store.certificates.key(self.host),
            "password_encryption": "scram-sha-256", "shared_buffers": "64MB", "log_line_prefix": "%m [%p] %q%h ", "log_timezone": "UTC",
            # A standby follows again within seconds after a cut.
            "wal_sender_timeout": "5s", "wal_receiver_timeout": "5s", "wal_retrieve_retry_interval": "500ms",
            # Enough for a standby that was away for a while.
            "wal_keep_size": "512MB",
            "synchronous_commit": "on", "synchronous_standby_names": "*" if self.synchronous else "",
        }
        if self.host != "db1":
            settings["primary_conninfo"] = f"host={store_address('db1')} port={PORT} user={USER} application_name={self.host} sslmode=require connect_timeout=2"
        (self.data / "postgresql.conf").write_text("".join(f"{name} = '{value}'\n" for name, value in settings.items()))
        # The standby needs no password: nobody else is on this network.
        lines = [f"local all,replication {USER} peer", *(f"hostssl replication {USER} {store_address(host)}/32 trust" for host in HOSTS),
                 *(f"hostssl {NAME} {ROLE} {store_address(host)}/32 scram-sha-256" for host in REPLICAS)]
        (self.data / "pg_hba.conf").write_text("\n".join(lines) + "\n")
        for name in ("postgresql.conf", "pg_hba.conf"):
            shutil.chown(self.data / name, USER, USER)

    def command(self):
        return [program("postgres"), "-D", self.data]

    async def promote(self):
        self.store.history.note(f"{self.host} is promoted")
        await self.ask("select pg_promote(true, 30)")
        await self.until("select pg_is_in_recovery()", "f", "is primary", 30)
        self.store.history.note(f"{self.host} is primary")

    def ask_now(self, statement, database="postgres"):
        """Runs SQL as the superuser, over the server's Unix socket. Returns its output: a line for a row, `|` between columns."""
        command = ["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-h", self.place, "-p", PORT, "-d", database]
        return tell(as_user(USER, command), f"SQL on {self.host}", input=statement).strip()


class Postgres(servers.Store):
    """The databases of a case. `standby` is ALONE (the default), SYNCHRONOUS or ASYNCHRONOUS."""

    # For a case in which a failover loses commits.
    losing = {"standby": ASYNCHRONOUS}
    name, title, hosts, user, password_file = "postgres", "PostgreSQL", HOSTS, USER, "pg.pass"

    def __init__(self, work, network, history, standby=None):
        super().__init__(work, network, history)
        self.standby = standby or ALONE
        self.db1, self.db2 = Server("db1", self), Server("db2", self)

    @property
    def url(self):
        hosts = ",".join(f"{store_address(host)}:{PORT}" for host in HOSTS)
        return f"postgres://{ROLE}@{hosts}/{NAME}?sslmode=verify-full"

    @property
    def servers(self):
        return [self.db1] if self.standby == ALONE else [self.db1, self.db2]

    @property
    def loses_nothing(self):
        return self.standby == SYNCHRONOUS

    @property
    def primary(self):
        """The running server that takes writes. After a failover that is db2, even while db1 still runs on the island."""
        return self.db2 if self.db2.is_running and self.db2.ask_now("select pg_is_in_recovery()") == "f" else self.db1

    async def start_servers(self):
        self.db1.create()
        await asyncio.to_thread(tell, as_user(USER, [program("initdb"), "-D", self.db1.data, "-U", USER, "-E", "UTF8", "--locale=C.UTF-8", "--auth-local=peer",
                                                     "--auth-host=scram-sha-256", "--no-sync"]), "initdb")
        self.db1.configure()
        await self.db1.start()
        # An ordinary role, which owns its database and nothing else.
        await self.db1.ask(f"create role {ROLE} login password '{PASSWORD}'")
        await self.db1.ask(f"create database {NAME} owner {ROLE}")
        if self.standby != ALONE:
            await self.start_standby()

    async def start_standby(self):
        self.db2.create()
        await asyncio.to_thread(tell, as_user(USER, [program("pg_basebackup"), "-h", self.db1.place, "-p", PORT, "-D", self.db2.data, "-X", "stream",
                                                     "-c", "fast", "--no-sync"]), "pg_basebackup")
        self.db2.configure()
        (self.db2.data / "standby.signal").touch()
        await self.db2.start()
        await self.set_synchronous(self.standby == SYNCHRONOUS)

    async def set_synchronous(self, is_on):
        """Lets db1 acknowledge a commit only when db2 has it, or no longer. Waits until it holds."""
        self.db1.synchronous = is_on
        self.db1.configure()
        await self.db1.ask("select pg_reload_conf()")
        await self.db1.until("select sync_state from pg_stat_replication where state = 'streaming'", "sync" if is_on else "async",
                             "has a standby that follows", START_SECONDS)
        self.history.note(f"db2 follows db1, {self.standby}")

    def begin_losing(self):
        """Commits no longer reach the standby."""
        self.network.cut("db2")

    def isolate(self):
        """Cuts the island off. Who is on the mainland reaches the standby again."""
        self.network.cut_trunk()
        self.network.mend("db2")

    async def fail_over(self, notice):
        """Promotes the standby, as somebody does who notices after `notice` seconds that the primary is gone."""
        await asyncio.sleep(notice)
        await self.db2.promote()

    async def retire(self):
        """Makes sure that nobody can reach the old primary once the island is back. Nothing in PostgreSQL does that."""
        await self.db1.stop()

    async def is_retired(self):
        """Waits, after the cut, until the old primary takes no more writes: it has stopped."""

    def dump(self):
        """Returns all data of the store as text."""
        primary = self.primary
        if not primary.is_running:
            return ""
        return tell(as_user(USER, [program("pg_dump"), "-h", primary.place, "-p", PORT, "-d", NAME, "--data-only"]), "pg_dump")


def require():
    """Raises Failed with the Debian package if a program, or the servers' user, is missing."""
    servers.require({"psql": "postgresql-client-15"})
    for name in ("postgres", "initdb", "pg_basebackup", "pg_dump"):
        program(name)
    try:
        pwd.getpwnam(USER)
    except KeyError:
        raise Failed(f"there is no user {USER} (Debian: postgresql-15)") from None
