"""An earlier copy of the store is put back repeatedly under two running processes with traffic. The processes write their newer
records again, and no refresh token of the copy is spent."""

import asyncio
import collections
import time

from faulting import store
from faulting.cluster import PUT_BACK
from faulting.load import Load
from faulting.verdicts import counted, nothing_lost
from harness.checks import Check, at_most

ACCOUNTS, RATE, LIFE, TIMEOUT = 20, 100, 10, 8
TIMES, CALM, SLOW, LATE = 20, 15, 1, (3.2, 4.5)
# The bound of failed requests, as a fraction; and the processor time permitted beyond twice that of the calm phase, in
# processors.
FAILED, MORE = 0.01, 0.25


async def run(run):
    async with run.with_cluster(ACCOUNTS, count=2, access_ttl=f"{LIFE}s", timeout=f"{TIMEOUT}s") as cluster:
        # The delay ensures that some token requests are in progress whenever a copy is put back. After that, processes write no
        # claim for a while; some token requests take longer than that.
        cluster.provider.recorder.lateness = lambda use: run.random.uniform(*(LATE if run.random.random() < 0.2 else (0, SLOW)))
        await cluster.sign_in()
        load = Load(cluster, RATE).begin()
        await asyncio.sleep(LIFE)
        calm = Meter(cluster)
        await asyncio.sleep(CALM)
        calm.stop()
        meter, copies = Meter(cluster), []
        for number in range(int(run.scaled(TIMES, 4))):
            copies.append(cluster.work / f"copy.{number}.db")
            await asyncio.to_thread(store.copy, cluster.state, copies[-1])
            # Tokens are refreshed after half of their life.
            await asyncio.sleep(run.random.uniform(LIFE / 2, LIFE))
            place = run.random.choice(copies)
            began = time.monotonic()
            await asyncio.to_thread(store.put_back, place, cluster.state)
            cluster.history.note(f"{place.name} was put back, within {time.monotonic() - began:.3f} s")
        await asyncio.sleep(LIFE)
        meter.stop()
        await load.end()
        total = sum(load.outcomes.values())
        repairs = len(cluster.log_lines(PUT_BACK))
        run.checks += [counted("copies put back", len(copies)), Check("records that were written again", str(repairs), "some", repairs > 0),
                       counted("requests", load.summary),
                       Check("requests that failed", f"{load.failed_of()} of {total}", f"at most {FAILED:.0%}", load.failed_of() <= FAILED * total),
                       at_most("the slowest answer", load.longest, TIMEOUT + 1, "s"),
                       at_most("token requests of the account that made most", meter.most_uses, 2 * meter.seconds / (LIFE / 2), ""),
                       counted("token requests of the account that made most, before, in as much time", f"{calm.most_uses * meter.seconds / calm.seconds:.1f}"),
                       at_most("processors that the gateways took", meter.processors, 2 * calm.processors + MORE, ""),
                       counted("processors that they took before", f"{calm.processors:.2f}"),
                       *await nothing_lost(cluster)]


class Meter:
    """Measures the processor time of the gateways and the token requests of the accounts, from now until `stop`."""

    def __init__(self, cluster):
        self.cluster, self.begun, self.used = cluster, time.monotonic(), self.cpu(cluster)

    def cpu(self, cluster):
        return sum(gateway.process.cpu() for gateway in cluster.gateways)

    def stop(self):
        until = time.monotonic()
        self.seconds = until - self.begun
        self.processors = (self.cpu(self.cluster) - self.used) / self.seconds
        uses = collections.Counter(use.account for use in self.cluster.provider.recorder.uses if self.begun <= use.at <= until)
        self.most_uses = max(uses.values(), default=0)
