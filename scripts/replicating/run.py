"""A running case and the clusters that it starts."""

from faulting.provider import Provider
from faulting.run import Run as FaultingRun, Starting
from replicating.cluster import Replicas


class Run(FaultingRun):
    """`make_store` gets a directory, the network, the history and the store's own settings."""

    def __init__(self, options, chance, history, work, network, make_store):
        super().__init__(options, chance, history, work)
        self.network, self.make_store = network, make_store
        network.history = history
        # The databases' user must be able to enter the directory.
        work.chmod(0o711)

    def with_replicas(self, accounts, count=3, access_ttl="20s", grace="0s", timeout="8s", answer_timeout=None, direct=False, clocks=None,
                      **store):
        """A context with replicas and their databases. `clocks` is that of Replicas, and what is left is for the store."""
        settings = dict(accounts=accounts, count=count, timeout=timeout, answer_timeout=answer_timeout, direct=direct, clocks=clocks)
        return StartingReplicas(self, settings, access_ttl, grace, store)


class StartingReplicas(Starting):
    def __init__(self, run, settings, access_ttl, grace, of_store):
        super().__init__(run, settings, access_ttl, grace)
        self.of_store, self.store = of_store, None

    async def start(self, work):
        run = self.run
        work.chmod(0o711)
        run.network.mend()
        self.store = run.make_store(work, run.network, run.history, **self.of_store)
        await self.store.start()
        # On all addresses of the script's own namespace: the replicas use one, the script another.
        self.provider = Provider(run.options.mock, work, run.history, self.access_ttl, self.grace, "0.0.0.0")
        await self.provider.start()
        self.cluster = Replicas(run, work, self.provider, self.store, **self.settings)
        await self.cluster.start()

    async def end(self):
        self.run.network.mend()
        try:
            await super().end()
        finally:
            if self.store:
                self.store.stop()
