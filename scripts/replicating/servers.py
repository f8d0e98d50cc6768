"""What the stores have in common: servers with TLS, each on a host of its own, their certificates and their logs."""

import asyncio
import shutil
import subprocess
import time

from harness.processes import Failed, Process
from replicating.network import store_address

# What the gateways' role may do is all that this password protects.
PASSWORD = "the-password-of-this-role"
START_SECONDS, STOP_SECONDS = 60, 60
# How a store is made up: one server, or a primary with standbys that hold each acknowledged commit, or with standbys that may not.
ALONE, SYNCHRONOUS, ASYNCHRONOUS = "alone", "synchronous", "asynchronous"


def as_user(user, command):
    return ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups", "--reset-env", "--", *map(str, command)]


def tell(command, what, **options):
    """Runs a command, and returns what it prints."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=120, cwd="/", **options)
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
    """A certificate authority, and a certificate of it for the address of each host. `user` is who runs the servers."""

    def __init__(self, place, hosts, user):
        self.place, self.roots = place, place / "roots.pem"
        place.mkdir()
        place.chmod(0o755)
        (place / "index").touch()
        (place / "openssl.cnf").write_text(AUTHORITY.format(place=place) + "".join(SERVER.format(host=host, address=store_address(host)) for host in hosts))
        for name in ("roots", *hosts):
            request = place / f"{name}.csr"
            self.openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", f"/CN={name}", "-keyout", self.key(name), "-out", request)
            # Valid for a day on either side, also for replicas whose clocks are wrong.
            moments = (time.strftime("%Y%m%d%H%M%SZ", time.gmtime(time.time() + sign * 86400)) for sign in (-1, 1))
            self.openssl("ca", "-batch", "-notext", "-config", place / "openssl.cnf", "-extensions", name, "-keyfile", self.key("roots"),
                         *(("-selfsign",) if name == "roots" else ("-cert", self.roots)), "-in", request, "-out", self.certificate(name),
                         *(part for option, moment in zip(("-startdate", "-enddate"), moments) for part in (option, moment)))
        for host in hosts:
            shutil.chown(self.key(host), user, user)

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
    """One server: its directory, and its process while it runs. A subclass has `user`, who runs it, `modes`, the signal of each way to
    end it, and `command`, `ask` and `answers`."""

    # A question that is answered once the server has started, and its answer.
    question, answer = None, None

    def __init__(self, host, store):
        self.host, self.store = host, store
        self.place = store.place / host
        self.data, self.log_path = self.place / "data", self.place / "log"
        self.process = None

    @property
    def is_running(self):
        return self.process is not None and self.process.is_alive

    def create(self):
        """Makes the directory of the server."""
        self.place.mkdir()
        shutil.chown(self.place, self.user, self.user)
        self.place.chmod(0o700)

    async def start(self):
        """Starts the process, and waits until it answers."""
        with open(self.log_path, "ab") as log:
            self.process = Process(self.host, self.store.network.on(self.host, as_user(self.user, self.command())), log, stdout=log, cwd="/")
        self.store.history.note(f"{self.host} starts (process {self.process.process.pid})")
        await self.until(self.question, self.answer, "answers", START_SECONDS)
        self.store.history.note(f"{self.host} answers")

    async def stop(self, mode="fast"):
        """Ends the process by the signal of `mode`, and waits for that."""
        if not self.is_running:
            return
        self.store.history.note(f"{self.host} is stopped ({mode})")
        self.process.process.send_signal(self.modes[mode])
        try:
            await asyncio.to_thread(self.process.process.wait, STOP_SECONDS)
        except subprocess.TimeoutExpired:
            raise Failed(f"{self.host} does not stop ({mode}) within {STOP_SECONDS} s") from None
        self.store.history.note(f"{self.host} has stopped")

    async def ask(self, *question):
        """Asks the server as its administrator. Returns the answer as text."""
        return await asyncio.to_thread(self.ask_now, *question)

    async def until(self, question, wanted, what, seconds):
        """Asks again and again, until the answer is `wanted`, or `wanted` holds for it."""
        deadline, said = time.monotonic() + seconds, ""
        while time.monotonic() < deadline:
            if not self.is_running:
                raise Failed(f"{self.host} has ended: {self.process.last_words() if self.process else 'it was not started'}")
            try:
                said = await self.ask(question)
            except Failed as error:
                said = str(error)
            if wanted(said) if callable(wanted) else said == wanted:
                return
            await asyncio.sleep(0.05)
        raise Failed(f"{self.host} {what} not within {seconds} s: {said}")


class Store:
    """The servers of a case. A subclass has `name`, `hosts`, `user`, `servers`, `password_file`, `settings`, `fail_over` and `dump`."""

    # Whether the replicas may say that a failover loses nothing.
    loses_nothing = False

    def __init__(self, work, network, history):
        self.place, self.network, self.history, self.certificates = work / self.name, network, history, None

    async def start(self):
        self.place.mkdir()
        self.place.chmod(0o755)
        self.certificates = await asyncio.to_thread(Certificates, self.place / "tls", self.hosts, self.user)
        await self.start_servers()

    def configuration(self, secret):
        """Returns the part of a gateway's configuration. `secret` writes a file and returns its path."""
        return f"""
  driver: {self.name}
  url: "{self.url}"
  password: {{ file: {secret(self.password_file, PASSWORD)} }}
  ca: {self.certificates.roots}"""

    def tails(self, lines=15):
        return "".join(f"--- the log of {server.host}, at its end\n" + "\n".join(server.log_path.read_text(errors="replace").splitlines()[-lines:]) + "\n"
                       for server in self.servers if server.log_path.exists())

    def logs(self):
        return [(f"the log of {server.host}", server.log_path.read_bytes()) for server in self.servers if server.log_path.exists()]

    def stop(self):
        for server in self.servers:
            if server.is_running:
                # The children of a server end when they notice that it has gone.
                server.process.process.send_signal(server.modes["immediate"])
        for server in self.servers:
            if server.process:
                try:
                    server.process.process.wait(10)
                except subprocess.TimeoutExpired:
                    server.process.process.kill()
                    server.process.process.wait()


def require(programs):
    """Raises Failed with the Debian package if one of the programs that all stores need, or of `programs`, is missing."""
    common = {"ip": "iproute2", "nsenter": "util-linux", "setpriv": "util-linux", "openssl": "openssl"}
    for name, package in {**common, **programs}.items():
        if not shutil.which(name):
            raise Failed(f"{name} is missing (Debian: {package})")
