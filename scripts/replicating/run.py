"""A running case and the clusters that it starts."""

from faulting.provider import Provider
from faulting.run import Run as FaultingRun, Starting
from replicating.cluster import Replicas
from replicating.postgres import Postgres


class Run(FaultingRun):
    def __init__(self, options, chance, history, work, network):
        super().__init__(options, chance, history, work)
        self.network = network
        network.history = history
        # The databases' user must be able to enter the directory.
        work.chmod(0o711)

    def with_replicas(self, accounts, count=3, standby=None, access_ttl="20s", grace="0s", timeout="8s", answer_timeout=None, direct=False,
                      clocks=None):
        """A context with replicas and their databases. `standby` is that of Postgres, and `clocks` that of Replicas."""
        settings = dict(accounts=accounts, count=count, timeout=timeout, answer_timeout=answer_timeout, direct=direct, clocks=clocks)
        return StartingReplicas(self, settings, access_ttl, grace, standby)


class StartingReplicas(Starting):
    def __init__(self, run, settings, access_ttl, grace, standby):
        super().__init__(run, settings, access_ttl, grace)
        self.standby, self.postgres = standby, None

    async def start(self, work):
        run = self.run
        work.chmod(0o711)
        run.network.mend()
        self.postgres = Postgres(work, run.network, run.history, self.standby)
        await self.postgres.start()
        # On all addresses of the script's own namespace: the replicas use one, the script another.
        self.provider = Provider(run.options.mock, work, run.history, self.access_ttl, self.grace, "0.0.0.0")
        await self.provider.start()
        self.cluster = Replicas(run, work, self.provider, self.postgres, **self.settings)
        await self.cluster.start()

    async def end(self):
        self.run.network.mend()
        try:
            await super().end()
        finally:
            if self.postgres:
                self.postgres.stop()
