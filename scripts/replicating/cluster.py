"""Replicas on hosts of their own, with a store between them, in front of one provider."""

import asyncio
import base64
import json
import os

from faulting.cluster import Cluster
from faulting.gateway import Gateway
from replicating.network import ISLAND, SCRIPT, front_address
from replicating.servers import PASSWORD

LISTENER, ADMIN = 8080, 8081
# How long a replica injects tokens without the store, in seconds, and how often it looks at the kill log then.
LEASE, POLL = 10, 3
# A replica that is cut off delays a kill for this long at most: others count its lease by their own clocks, which may be slower
# or faster by 5 %.
LAPSE = LEASE * 1.05 + 1


class Replica(Gateway):
    """A gateway on the host of its name, with its own state_dir and its own copy of the sealing key."""

    def __init__(self, name, cluster):
        super().__init__(name, cluster)
        self.port, self.admin = (front_address(name), LISTENER), (front_address(name), ADMIN)
        # Whether loads send it nothing for now.
        self.is_avoided = False

    @property
    def is_down(self):
        return self.is_avoided or super().is_down

    @property
    def state(self):
        return self.cluster.work / f"state-{self.name}"

    def command(self, configuration):
        return self.cluster.network.on(self.name, super().command(configuration))

    async def start(self, environment=None):
        await super().start({**self.cluster.clocks.get(self.name, {}), **(environment or {})})

    def secret(self, name, content):
        """Writes a secret into a file for this replica, and returns the path."""
        path = self.cluster.work / f"{name}-{self.name}"
        if not path.exists():
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                file.write(content)
        return path


class Replicas(Cluster):
    """Replicas and their configuration. Requests name the account in a header. `clocks` has additions to the environment of the
    replicas with other clocks."""

    provider_host, permission = SCRIPT, "allow_cleartext: true"

    def __init__(self, run, work, provider, store, accounts, count, timeout, answer_timeout, direct, clocks):
        self.network, self.store, self.clocks = run.network, store, clocks or {}
        self.sealing_key = base64.b64encode(os.urandom(32)).decode()
        super().__init__(run, work, provider, accounts, count, timeout, answer_timeout, direct, None, True, 0)

    def make_gateway(self, name):
        return Replica(name, self)

    @property
    def up(self):
        """The processes that run; those that are cut off from the others come last."""
        return sorted(super().up, key=self.is_cut_off)

    def is_cut_off(self, gateway):
        return f"{gateway.name}-store" in self.network.cuts or gateway.name in ISLAND and "trunk" in self.network.cuts

    async def safe_stores(self):
        """Returns the names of the replicas that say that a failover of the store loses nothing."""
        answers = await asyncio.gather(*(gateway.ask("GET", "/v1/status") for gateway in self.gateways))
        return "".join(gateway.name for gateway, (_, body) in zip(self.gateways, answers) if json.loads(body)["store"].get("lossless"))

    def own_part(self, gateway):
        listener, admin = (":".join(map(str, place)) for place in (gateway.port, gateway.admin))
        return f"""
listeners: [{{ address: "{listener}" }}]
admin: {{ address: "{admin}", allow_cleartext: true }}
state_dir: {gateway.state}
store:{self.store.configuration(gateway.secret)}
  sealing_key: {{ file: {gateway.secret("sealing.key", self.sealing_key)} }}
replica: {{ name: {gateway.name}, lease: {LEASE}s }}"""

    async def start_gateways(self):
        # All at once: one of them creates what the store needs.
        await asyncio.gather(*(gateway.start() for gateway in self.gateways))

    async def sign_in_at_all(self, whole=True):
        """Imports all accounts, a part of them by each replica, at the same time."""
        count = len(self.gateways)
        await asyncio.gather(*(self.sign_in(self.accounts[place::count], whole, gateway) for place, gateway in enumerate(self.gateways)
                               if self.accounts[place::count]))

    def secrets(self):
        return super().secrets() + [("sealing.key", self.sealing_key), (self.store.password_file, PASSWORD)]

    async def places(self):
        dump = await asyncio.to_thread(self.store.dump)
        return await super().places() + self.store.logs() + [("the database", dump)]

    def tails(self, lines=15):
        return super().tails(lines) + self.store.tails(lines)
