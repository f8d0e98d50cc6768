"""A primary and, if asked for, a standby of PostgreSQL with TLS, each on a host of its own."""

import asyncio
import pathlib
import pwd
import shutil
import signal
import subprocess
import time

from harness.processes import Failed, Process
from replicating.network import DATABASES, REPLICAS, store_address

PORT, NAME, ROLE, PASSWORD = 5432, "martlet", "martlet", "the-password-of-this-role"
# The operating system's user that runs the servers, because PostgreSQL refuses to run as root. It is also the superuser.
USER = "postgres"
START_SECONDS, STOP_SECONDS = 60, 60
SYNCHRONOUS, ASYNCHRONOUS = "synchronous", "asynchronous"
# How `pg_ctl stop -m` ends a server.
MODES = {"smart": signal.SIGTERM, "fast": signal.SIGINT, "immediate": signal.SIGQUIT}


def program(name):
    """Returns the path of a server program of the newest PostgreSQL of this machine."""
    versions = sorted(pathlib.Path("/usr/lib/postgresql").glob(f"[0-9]*/bin/{name}"), key=lambda path: int(path.parts[4]))
    if not versions:
        raise Failed(f"there is no /usr/lib/postgresql/*/bin/{name} (Debian: postgresql-15)")
    return versions[-1]


def as_user(command):
    return ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--init-groups", "--reset-env", "--", *map(str, command)]


def tell(command, what, input=None):
    """Runs a command as the servers' user, and returns what it prints."""
    done = subprocess.run(as_user(command), capture_output=True, text=True, timeout=120, input=input, cwd="/")
    if done.returncode != 0:
        raise Failed(f"{what} failed: {(done.stderr or done.stdout).strip()[-500:]}")
    return done.stdout


# The sections of openssl.cnf: the authority's own, and one for each certificate.
AUTHORITY = """
[ca]
default_ca = authority
[authority]
database = {place}/index
new_certs_dir = {place}
rand_serial = yes
unique_subject = no
default_md = sha256
policy = names
[names]
commonName = supplied
[roots]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign
"""
SERVER = """
[{host}]
subjectAltName = IP:{address}
"""


class Certificates:
    """A certificate authority, and a certificate of it for the address of each database."""

    def __init__(self, place):
        self.place, self.roots = place, place / "roots.pem"
        place.mkdir()
        place.chmod(0o755)
        (place / "index").touch()
        (place / "openssl.cnf").write_text(AUTHORITY.format(place=place) + "".join(SERVER.format(host=host, address=store_address(host)) for host in DATABASES))
        for name in ("roots", *DATABASES):
            request = place / f"{name}.csr"
            self.openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", f"/CN={name}", "-keyout", self.key(name), "-out", request)
            # Valid for a day on either side, also for replicas whose clocks are wrong.
            moments = (time.strftime("%Y%m%d%H%M%SZ", time.gmtime(time.time() + sign * 86400)) for sign in (-1, 1))
            self.openssl("ca", "-batch", "-notext", "-config", place / "openssl.cnf", "-extensions", name, "-keyfile", self.key("roots"),
                         *(("-selfsign",) if name == "roots" else ("-cert", self.roots)), "-in", request, "-out", self.certificate(name),
                         *(part for option, moment in zip(("-startdate", "-enddate"), moments) for part in (option, moment)))
        for host in DATABASES:
            shutil.chown(self.key(host), USER, USER)

    def key(self, host):
        return self.place / f"{host}.key"

    def certificate(self, host):
        return self.place / f"{host}.pem"

    @staticmethod
    def openssl(*arguments):
        done = subprocess.run(["openssl", *map(str, arguments)], capture_output=True, text=True, timeout=60)
        if done.returncode != 0:
            raise Failed(f"openssl {arguments[0]} failed: {done.stderr.strip()[-300:]}")


class Server:
    """One PostgreSQL server: its directory, and its process while it runs."""

    def __init__(self, host, postgres):
        self.host, self.postgres = host, postgres
        self.place = postgres.place / host
        self.data, self.log_path = self.place / "data", self.place / "log"
        self.process, self.synchronous = None, False

    @property
    def is_running(self):
        return self.process is not None and self.process.is_alive

    def create(self):
        """Makes an empty database cluster, or without a database the place for a copy of one."""
        self.place.mkdir()
        shutil.chown(self.place, USER, USER)
        self.place.chmod(0o700)

    def configure(self):
        """Writes the configuration. A change of `synchronous` alone needs no restart."""
        settings = {
            "listen_addresses": store_address(self.host), "port": PORT, "unix_socket_directories": self.place,
            "ssl": "on", "ssl_cert_file": self.postgres.certificates.certificate(self.host), "ssl_key_file": self.postgres.certificates.key(self.host),
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
        lines = [f"local all,replication {USER} peer", *(f"hostssl replication {USER} {store_address(host)}/32 trust" for host in DATABASES),
                 *(f"hostssl {NAME} {ROLE} {store_address(host)}/32 scram-sha-256" for host in REPLICAS)]
        (self.data / "pg_hba.conf").write_text("\n".join(lines) + "\n")
        for name in ("postgresql.conf", "pg_hba.conf"):
            shutil.chown(self.data / name, USER, USER)

    async def start(self, wait=True):
        """Starts the process, and waits until it answers."""
        with open(self.log_path, "ab") as log:
            self.process = Process(self.host, self.postgres.network.on(self.host, as_user([program("postgres"), "-D", self.data])), log,
                                   stdout=subprocess.DEVNULL, cwd="/")
        self.postgres.history.note(f"{self.host} starts (process {self.process.process.pid})")
        if wait:
            await self.until("select 1", "1", "answers", START_SECONDS)
            self.postgres.history.note(f"{self.host} answers")

    async def stop(self, mode="fast"):
        """Ends the process as `pg_ctl stop -m` does, and waits for that."""
        if not self.is_running:
            return
        self.postgres.history.note(f"{self.host} is stopped ({mode})")
        self.process.process.send_signal(MODES[mode])
        try:
            await asyncio.to_thread(self.process.process.wait, STOP_SECONDS)
        except subprocess.TimeoutExpired:
            raise Failed(f"{self.host} does not stop ({mode}) within {STOP_SECONDS} s") from None
        self.postgres.history.note(f"{self.host} has stopped")

    async def promote(self):
        self.postgres.history.note(f"{self.host} is promoted")
        await self.ask("select pg_promote(true, 30)")
        await self.until("select pg_is_in_recovery()", "f", "is primary", 30)
        self.postgres.history.note(f"{self.host} is primary")

    async def ask(self, statement, database="postgres"):
        """Runs SQL as the superuser, over the server's Unix socket. Returns its output: a line for a row, `|` between columns."""
        return await asyncio.to_thread(self.ask_now, statement, database)

    def ask_now(self, statement, database="postgres"):
        return tell(["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-h", self.place, "-p", PORT, "-d", database], f"SQL on {self.host}", statement).strip()

    async def until(self, statement, wanted, what, seconds):
        deadline, said = time.monotonic() + seconds, ""
        while time.monotonic() < deadline:
            if not self.is_running:
                raise Failed(f"{self.host} has ended: {self.process.last_words() if self.process else 'it was not started'}")
            try:
                said = await self.ask(statement)
            except Failed as error:
                said = str(error)
            if said == wanted:
                return
            await asyncio.sleep(0.05)
        raise Failed(f"{self.host} {what} not within {seconds} s: {said}")


class Postgres:
    """The databases of a case. `standby` is None, SYNCHRONOUS or ASYNCHRONOUS."""

    def __init__(self, work, network, history, standby=None):
        self.place, self.network, self.history, self.standby = work / "postgres", network, history, standby
        self.certificates = None
        self.db1, self.db2 = Server("db1", self), Server("db2", self)

    @property
    def url(self):
        hosts = ",".join(f"{store_address(host)}:{PORT}" for host in DATABASES)
        return f"postgres://{ROLE}@{hosts}/{NAME}?sslmode=verify-full"

    @property
    def servers(self):
        return [self.db1, self.db2] if self.standby else [self.db1]

    @property
    def primary(self):
        """The running server that takes writes. After a failover that is db2, even while db1 still runs on the island."""
        return self.db2 if self.db2.is_running and self.db2.ask_now("select pg_is_in_recovery()") == "f" else self.db1

    async def start(self):
        self.place.mkdir()
        self.place.chmod(0o755)
        self.certificates = await asyncio.to_thread(Certificates, self.place / "tls")
        self.db1.create()
        await asyncio.to_thread(tell, [program("initdb"), "-D", self.db1.data, "-U", USER, "-E", "UTF8", "--locale=C.UTF-8", "--auth-local=peer",
                                       "--auth-host=scram-sha-256", "--no-sync"], "initdb")
        self.db1.configure()
        await self.db1.start()
        # An ordinary role, which owns its database and nothing else.
        await self.db1.ask(f"create role {ROLE} login password '{PASSWORD}'")
        await self.db1.ask(f"create database {NAME} owner {ROLE}")
        if self.standby:
            await self.start_standby()
        return self

    async def start_standby(self):
        self.db2.create()
        await asyncio.to_thread(tell, [program("pg_basebackup"), "-h", self.db1.place, "-p", PORT, "-D", self.db2.data, "-X", "stream",
                                       "-c", "fast", "--no-sync"], "pg_basebackup")
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

    def dump(self):
        """Returns all data of the store as text."""
        primary = self.primary
        if not primary.is_running:
            return ""
        return tell([program("pg_dump"), "-h", primary.place, "-p", PORT, "-d", NAME, "--data-only"], "pg_dump")

    def tails(self, lines=15):
        return "".join(f"--- the log of {server.host}, at its end\n" + "\n".join(server.log_path.read_text(errors="replace").splitlines()[-lines:]) + "\n"
                       for server in self.servers if server.log_path.exists())

    def logs(self):
        return [(f"the log of {server.host}", server.log_path.read_bytes()) for server in self.servers if server.log_path.exists()]

    def stop(self):
        for server in self.servers:
            if server.is_running:
                # The children of a server end when they notice that it has gone.
                server.process.process.send_signal(MODES["immediate"])
        for server in self.servers:
            if server.process:
                try:
                    server.process.process.wait(10)
                except subprocess.TimeoutExpired:
                    server.process.process.kill()
                    server.process.process.wait()


def require():
    """Raises Failed with the Debian package if a program, or the servers' user, is missing."""
    for name, package in {"ip": "iproute2", "nsenter": "util-linux", "setpriv": "util-linux", "openssl": "openssl", "psql": "postgresql-client-15"}.items():
        if not shutil.which(name):
            raise Failed(f"{name} is missing (Debian: {package})")
    for name in ("postgres", "initdb", "pg_basebackup", "pg_dump"):
        program(name)
    try:
        pwd.getpwnam(USER)
    except KeyError:
        raise Failed(f"there is no user {USER} (Debian: postgresql-15)") from None
