"""Several gateways that share one `state_dir` and one SQLite file, in front of one provider."""

import asyncio
import json
import pathlib
import tempfile

from faulting.canary import scan
from faulting.gateway import Gateway
from faulting.history import say
from faulting.provider import Provider
from harness.checks import equals
from harness.processes import Failed, ask

# What a default would hold back, if this martlet knows the key.
OPTIONAL = ["refresh_rate: { per_second: 2000, burst: 2000 }"]
DEAD = "a grant is dead: somebody must sign in again or import tokens"
REFRESHED = "an account was refreshed"


class Cluster:
    """`accounts` is how many; they are called a0, a1, … and each has a route of its name."""

    def __init__(self, run, work, provider, accounts, count, timeout, direct):
        self.run, self.work, self.provider, self.history = run, work, provider, run.history
        self.program, self.timeout = run.options.program, timeout
        self.accounts = [f"a{number}" for number in range(accounts)]
        self.token_port = provider.api if direct else provider.recorder.port
        self.extras, self.processes = OPTIONAL, []
        self.gateways = [Gateway(chr(ord("a") + number), self) for number in range(count)]
        # Bodies of Martlet's own answers.
        self.answers = []

    @property
    def state(self):
        return self.work / "state"

    @property
    def admin_token(self):
        return (self.state / "admin.token").read_text().split()[0]

    def configuration(self, gateway):
        accounts = "\n".join(f"  {name}: {{ provider: mock }}" for name in self.accounts)
        routes = "\n".join(
            f"  - {{ name: {name}, match: {{ path: /{name}/ }}, upstream: \"http://127.0.0.1:{self.provider.api}/api/\", account: {name} }}"
            for name in self.accounts)
        extras = "\n".join(f"    {extra}" for extra in self.extras)
        return f"""
listeners: [{{ address: 127.0.0.1:{gateway.port} }}]
admin: {{ address: 127.0.0.1:{gateway.admin} }}
state_dir: {self.state}
shutdown_grace: 5s
log: {{ level: info, format: json, access: false }}
limits: {{ connections: 16384, waiters: 16384 }}
providers:
  mock:
    token_endpoint: "http://127.0.0.1:{self.token_port}/oauth/token"
    client_id: mock-client
    client_secret: {{ file: client-secret }}
    token_params: {{ replica: {gateway.boot} }}
    timeout: {self.timeout}
{extras}
accounts:
{accounts}
routes:
{routes}
"""

    async def start(self):
        secret = self.work / "client-secret"
        secret.write_text("mock-secret")
        secret.chmod(0o600)
        for extras in (OPTIONAL, []):
            self.extras = extras
            (self.work / "check.yaml").write_text(self.configuration(self.gateways[0]))
            check = await asyncio.to_thread(ask, [self.program, "check", "--config", self.work / "check.yaml"])
            if check.returncode == 0:
                break
        else:
            raise Failed(f"martlet refuses the configuration: {check.stderr.strip()[:500]}")
        # The first makes what the others share.
        await self.gateways[0].start()
        await asyncio.gather(*(gateway.start() for gateway in self.gateways[1:]))

    @property
    def up(self):
        return [gateway for gateway in self.gateways if gateway.is_up]

    async def sign_in(self, accounts=None, whole=True, by=None):
        """Gives accounts a new grant of the provider's; without `whole` without its access token."""
        room = asyncio.Semaphore(16)

        async def one(account):
            async with room:
                answer = await self.provider.grant(account)
                tokens = {key: answer[key] for key in ("refresh_token", "access_token", "expires_in") if whole or key == "refresh_token"}
                status, body = await (by or self.up[0]).ask("PUT", f"/v1/accounts/{account}/tokens", tokens)
                if status != 200:
                    raise Failed(f"the import of {account} is answered {status}: {body[:300]}")

        await asyncio.gather(*(one(account) for account in accounts or self.accounts))
        # The others hear of it a moment later, or are asked and look.
        await asyncio.gather(*(gateway.ask("GET", "/v1/accounts") for gateway in self.up))

    async def states(self):
        """What the first process that is up says of each account."""
        status, body = await self.up[0].ask("GET", "/v1/accounts")
        if status != 200:
            raise Failed(f"/v1/accounts is answered {status}")
        return {one["name"]: one for one in json.loads(body)["accounts"]}

    async def dead(self):
        return {name for name, one in (await self.states()).items() if one["state"] == "reauthorization_required"}

    def log_lines(self, message=None):
        lines = [line for gateway in self.gateways for line in gateway.log_lines() if message in (None, line.get("message"))]
        return sorted(lines, key=lambda line: line["at"])

    def tails(self, lines=15):
        return "".join(f"--- the log of {gateway.name}, at its end\n" + "\n".join(gateway.log_path.read_text(errors="replace").splitlines()[-lines:]) + "\n"
                       for gateway in self.gateways if gateway.log_path.exists())

    def stop(self):
        for process in self.processes:
            process.process.kill()
            process.process.wait()


class Run:
    """One case: its chance, its history, its clusters."""

    def __init__(self, options, chance, history, work):
        self.options, self.random, self.history, self.work = options, chance, history, work
        self.checks, self.cluster, self.provider = [], None, None
        self.evidence = ""

    def scaled(self, seconds, least=1):
        """Of what takes `seconds` in the full run of five minutes."""
        return max(least, seconds * min(1, self.options.minutes / 5))

    def with_cluster(self, accounts, count=4, access_ttl="3s", grace="0s", timeout="2s", direct=False):
        return Starting(self, dict(accounts=accounts, count=count, timeout=timeout, direct=direct), access_ttl, grace)


class Starting:
    """A cluster for as long as an `async with` lasts; then it is searched for tokens, and ended."""

    def __init__(self, run, settings, access_ttl, grace):
        self.run, self.settings, self.access_ttl, self.grace = run, settings, access_ttl, grace

    async def __aenter__(self):
        run = self.run
        work = pathlib.Path(tempfile.mkdtemp(dir=run.work))
        run.history.note(f"a provider with access tokens for {self.access_ttl} and a grace of {self.grace}")
        run.provider = Provider(run.options.mock, work, run.history, self.access_ttl, self.grace)
        try:
            await run.provider.start()
            run.cluster = Cluster(run, work, run.provider, **self.settings)
            await run.cluster.start()
        except BaseException:
            await self.end()
            raise
        return run.cluster

    async def __aexit__(self, kind, error, trace):
        try:
            if kind is None:
                await self.judge()
            if kind or any(check.holds is False for check in self.run.checks):
                await self.keep_evidence()
        finally:
            await self.end()

    async def judge(self):
        cluster = self.run.cluster
        fatal = [line for gateway in cluster.gateways for line in gateway.fatal_lines()]
        self.run.checks.append(equals("traps", len(fatal), 0))
        found, looked = await scan(cluster)
        say(f"canary: {looked}")
        if found:
            self.run.history.note(f"tokens were found: {'; '.join(found[:20])}")
        self.run.checks.append(equals("tokens where none belong", len(found), 0))

    async def keep_evidence(self):
        stats = "it does not answer"
        try:
            stats = await asyncio.wait_for(self.run.provider.stats(), 5)
            # Of the long ones what is out of the ordinary.
            stats["refresh_token_uses"] = {name: uses for name, uses in stats["refresh_token_uses"].items() if max(uses, default=0) > 1}
            stats["live"] = {name: live for name, live in stats["live"].items() if live["refresh"] != 1}
            del stats["api_last_use"]
            stats = json.dumps(stats)
        except (OSError, EOFError, asyncio.TimeoutError, Failed):
            pass
        self.run.evidence += f"--- the mock's stats\n{stats[:6000]}\n{self.run.cluster.tails() if self.run.cluster else ''}"

    async def end(self):
        if self.run.cluster:
            self.run.cluster.stop()
        if self.run.provider:
            await self.run.provider.stop()
        self.run.cluster = self.run.provider = None
