"""Kills an account, and checks that no head with its tokens was sent afterwards."""

import asyncio
import dataclasses
import time

from faulting.case_kills import ON_ITS_WAY, done
from harness.client import BrokenAnswer
from harness.processes import Failed

# The longest time from the end of a replica's lease to the next look of a waiting kill, in seconds.
MARGIN = 10
# After this many seconds the API has read every head that was sent before.
READ = 0.5


@dataclasses.dataclass
class Kill:
    account: str
    # When it was ordered, and when its response or a later report said that it is complete (None if neither did), in Unix time.
    began: float
    complete: float | None
    report: dict

    @property
    def seconds(self):
        return self.complete - self.began if self.complete else 9999


async def kill(gateway, account, limit):
    """Orders a kill and waits until it is complete, at most `limit` seconds."""
    began = time.time()
    scope = {"scope": {"account": account}, "reason": "drill"}
    report = await done(gateway, "POST", "/v1/kill", {**scope, "wait": f"{max(1, min(30, int(limit)))}s"})
    gateway.cluster.history.note(f"{account} is killed at {gateway.boot}: {report['state']} after {time.time() - began:.3f} s")
    while report["state"] != "complete" and time.time() < began + limit:
        await asyncio.sleep(0.1)
        try:
            report = await done(gateway, "GET", f"/v1/kills/{report['id']}", None)
        except (Failed, OSError, asyncio.IncompleteReadError, BrokenAnswer) as error:
            gateway.cluster.history.note(f"the kill's report at {gateway.boot}: {error}")
    complete = time.time() if report["state"] == "complete" else None
    if complete:
        gateway.cluster.history.note(f"the kill of {account} is complete after {complete - began:.3f} s: {replicas(report)}")
    return Kill(account, began, complete, report)


def replicas(report):
    return ", ".join(f"{one['name']} {one['state']}" for one in report["replicas"])


async def late_heads(cluster, kill):
    """Returns how many seconds after the kill's completion the API read heads with tokens of the account, beyond ON_ITS_WAY. Call it
    before the account gets new tokens. The API knows a token as dead only from its revocation on, so every head counts."""
    if not kill.complete:
        return []
    await asyncio.sleep(max(0, kill.complete + ON_ITS_WAY + READ - time.time()))
    stats = await cluster.provider.stats()
    heads = [use["at"] for use in stats["dead_uses"] if use["account"] == kill.account]
    heads.append(stats["api_last_use"].get(kill.account, 0))
    late = sorted({at - kill.complete for at in heads if at > kill.complete + ON_ITS_WAY})
    for seconds in late[:20]:
        cluster.history.find(f"a head with a token of {kill.account} was read {seconds:.3f} s after its kill was complete")
    return late


async def report_of(gateway, death):
    return await done(gateway, "GET", f"/v1/kills/{death.report['id']}", None)


async def sign_in_again(gateway, account):
    await done(gateway, "POST", "/v1/revive", {"scope": {"account": account}, "reason": "over"})
    await gateway.cluster.sign_in([account], by=gateway)
