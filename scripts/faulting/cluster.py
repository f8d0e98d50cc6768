"""Several gateways that share one `state_dir` and one SQLite file, in front of one provider."""

import asyncio
import hashlib
import json

from faulting.gateway import Gateway
from harness.processes import Failed, ask

# The default refresh rate would throttle the test.
EXTRAS = ["refresh_rate: { per_second: 2000, burst: 2000 }"]
# The key of a caller that may use all accounts, for clusters whose requests name the account in a header.
CALLER_KEY = "the-callers-key-of-this-case"
# The beginning of the log message. The message may go on about a process that ended while the token was being spent.
DEAD = "a grant is dead"
REFRESHED = "an account was refreshed"
# Logged by a process that knows of a commit which the store has lost, after it has written the record again.
PUT_BACK = "the store had lost an account's record, and has it again: it was put back, or loses what it acknowledges"


class Cluster:
    """Gateways with a shared store, and their configuration.

    `accounts` is the number of accounts, which are called a0, a1, …. Each account has a route of its name. With `by_header`, all
    accounts share one route and requests name the account in a header. The last `minting` accounts use the client credentials
    grant and need no imported token. `sockets` is the port of a WebSocket server; each account then has a second route to it.
    """

    # Where the gateways reach the provider and its API, and the key of the configuration that permits it to be elsewhere.
    provider_host, permission = "127.0.0.1", ""

    def __init__(self, run, work, provider, accounts, count, timeout, answer_timeout, direct, sockets, by_header, minting):
        self.run, self.work, self.provider, self.history = run, work, provider, run.history
        self.program, self.timeout = run.options.program, timeout
        self.accounts = [f"a{number}" for number in range(accounts)]
        self.token_port = provider.api if direct else provider.recorder.port
        self.extras = EXTRAS + ([f"answer_timeout: {answer_timeout}"] if answer_timeout else [])
        self.processes, self.sockets, self.by_header = [], sockets, by_header
        self.minting = self.accounts[accounts - minting:]
        self.gateways = [self.make_gateway(chr(ord("a") + number)) for number in range(count)]
        # Bodies of Martlet's local replies.
        self.answers = []

    def make_gateway(self, name):
        return Gateway(name, self)

    @property
    def state(self):
        return self.work / "state"

    def request_for(self, account):
        """Returns the path and the fields of a request for `account` to which the API responds with 200."""
        if self.by_header:
            return "/any/status/200", {"Martlet-Key": CALLER_KEY, "Martlet-Account": account}
        return f"/{account}/status/200", {}

    def configuration(self, gateway):
        grants = dict.fromkeys(self.minting, ", grant: client_credentials")
        accounts = "\n".join(f"  {name}: {{ provider: mock{grants.get(name, '')} }}" for name in self.accounts)
        places = [("any", "{ from_header: Martlet-Account }")] if self.by_header else [(name, name) for name in self.accounts]
        permitted = f", {self.permission}" if self.permission else ""
        routes = "\n".join(
            f"  - {{ name: {name}, match: {{ path: /{name}/ }}, upstream: \"http://{self.provider_host}:{self.provider.api}/api/\", account: {account}{permitted} }}"
            for name, account in places)
        if self.sockets:
            routes += "".join(
                f"\n  - {{ name: {name}-sockets, match: {{ path: /sockets/{name}/ }}, upstream: \"http://127.0.0.1:{self.sockets}/\", account: {name} }}"
                for name in self.accounts)
        if self.by_header:
            routes += f"\ncallers: [{{ name: all, key_sha256: {hashlib.sha256(CALLER_KEY.encode()).hexdigest()} }}]"
        extras = "\n".join(f"    {extra}" for extra in [*self.extras, *filter(None, [self.permission])])
        return f"""{self.own_part(gateway)}
shutdown_grace: 5s
log: {{ level: info, format: json, access: false }}
limits: {{ connections: 16384, waiters: 16384 }}
providers:
  mock:
    token_endpoint: "http://{self.provider_host}:{self.token_port}/oauth/token"
    revocation_endpoint: "http://{self.provider_host}:{self.provider.api}/oauth/revoke"
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

    def own_part(self, gateway):
        """Returns the part of the configuration in which a gateway differs from the others."""
        return f"""
listeners: [{{ address: 127.0.0.1:{gateway.port} }}]
admin: {{ address: 127.0.0.1:{gateway.admin} }}
state_dir: {gateway.state}"""

    async def start(self):
        secret = self.work / "client-secret"
        secret.write_text("mock-secret")
        secret.chmod(0o600)
        (self.work / "check.yaml").write_text(self.configuration(self.gateways[0]))
        check = await asyncio.to_thread(ask, [self.program, "check", "--config", self.work / "check.yaml"])
        if check.returncode != 0:
            raise Failed(f"martlet refuses the configuration: {check.stderr.strip()[:500]}")
        await self.start_gateways()

    async def start_gateways(self):
        # The first process creates the state directory that the others share.
        await self.gateways[0].start()
        await asyncio.gather(*(gateway.start() for gateway in self.gateways[1:]))

    @property
    def up(self):
        return [gateway for gateway in self.gateways if gateway.is_up]

    def secrets(self):
        """Returns the names and the contents of files whose content must be nowhere else."""
        return [(path.name, line) for state in self.state_dirs() for pattern in ("admin.token", "sealing.key") for path in state.glob(pattern)
                for line in path.read_text().split("\n") if line and not line.startswith("#")]

    def state_dirs(self):
        return sorted({gateway.state for gateway in self.gateways})

    async def places(self):
        """Returns the names and the contents of all files that Martlet writes: the database with its log, the journals, the backup
        copy of the kills, and core dumps of a crash."""
        files = [(f"{state.name}/{file.name}", file) for state in self.state_dirs() for file in sorted(state.rglob("*")) if file.is_file()]
        files += [(gateway.log_path.name, gateway.log_path) for gateway in self.gateways]
        files += [(file.name, file) for file in sorted(self.work.glob("*core*")) if file.is_file()]
        return [(name, file.read_bytes()) for name, file in files]

    def ended(self):
        """Returns a text for each boot that has ended by itself."""
        for gateway in self.gateways:
            gateway.look()
        return [f"{boot} with return code {code}" for gateway in self.gateways for boot, code in gateway.ends.items()]

    async def sign_in(self, accounts=None, whole=True, by=None):
        """Imports a new grant of the provider for each account. Without `whole`, only the refresh token is imported."""
        room = asyncio.Semaphore(16)

        async def one(account):
            async with room:
                answer = await self.provider.grant(account)
                tokens = {key: answer[key] for key in ("refresh_token", "access_token", "expires_in") if whole or key == "refresh_token"}
                status, body = await (by or self.up[0]).ask("PUT", f"/v1/accounts/{account}/tokens", tokens)
                if status != 200:
                    raise Failed(f"the import of {account} got status {status}: {body[:300]}")

        await asyncio.gather(*(one(account) for account in accounts or self.accounts))
        # Other processes learn of the import a moment later; this request makes them look at the store at once.
        await asyncio.gather(*(gateway.ask("GET", "/v1/accounts") for gateway in self.up))

    async def states(self):
        """Returns each account's state by its name, from the first process that is up."""
        status, body = await self.up[0].ask("GET", "/v1/accounts")
        if status != 200:
            raise Failed(f"/v1/accounts got status {status}")
        return {one["name"]: one for one in json.loads(body)["accounts"]}

    async def dead(self):
        return {name for name, one in (await self.states()).items() if one["state"] == "reauthorization_required"}

    def log_lines(self, message=None):
        lines = [line for gateway in self.gateways for line in gateway.log_lines() if message is None or line.get("message", "").startswith(message)]
        return sorted(lines, key=lambda line: line["at"])

    def tails(self, lines=15):
        return "".join(f"--- the log of {gateway.name}, at its end\n" + "\n".join(gateway.log_path.read_text(errors="replace").splitlines()[-lines:]) + "\n"
                       for gateway in self.gateways if gateway.log_path.exists())

    def stop(self):
        for process in self.processes:
            process.process.kill()
            process.process.wait()
