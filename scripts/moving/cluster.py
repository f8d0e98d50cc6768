"""Two gateways with a state_dir and a store in common, which take over from each other with other stores."""

import asyncio
import base64
import json
import os
import subprocess
import time

from faulting.cluster import Cluster
from harness.processes import Failed
from moving.databases import SQLITE
from replicating.cluster import LEASE, Replica
from replicating.network import SCRIPT
from replicating.servers import PASSWORD

# How long the old process may take to end after a takeover, in seconds.
END_SECONDS = 20
COMMAND_SECONDS = 300
# The arguments of `serve` beside the configuration.
TAKEOVER, ACCEPT = ("--takeover",), ("--accept-older-store",)
# Logged by a process that finds what another one, which has ended, has left in the state_dir.
UNCLEAN = "earlier starts on this host did not stop in order"
# The log messages of a move: of the replica that begins it, and of each replica.
BEGUN, GONE_OVER, DONE = "all replicas go over to the store", "this replica has gone over to the store", "the move of the records is done"


class Mover(Replica):
    """A gateway that a new process can take over."""

    def __init__(self, name, cluster):
        super().__init__(name, cluster)
        self.arguments = ()
        # Of each process that another one took over from: its boot, its return code, and the seconds from SIGTERM to its end.
        self.leavings = []

    @property
    def state(self):
        return self.cluster.work / "state"

    def command(self, configuration):
        return [*super().command(configuration), *self.arguments]

    async def start(self, environment=None, arguments=()):
        self.arguments = arguments
        try:
            await super().start(environment)
        finally:
            self.arguments = ()

    async def take_over(self):
        """Starts a process with the present configuration on the same ports, and ends the older one."""
        boot, older = self.boot, self.process
        await self.start(arguments=TAKEOVER)
        began = time.monotonic()
        older.process.terminate()
        code = await asyncio.to_thread(older.process.wait, END_SECONDS)
        older.process.stdout.close()
        self.leavings.append((boot, code, time.monotonic() - began))
        self.cluster.history.note(f"{self.boot} has taken over from {boot}, which ended with return code {code} after {time.monotonic() - began:.3f} s")

    async def move(self):
        """Returns the state of the move and how many records this process has moved; None if there is no move."""
        found = (await self.status())["store"].get("move")
        return found and (found["state"], found["moved"])

    async def mirrors(self):
        """Returns the state of each mirror."""
        return [one["state"] for one in (await self.status())["store"].get("mirrors", [])]

    async def status(self):
        return json.loads((await self.ask("GET", "/v1/status"))[1])


class Movers(Cluster):
    """Two movers and their databases. `layout` says which store they have, and returns the part of the configuration for a gateway."""

    provider_host, permission = SCRIPT, "allow_cleartext: true"

    def __init__(self, run, work, provider, databases, accounts, direct):
        self.network, self.databases = run.network, databases
        self.sealing_key = base64.b64encode(os.urandom(32)).decode()
        # Additions to the environment, which Replica asks for.
        self.clocks = {}
        self.layout = self.alone(SQLITE)
        super().__init__(run, work, provider, accounts, 2, "8s", None, direct, None, True, 0)

    def make_gateway(self, name):
        return Mover(name, self)

    # What the gateways can have as a store.

    def alone(self, name):
        return lambda gateway: {**self.databases[name].settings(gateway), **self.key(gateway)}

    def migrating(self, current, previous):
        return lambda gateway: {"driver": "migrating", "current": self.alone(current)(gateway), "previous": self.databases[previous].settings(gateway)}

    def mirroring(self, primary, *mirrors):
        return lambda gateway: {"driver": "mirroring", "primary": self.alone(primary)(gateway),
                                "mirrors": [self.databases[mirror].settings(gateway) for mirror in mirrors]}

    def key(self, gateway):
        return {"sealing_key": {"file": str(gateway.secret("sealing.key", self.sealing_key))}}

    def own_part(self, gateway):
        listener, admin = (":".join(map(str, place)) for place in (gateway.port, gateway.admin))
        return f"""
listeners: [{{ address: "{listener}" }}]
admin: {{ address: "{admin}", allow_cleartext: true }}
state_dir: {gateway.state}
store: {json.dumps(self.layout(gateway))}
replica: {{ name: {gateway.name}, lease: {LEASE}s }}"""

    async def take_over(self, layout):
        """Lets new processes with this store take over, one after the other."""
        self.layout = layout
        for gateway in self.gateways:
            await gateway.take_over()

    async def restart(self, layout):
        """Starts both gateways, which do not run, with this store."""
        self.layout = layout
        await self.start_gateways()

    async def end_all(self):
        """Asks both gateways to end, and waits for that. Returns their return codes."""
        for gateway in self.gateways:
            gateway.ask_to_end()
        return [code for code, _ in await asyncio.gather(*(gateway.end_code(END_SECONDS) for gateway in self.gateways))]

    async def sign_in_at_both(self):
        await asyncio.gather(*(self.sign_in(self.accounts[place::2], by=gateway) for place, gateway in enumerate(self.gateways)))

    def write_configuration(self, name, layout):
        """Writes the configuration of the first gateway with another store, and returns its path."""
        former, self.layout = self.layout, layout
        path = self.work / name
        path.write_text(self.configuration(self.gateways[0]))
        self.layout = former
        return path

    def on_host(self, *arguments):
        """Returns a command of Martlet as it runs on the host of the first gateway."""
        return self.network.on(self.gateways[0].name, [str(part) for part in (self.program, *arguments)])

    async def command(self, *arguments):
        """Runs a command of Martlet on the host of the first gateway. Returns its result."""
        try:
            return await asyncio.to_thread(subprocess.run, self.on_host(*arguments), capture_output=True, text=True, timeout=COMMAND_SECONDS)
        except subprocess.TimeoutExpired:
            raise Failed(f"`martlet {arguments[0]}` does not end within {COMMAND_SECONDS} s") from None

    async def verified(self, layout):
        """Returns the report of `martlet store verify` of a store."""
        path = self.write_configuration("verify.yaml", layout)
        done = await self.command("store", "verify", "--config", path, "--json")
        if not done.stdout.startswith("{"):
            raise Failed(f"martlet store verify ended with {done.returncode}: {done.stderr.strip()[-500:]}")
        return json.loads(done.stdout)

    def secrets(self):
        return super().secrets() + [("sealing.key", self.sealing_key), ("a password", PASSWORD)]

    async def places(self):
        dumps = await asyncio.to_thread(self.databases.dumps)
        return await super().places() + self.databases.logs() + dumps

    def tails(self, lines=15):
        return super().tails(lines) + self.databases.tails(lines)
