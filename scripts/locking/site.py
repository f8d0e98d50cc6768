"""The test setup: providers, gateways, and the commands that operators give."""

import json
import os
import pathlib
import re
import subprocess
import time

from harness.processes import Failed, Process, ask, free_port
from signing.web import fetch

# A gateway may wait 30 s for a command before it listens.
START_SECONDS, SECONDS = 60, 30


class Provider:
    """A martlet-mock."""

    def __init__(self, site, *arguments):
        with open(site.home / f"mock-{len(site.providers)}.log", "ab") as log:
            self.process = Process("martlet-mock", [site.programs / "martlet-mock", "--host", "127.0.0.1", "--port", "0", *arguments], log,
                                   stdout=subprocess.PIPE)
        self.url = re.search(r"http://[0-9.:]+", self.process.first_line())[0]

    def control(self, method, what, body=None):
        answer = fetch(f"{self.url}/_control/{what}", method, {"Content-Type": "application/json"}, body)
        if answer.status != 200:
            raise Failed(f"martlet-mock returned status {answer.status} to {method} {what}: {answer.text[:200]}")
        return answer.json

    def stats(self):
        return self.control("GET", "stats")

    def faults(self, *rules):
        """What goes wrong from now on."""
        self.control("PUT", "faults", list(rules))

    def grant(self, account):
        return self.control("POST", "grants", {"account": account})

    def tokens(self):
        """All tokens that were ever given."""
        return self.control("GET", "tokens")["tokens"]

    @property
    def token_requests(self):
        """How many token requests were answered, or are about to be: each is counted before its answer is delayed."""
        return sum(self.stats()["token_requests"].values())

    def wait_for_requests(self, count):
        """Waits until the provider has got so many token requests."""
        wait_for(f"{count} token requests at the provider", lambda: self.token_requests >= count)


class Site:
    """What one case uses. Nothing of it is left for the next one."""

    def __init__(self, programs, home):
        self.programs, self.home, self.gateways, self.providers, self.stores = programs, pathlib.Path(home), [], [], []
        self.file("client-secret", "mock-secret")

    def file(self, name, content, mode=0o600):
        """Makes a file; returns its path."""
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            path.unlink()
        path.write_text(content)
        path.chmod(mode)
        return path

    def provider(self, *arguments):
        provider = Provider(self, *arguments)
        self.providers.append(provider)
        return provider

    def stop(self):
        for gateway in self.gateways:
            gateway.end()
        for store in self.stores:
            store.stop()
        for provider in self.providers:
            provider.process.end()

    def last_words(self):
        return "".join(f"--- the log of {gateway.name}, at its end\n" + "\n".join(gateway.log.read_text(errors="replace").splitlines()[-15:]) + "\n"
                       for gateway in self.gateways if gateway.log.exists())


class Gateway:
    """One `martlet serve`. `key` is the value of `sealing_key`, `store` are other members of `store`, `more` are lines of the
    configuration, `environment` are variables of the process beside those of this one. The ports stay over restarts."""

    def __init__(self, site, name, provider, accounts, key="", store="", more="", environment=None, lease="5s"):
        self.site, self.name, self.provider, self.accounts, self.key, self.store, self.more = site, name, provider, list(accounts), key, store, more
        self.environment, self.lease, self.cache = environment or {}, lease, None
        self.port, self.admin = free_port(), free_port()
        self.state, self.path, self.log = site.home / f"state-{name}", site.home / f"{name}.yaml", site.home / f"{name}.log"
        self.process, self.is_ended = None, True
        site.gateways.append(self)

    def route(self, account):
        cache = f", cache: {{ {self.cache} }}" if self.cache else ""
        return f'  - {{ name: {account}, match: {{ path: /{account}/ }}, upstream: "{self.provider.url}/api/", account: {account}{cache} }}'

    def write(self):
        key = [f"sealing_key: {self.key}"] if self.key else []
        store = ", ".join([self.store or "driver: sqlite", *key])
        self.path.write_text("\n".join([
            f"listeners: [{{ address: 127.0.0.1:{self.port} }}]",
            f"admin: {{ address: 127.0.0.1:{self.admin} }}",
            f"state_dir: {self.state}",
            f"store: {{ {store} }}",
            f"replica: {{ name: {self.name}, lease: {self.lease} }}",
            "log: { level: info, format: json, access: false }",
            "providers:",
            f'  mock: {{ token_endpoint: "{self.provider.url}/oauth/token", revocation_endpoint: "{self.provider.url}/oauth/revoke",'
            " client_id: mock-client, client_secret: { file: client-secret }, timeout: 8s, answer_timeout: 20s }",
            "accounts:", *(f"  {account}: {{ provider: mock }}" for account in self.accounts),
            "routes:", *(self.route(account) for account in self.accounts), self.more, ""]))

    def launch(self):
        """Starts the process, and doesn't wait until it serves."""
        self.write()
        check = ask([self.site.programs / "martlet", "check", "--config", self.path], env={**os.environ, **self.environment})
        if check.returncode:
            raise Failed(f"martlet refuses the configuration: {check.stderr.strip()[:500]}")
        with open(self.log, "ab") as log:
            self.process = Process(self.name, [self.site.programs / "martlet", "serve", "--config", self.path], log, stdout=subprocess.DEVNULL,
                                   env={**os.environ, **self.environment})
        self.is_ended = False
        return self

    def start(self):
        """Starts the process and waits until it serves, locked or not."""
        return self.launch().wait()

    def wait(self):
        def serves():
            if not self.process.is_alive:
                raise Failed(f"{self.name} ended while starting: {self.process.last_words()[:400]}")
            try:
                return fetch(f"http://127.0.0.1:{self.admin}/healthz").status == 200 and fetch(f"http://127.0.0.1:{self.port}/").status > 0
            except OSError:
                return False

        wait_for(f"{self.name} serves", serves, START_SECONDS)
        lines = (self.state / "admin.token").read_text().splitlines()
        self.token = next(line for line in lines if line and not line.startswith("#")).split()[-1]
        return self

    def end(self):
        """Ends the process as SIGTERM does."""
        self.is_ended = True
        return self.process.end() if self.process and self.process.is_alive else None

    def kill(self):
        """Ends the process as the kernel does when memory runs out."""
        self.is_ended = True
        self.process.process.kill()
        self.process.process.wait()

    @property
    def has_crashed(self):
        return not self.is_ended and not self.process.is_alive

    @property
    def pid(self):
        return self.process.process.pid

    # What callers and operators do.

    def ask(self, method, path, body=None):
        """Sends a request to the admin API; returns the status and the object."""
        fields = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        answer = fetch(f"http://127.0.0.1:{self.admin}{path}", method, fields, body)
        return answer.status, answer.json if "json" in (answer.fields["Content-Type"] or "") else {}

    def done(self, method, path, body=None):
        status, said = self.ask(method, path, body)
        if status != 200:
            raise Failed(f"{self.name}: {method} {path} got status {status}: {str(said)[:300]}")
        return said

    def refusal(self, method, path, body=None):
        """Sends a request that is refused; returns the status and the code."""
        status, said = self.ask(method, path, body)
        return status, code(said)

    def command(self, *arguments, text=None):
        """Runs a command of martlet at this gateway."""
        environment = {**os.environ, "MARTLET_ADMIN_TOKEN": self.token}
        return ask([self.site.programs / "martlet", *arguments, "--admin", f"http://127.0.0.1:{self.admin}"], input=text or "", env=environment)

    @property
    def health(self):
        """The exit codes of `martlet health` and `martlet health --live`."""
        return self.command("health").returncode, self.command("health", "--live").returncode

    def get(self, account, target="bytes/10"):
        """Sends a request with the account's token; returns the status, and the code of Martlet's error."""
        answer = fetch(f"http://127.0.0.1:{self.port}/{account}/{target}")
        is_problem = "problem+json" in (answer.fields["Content-Type"] or "")
        return answer.status, code(answer.json) if is_problem else None

    def sign_in(self, account, **members):
        """Imports tokens of a new grant; returns them."""
        grant = self.provider.grant(account)
        tokens = {name: grant[name] for name in ("refresh_token", "access_token", "expires_in")} | members
        self.done("PUT", f"/v1/accounts/{account}/tokens", tokens)
        return tokens

    def account(self, name):
        return self.done("GET", f"/v1/accounts/{name}")

    def states(self):
        """The state of each account."""
        return {account["name"]: account["state"] for account in self.done("GET", "/v1/accounts")["accounts"]}

    def are_valid(self):
        return all(state == "valid" for state in self.states().values())

    def refresh(self, account):
        """Refreshes; returns the state of the account then."""
        said = self.done("POST", f"/v1/accounts/{account}/refresh")
        return said["state"] if said["last_error"] is None else f"{said['state']}, {said['last_error']}"

    @property
    def lock(self):
        return self.done("GET", "/v1/lock")

    @property
    def lock_state(self):
        return self.lock["state"]

    def wait_until(self, state, seconds=SECONDS):
        """Waits until the lock has this state; returns how long that took."""
        began = time.monotonic()
        wait_for(f"{self.name} is {state}", lambda: self.lock_state == state, seconds)
        return time.monotonic() - began

    def locked(self, **members):
        """Locks by the API, and waits until the process holds no key."""
        self.done("POST", "/v1/lock", {"reason": "drill", **members})
        self.wait_until("locked")

    def unlocked(self, **members):
        """Unlocks by the API, and waits until requests go out again."""
        self.done("POST", "/v1/unlock", members)
        wait_for(f"{self.name} knows its accounts", lambda: self.ask("GET", "/v1/accounts")[0] == 200)

    def audit(self, action):
        """The records of an action in the audit log."""
        records, after = [], 0
        while after is not None:
            page = self.done("GET", f"/v1/audit?after={after}&limit=1000")
            records, after = records + page["audit"], page["next"]
        return [record for record in records if record.get("action") == action]

    def files(self, directory=""):
        """The names of the files in a directory of `state_dir`."""
        place = self.state / directory
        return sorted(path.name for path in place.iterdir() if path.is_file()) if place.is_dir() else []

    def outlook(self, account="alice"):
        """The lock's state, what a caller gets, and whether the process has the database open."""
        return self.lock_state, self.get(account), any("tokens.db" in link for link in self.links())

    @property
    def waits_for(self):
        """What the gateway waits for, in the words of `martlet status`."""
        return next((line for line in self.command("status").stdout.splitlines() if line.startswith("waits for")), "")

    def links(self):
        for path in pathlib.Path(f"/proc/{self.pid}/fd").iterdir():
            try:
                yield os.readlink(path)
            except FileNotFoundError:
                continue

    @property
    def log_lines(self):
        """The lines of the log so far, as objects."""
        return [json.loads(line) for line in self.log.read_text().splitlines() if line.startswith("{") and line.endswith("}")]


# What a caller gets from a locked gateway, and what `outlook` says of one.
LOCKED = (503, "locked")
SHUT = ("locked", LOCKED, False)


def code(problem):
    """The code of an error (RFC 9457), such as `locked`."""
    return problem.get("type", "").rpartition(":")[2]


def wait_for(what, holds, seconds=SECONDS):
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            raise Failed(f"not within {seconds} s: {what}")
        time.sleep(0.02)
