"""The test setup: a provider, an upstream that counts, and gateways with caching routes."""

import asyncio
import hashlib
import json
import pathlib
import re
import signal
import subprocess
import sys
import time
import urllib.parse

from caching.caller import LIMIT, Caller
from harness.client import Caller as PlainCaller
from harness.processes import Failed, Process, ask, free_port

SECONDS = 30
# What most answers of the upstream say about caching.
FRESH = "Cache-Control: max-age=600"


def target(name, *fields, **parameters):
    """A target of the upstream: see upstream.py. `name` makes it unlike others."""
    query = [("field", one) for one in fields] + list(parameters.items())
    return f"/{name}" + (f"?{urllib.parse.urlencode(query)}" if query else "")


def key_of(name):
    """The key of a caller."""
    return f"a-key-of-the-caller-{name}-that-nobody-guesses"


class Route:
    """A route to the upstream. `cache` are the settings of its cache; None is none."""

    def __init__(self, name, account="alice", cache="", upstream=None, path=""):
        self.name, self.account, self.cache, self.upstream, self.path = name, account, cache, upstream, path

    def line(self, upstream):
        cache = "" if self.cache is None else f", cache: {{ {self.cache} }}"
        return (f'  - {{ name: {self.name}, match: {{ path: /{self.name}/ }}, upstream: "http://127.0.0.1:{self.upstream or upstream}/{self.path}", '
                f"account: {self.account}{cache} }}")


class Upstream:
    """The process upstream.py, and what it says about requests."""

    def __init__(self, log):
        self.port, self.log, self.process = free_port(), log, None
        self.start()

    def start(self):
        self.process = Process("the upstream", [sys.executable, "-m", "caching.upstream", self.port], self.log)
        self.process.wait_for(self.port)

    def stop(self):
        self.process.process.kill()
        self.process.process.wait()

    async def ask(self, what):
        caller = PlainCaller(self.port)
        try:
            return json.loads((await caller.fetch("GET", f"/_control/{what}"))[2])
        finally:
            caller.close()

    async def requests(self, target):
        """The requests for a target so far: their serial numbers, times, methods and fields."""
        return await self.ask("requests/" + urllib.parse.quote(target, safe=""))

    async def count(self, target=None):
        """How many requests there were for the target; without one, how many at all."""
        return len(await self.requests(target)) if target else await self.ask("count")


class Provider:
    """A martlet-mock."""

    def __init__(self, program, log):
        self.process = Process("martlet-mock", [program, "--host", "127.0.0.1", "--port", "0", "--access-ttl", "1h"], log, stdout=subprocess.PIPE)
        self.port = int(re.search(r":(\d+)", self.process.first_line())[1])

    async def control(self, method, what, body=None):
        caller = PlainCaller(self.port)
        try:
            status, _, answer = await caller.fetch(method, f"/_control/{what}", {"Content-Type": "application/json"}, json.dumps(body).encode())
        finally:
            caller.close()
        if status != 200:
            raise Failed(f"martlet-mock returned status {status} to {method} {what}: {answer[:200]}")
        return json.loads(answer)

    async def grant(self, account):
        return await self.control("POST", "grants", {"account": account})

    def stop(self):
        self.process.process.kill()
        self.process.process.wait()


class Site:
    """What one case uses. Nothing of it is left for the next one."""

    def __init__(self, programs, home):
        self.programs, self.home, self.gateways = programs, pathlib.Path(home), []
        self.upstream = self.provider = None
        secret = self.home / "client-secret"
        secret.write_text("mock-secret")
        secret.chmod(0o600)
        self.log = open(self.home / "others.log", "w")

    def start(self):
        self.upstream = Upstream(self.log)
        self.provider = Provider(self.programs / "martlet-mock", self.log)

    async def gateway(self, *routes, **settings):
        gateway = Gateway(self, f"gateway-{len(self.gateways)}", routes, **settings)
        self.gateways.append(gateway)
        await gateway.start()
        return gateway

    def stop(self):
        for one in [*self.gateways, self.provider, self.upstream]:
            if one and one.process and one.process.is_alive:
                one.process.end()
        self.log.close()

    def last_words(self):
        return "".join(f"--- the log of {gateway.name}, at its end\n" + "\n".join(gateway.log.read_text(errors="replace").splitlines()[-20:]) + "\n"
                       for gateway in self.gateways if gateway.log.exists())


class Gateway:
    """One `martlet serve`. `callers` are lines of that section, by the callers' names."""

    def __init__(self, site, name, routes, accounts=("alice",), callers=None, lease="10s"):
        self.site, self.name, self.routes, self.accounts, self.callers, self.lease = site, name, list(routes), accounts, callers or {}, lease
        self.state, self.path, self.log, self.process = site.home / f"state-{name}", site.home / f"{name}.yaml", site.home / f"{name}.log", None

    def write(self):
        callers = [f"  - {{ name: {name}, key_sha256: {hashlib.sha256(key_of(name).encode()).hexdigest()}{more} }}" for name, more in self.callers.items()]
        self.path.write_text("\n".join([
            "listeners: [{ address: 127.0.0.1:0 }]",
            "admin: { address: 127.0.0.1:0 }",
            f"state_dir: {self.state}",
            f"replica: {{ name: {self.name}, lease: {self.lease} }}",
            "log: { level: info, format: json, access: false }",
            "limits: { connections: 16384, waiters: 16384 }",
            "providers:",
            f'  mock: {{ token_endpoint: "http://127.0.0.1:{self.site.provider.port}/oauth/token",'
            f' revocation_endpoint: "http://127.0.0.1:{self.site.provider.port}/oauth/revoke",'
            " client_id: mock-client, client_secret: { file: client-secret }, timeout: 2s }",
            "accounts:", *(f"  {account}: {{ provider: mock }}" for account in self.accounts),
            "routes:", *(route.line(self.site.upstream.port) for route in self.routes),
            *(["callers:", *callers] if callers else []), ""]))

    async def start(self):
        self.write()
        await asyncio.to_thread(self.launch)
        self.token = next(line for line in (self.state / "admin.token").read_text().splitlines() if line and not line.startswith("#")).split()[-1]
        for account in self.accounts:
            await self.sign_in(account)

    def launch(self):
        check = ask([self.site.programs / "martlet", "check", "--config", self.path])
        if check.returncode:
            raise Failed(f"martlet refuses the configuration: {check.stderr.strip()[:500]}")
        with open(self.log, "ab") as log:
            self.process = Process(self.name, [self.site.programs / "martlet", "serve", "--config", self.path], log, stdout=subprocess.PIPE)
        said, deadline = self.process.first_line(), time.monotonic() + SECONDS
        while "admin:" not in said and time.monotonic() < deadline:
            said += self.process.first_line()
        self.port, self.admin = (int(re.search(rf"{what}: http://127\.0\.0\.1:(\d+)", said)[1]) for what in ("callers", "admin"))

    def caller(self, name=None, **fields):
        """A new connection, of the caller with this name."""
        return Caller(self.port, {**({"Martlet-Key": key_of(name)} if name else {}), **fields})

    async def get(self, target, fields=None, method="GET", body=b""):
        """Sends one request on a connection of its own."""
        caller = self.caller()
        try:
            return await caller.get(target, fields, method, body)
        finally:
            caller.close()

    async def ask(self, method, path, body=None):
        """Sends a request to the admin API; returns the status and the object, or the text of what is no object."""
        caller, content = PlainCaller(self.admin), b"" if body is None else json.dumps(body).encode()
        try:
            fields = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
            status, got, answer = await asyncio.wait_for(caller.fetch(method, path, fields, content), LIMIT)
        finally:
            caller.close()
        return status, json.loads(answer) if "json" in got.get("content-type", "") else answer.decode()

    async def done(self, method, path, body=None):
        status, said = await self.ask(method, path, body)
        if status != 200:
            raise Failed(f"{method} {path} got status {status}: {str(said)[:300]}")
        return said

    async def sign_in(self, account, **members):
        """Imports tokens of a new grant."""
        grant = await self.site.provider.grant(account)
        tokens = {name: grant[name] for name in ("refresh_token", "access_token", "expires_in")}
        await self.done("PUT", f"/v1/accounts/{account}/tokens", {**tokens, **members})

    async def metric(self, name, route):
        """The value of a metric with the label `route` and no other."""
        text = await self.done("GET", "/metrics")
        match = re.search(rf'^{name}\{{route="{route}"\}} (\S+)$', text, re.MULTILINE)
        if not match:
            raise Failed(f"there is no metric {name} of the route {route}")
        return float(match[1])

    async def reload(self):
        """Writes the configuration and has it read again."""
        self.write()
        before = self.reloads()
        self.process.process.send_signal(signal.SIGHUP)
        deadline = time.monotonic() + SECONDS
        while len(reloads := self.reloads()) == len(before):
            if time.monotonic() > deadline:
                raise Failed("the configuration is not read again")
            await asyncio.sleep(0.02)
        if "config_reloaded" not in reloads[-1] and "callers_removed" not in reloads[-1]:
            raise Failed(f"the configuration is not taken over: {reloads[-1][:400]}")

    def reloads(self):
        """The lines of the log about reloads."""
        return [line for line in self.log.read_text().splitlines() if '"config.code"' in line]
