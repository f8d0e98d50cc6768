"""Measures how many refreshes per second one process commits to SQLite, compared with the disk's syncs per second."""

import asyncio
import os
import time

from faulting.cluster import REFRESHED
from faulting.load import Load
from faulting.verdicts import counted, once_each
from harness.checks import Check, equals

ACCOUNTS, SYNC_SECONDS, ENOUGH = 2000, 2, 200


async def run(run):
    # Token requests go directly to the mock, because the recorder would be the bottleneck.
    async with run.with_cluster(ACCOUNTS, count=1, access_ttl="600s", direct=True) as cluster:
        await cluster.sign_in(whole=False)
        before = await asyncio.to_thread(syncs, cluster.state)
        servers = [cluster.gateways[0].process, cluster.provider.process]
        used = [server.cpu() for server in servers]
        begun = time.monotonic()
        load = Load(cluster, 5000, workers=64).begin()
        while len(load.served) < ACCOUNTS and time.monotonic() < begun + 60:
            await asyncio.sleep(0.02)
        took = time.monotonic() - begun
        await load.end()
        used = [(server.cpu() - before) / max(1, len(load.served)) * 1000 for server, before in zip(servers, used)]
        after = await asyncio.to_thread(syncs, cluster.state)
        growing = await asyncio.to_thread(syncs, cluster.state, True)
        commits = [line["at"] for line in cluster.log_lines(REFRESHED)]
        pauses = sorted(((later - earlier, earlier) for earlier, later in zip(commits, commits[1:])), reverse=True)[:5]
        for pause, at in pauses:
            cluster.history.note(f"no commit for {pause:.3f} s after {at - cluster.history.began:.3f} s")
        raw, rate = min(before, after), len(load.served) / took
        bound = min(ENOUGH, raw / 3)
        run.checks += [counted("fdatasync per second, 4 KiB each", f"{before:.0f} before, {after:.0f} after; {growing:.0f} into a growing file"),
                       Check("refreshes per second", f"{rate:.0f} ({rate / raw:.2f} of it)", f"at least {bound:.0f}", rate >= bound),
                       counted("processor time per refresh of martlet and martlet-mock, ms", ", ".join(f"{one:.1f}" for one in used)),
                       counted("slowest answer, longest time without a commit, s", f"{load.slowest:.2f}, {pauses[0][0]:.2f}"),
                       equals("accounts refreshed", len(load.served), ACCOUNTS),
                       equals("requests that failed", load.failed_of(), 0), *await once_each(cluster)]


def syncs(directory, grows=False):
    """Returns how often per second 4 KiB can be written and synced in this directory. A growing file, such as a log that is
    emptied from time to time, costs the file system more."""
    path, size, count = directory / "sync-rate", 0 if grows else 4 << 20, 0
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, b"\1" * size)
        os.fsync(descriptor)
        begun = time.monotonic()
        while time.monotonic() < begun + SYNC_SECONDS:
            os.pwrite(descriptor, os.urandom(4096), count * 4096 % (size or 1 << 40))
            os.fdatasync(descriptor)
            count += 1
        return count / (time.monotonic() - begun)
    finally:
        os.close(descriptor)
        path.unlink()
