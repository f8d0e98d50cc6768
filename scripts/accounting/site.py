"""The test setup: a provider, a gateway with families of accounts, and what operators ask it."""

import base64
import contextlib
import hashlib
import os
import pathlib
import re
import secrets
import subprocess
import time

from accounting.recorder import Recording
from harness.processes import Failed, free_port
from locking import site
from signing.postgres import Postgres
from signing.web import fetch

SECONDS = 60
# The accounts of the cases, and a family that is full soon.
FAMILY, SMALL = "customer-*", "small-*"


def member(number):
    """The name of an account of the family."""
    return f"customer-{number:06}"


class DurablePostgres(Postgres):
    """A server that waits for its disk at each commit, as those of users do."""

    def command(self, name, *arguments):
        return super().command(name, *arguments, *(("-c", "fsync=on") if name == "postgres" else ()))


class Site(site.Site):
    """What one case uses. `accounts` is how many accounts there are, `store` the driver of the gateway's store."""

    def __init__(self, programs, home, accounts, store):
        super().__init__(programs, home)
        self.accounts, self.driver, self.recordings = accounts, store, []

    def provider(self, *arguments):
        """A martlet-mock that rotates refresh tokens and takes a second use for theft."""
        return super().provider("--rotate", "--reuse-detection", "--access-ttl", "1h", *arguments)

    def recorder(self, provider):
        recording = Recording(self, provider)
        self.recordings.append(recording)
        return recording

    def new_store(self):
        """The members of `store` in the configuration."""
        if self.driver == "sqlite":
            return "driver: sqlite"
        database = DurablePostgres(self.home)
        self.stores.append(database)
        key = self.file("shared.key", base64.b64encode(os.urandom(32)).decode())
        return f'driver: postgres, url: "{database.url}", sealing_key: {{ file: {key} }}'

    def stop(self):
        super().stop()
        for recording in self.recordings:
            recording.process.end()


class Gateway(site.Gateway):
    """One `martlet serve` whose accounts are members of families. `url` is the address of the provider's endpoints: its own, or that
    of a recorder. `rates` are further members of the provider. `most` is how many accounts FAMILY may have."""

    def __init__(self, site, provider, url=None, rates="", most=None):
        super().__init__(site, "gateway", provider, [], store=site.new_store(), lease="5s")
        self.url, self.rates, self.families = url or provider.url, rates, {FAMILY: most or site.accounts, SMALL: 100}
        self.metrics_port, self.caller_key, self.start_seconds = free_port(), secrets.token_urlsafe(32), None

    def write(self):
        self.path.write_text("\n".join([
            f"listeners: [{{ address: 127.0.0.1:{self.port} }}]",
            f"admin: {{ address: 127.0.0.1:{self.admin} }}",
            f"metrics: {{ address: 127.0.0.1:{self.metrics_port} }}",
            f"state_dir: {self.state}",
            f"store: {{ {self.store} }}",
            f"replica: {{ name: {self.name}, lease: {self.lease} }}",
            "log: { level: info, format: json, access: false }",
            "providers:",
            f'  mock: {{ token_endpoint: "{self.url}/oauth/token", revocation_endpoint: "{self.url}/oauth/revoke", client_id: mock-client,'
            f" client_secret: {{ file: client-secret }}{self.rates} }}",
            "accounts:", *(f'  "{family}": {{ provider: mock, max: {most} }}' for family, most in self.families.items()),
            "routes:",
            f'  - {{ name: api, match: {{ path: /api/ }}, upstream: "{self.provider.url}/api/", account: {{ from_header: Martlet-Account }} }}',
            "callers:",
            f"  - {{ name: app, key_sha256: {hashlib.sha256(self.caller_key.encode()).hexdigest()},"
            f" accounts: [{', '.join(self.quoted(family) for family in self.families)}] }}", ""]))

    @staticmethod
    def quoted(text):
        return f'"{text}"'

    def wait(self):
        """Waits until the gateway is ready, and remembers how long that took."""
        began = time.monotonic()

        def is_ready():
            if not self.process.is_alive:
                raise Failed(f"{self.name} ended while starting: {self.process.last_words()[:400]}")
            with contextlib.suppress(OSError):
                return fetch(f"http://127.0.0.1:{self.admin}/readyz").status == 200

        site.wait_for(f"{self.name} is ready", is_ready, SECONDS)
        self.start_seconds = time.monotonic() - began
        lines = (self.state / "admin.token").read_text().splitlines()
        self.token = next(line for line in lines if line and not line.startswith("#")).split()[-1]
        return self

    # What callers ask.

    def fields(self, account):
        """The fields of a request for an account."""
        return {"Martlet-Key": self.caller_key, "Martlet-Account": account}

    def get(self, account, target="bytes/10"):
        answer = fetch(f"http://127.0.0.1:{self.port}/api/{target}", "GET", self.fields(account))
        is_problem = "problem+json" in (answer.fields["Content-Type"] or "")
        return answer.status, site.code(answer.json) if is_problem else None

    # What operators ask.

    @property
    def environment_of_commands(self):
        return {**os.environ, "MARTLET_ADMIN_TOKEN": self.token}

    def run(self, *arguments, output=subprocess.PIPE, seconds=600):
        """Runs a command that may take long; returns its result and how long it took."""
        began = time.monotonic()
        done = subprocess.run([self.site.programs / "martlet", *arguments, "--admin", f"http://127.0.0.1:{self.admin}"], stdin=subprocess.DEVNULL,
                              stdout=output, stderr=subprocess.PIPE, text=True, env=self.environment_of_commands, timeout=seconds)
        return done, time.monotonic() - began

    def family(self, pattern=FAMILY):
        """What the status says of a family."""
        return next(family for family in self.done("GET", "/v1/status").get("families", []) if family["family"] == pattern)

    def count(self, pattern=FAMILY):
        """How many accounts a family has."""
        return self.family(pattern)["accounts"]

    def listed(self, query=""):
        """The accounts that the API lists, page by page."""
        after = ""
        while after is not None:
            page = self.done("GET", f"/v1/accounts?limit=1000{query}" + (f"&after={after}" if after else ""))
            yield from page["accounts"]
            after = page["next"]

    # What the process takes.

    @property
    def memory(self):
        """The resident memory of the process, in MiB."""
        return self.process.memory("VmRSS") / 1024

    @property
    def peak_memory(self):
        """The most resident memory since `forget_peak`, in MiB."""
        return self.process.memory("VmHWM") / 1024

    def forget_peak(self):
        # See proc(5), clear_refs.
        pathlib.Path(f"/proc/{self.pid}/clear_refs").write_text("5")

    def idle_share(self, seconds):
        """How much of a core the process takes while nobody asks it anything, in percent."""
        before = self.process.cpu()
        time.sleep(seconds)
        return (self.process.cpu() - before) / seconds * 100

    def metrics(self):
        return fetch(f"http://127.0.0.1:{self.metrics_port}/metrics").text

    def store_calls(self):
        """How often the store was called, as the metrics say."""
        return sum(int(count) for count in re.findall(r"^martlet_store_duration_seconds_count\{[^}]*\} (\d+)$", self.metrics(), re.MULTILINE))
