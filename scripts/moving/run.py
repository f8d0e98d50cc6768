"""A running case and the clusters that it starts."""

from faulting.provider import Provider
from faulting.run import Run as FaultingRun, Starting
from moving.cluster import Movers
from moving.databases import POSTGRES, REDIS, Databases
from replicating.network import REPLICAS
from replicating.servers import tell


class Run(FaultingRun):
    def __init__(self, options, chance, history, work, network):
        super().__init__(options, chance, history, work)
        self.network = network
        network.history = history
        # The databases' users must be able to enter the directory.
        work.chmod(0o711)

    @property
    def is_quick(self):
        return self.options.minutes < 1

    def with_movers(self, accounts, access_ttl="20s", grace="0s", direct=False, wanted=(POSTGRES, REDIS), layout=None):
        """A context with two gateways and the servers that `wanted` names. `layout` gets the cluster and returns what its store is at
        first; without it, that is SQLite."""
        return StartingMovers(self, dict(accounts=accounts, direct=direct), access_ttl, grace, wanted, layout)


class StartingMovers(Starting):
    def __init__(self, run, settings, access_ttl, grace, wanted, layout):
        super().__init__(run, settings, access_ttl, grace)
        self.wanted, self.layout, self.databases = wanted, layout, None

    async def start(self, work):
        run = self.run
        work.chmod(0o711)
        self.databases = Databases(work, run.network, run.history, self.wanted)
        await self.databases.start()
        # On all addresses of the script's own namespace: the gateways use one, the script another.
        self.provider = Provider(run.options.mock, work, run.history, self.access_ttl, self.grace, "0.0.0.0")
        await self.provider.start()
        self.cluster = Movers(run, work, self.provider, self.databases, **self.settings)
        if self.layout:
            self.cluster.layout = self.layout(self.cluster)
        await self.cluster.start()

    async def end(self):
        try:
            await super().end()
        finally:
            if self.databases:
                self.databases.stop()


def let_listeners_migrate(network):
    """When a listener closes, the kernel hands its waiting connections to another listener of the same port only with this option."""
    for host in REPLICAS:
        tell(network.on(host, ["sh", "-c", "echo 1 > /proc/sys/net/ipv4/tcp_migrate_req"]), "net.ipv4.tcp_migrate_req")
