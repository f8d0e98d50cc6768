"""The primary and one replica are cut off from the synchronous standby and the other replicas, and the standby is promoted."""

import asyncio
import time

from faulting.load import Load, unserved
from faulting.verdicts import Commits, counted, forgotten, note_uses, once_each, spent_twice
from harness.checks import at_most, equals
from replicating.cluster import LAPSE, LEASE, POLL
from replicating.kills import kill, late_heads, sign_in_again
from replicating.servers import SYNCHRONOUS
from replicating.waiting import codes, end, failures, serves_living, until

ACCOUNTS, RATE, LIFE = 100, 40, 20
# How long the provider's answers take, in seconds, so that token requests are under way at the cut.
SLOWNESS, SLOW, OPEN = (0.05, 1.5), 1, 3
# Seconds until somebody notices that the primary is gone and promotes the standby.
NOTICE = 3
# Seconds for a request that was let in just before the lease ended; for replicas to find the new primary; and to join again.
LATE, FOUND, AGAIN = 0.5, 10, 20
# Within this many seconds a replica notices that a primary has another standby, or none.
LOOK = 8
# How long the island is cut off, in seconds; and the listening time of token requests, with which a claim stands for less, or for
# more (None is the default of 60 s).
LASTS, PARTS = 35, (("claims outlast the cut: ", None), ("claims lapse meanwhile: ", 5))
STANDS = 4


async def run(run):
    for name, listening in PARTS:
        await part(run, name, listening)


async def part(run, name, listening):
    async with run.with_replicas(ACCOUNTS, standby=SYNCHRONOUS, access_ttl=f"{LIFE}s",
                                 timeout=f"{min(listening or 8, 8)}s", answer_timeout=f"{listening}s" if listening else None) as cluster:
        network, recorder, (a, b, c) = cluster.network, cluster.provider.recorder, cluster.gateways
        recorder.lateness = lambda use: run.random.uniform(*SLOWNESS)
        await cluster.sign_in_at_all()
        # The first account is killed meanwhile. Its callers must not hold up the others.
        killed, others = cluster.accounts[0], cluster.accounts[1:]
        island, mainland = Load(cluster, RATE, others, [a]), Load(cluster, 2 * RATE, others, [b, c])
        of_killed = Load(cluster, 30, [killed], workers=4)
        loads = [load.begin() for load in (island, mainland, of_killed)]
        await asyncio.sleep(LIFE)
        calm, safe = [one for load in loads for one in load.failures], await cluster.safe_stores()
        # Some token requests of a are under way, and are answered after the cut.
        recorder.lateness = lambda use: run.random.uniform(SLOW if use.process == "a" else SLOWNESS[0], SLOWNESS[1])
        await until(lambda: sum(use.process == "a" and not use.ended and use.at > time.monotonic() - SLOW for use in recorder.uses) >= OPEN, LIFE, 0.01)
        network.cut_trunk()
        cut = time.monotonic()
        await cluster.store.fail_over(NOTICE)
        promoted = time.monotonic()
        found, _ = await until(lambda: all(max(Commits(cluster).of(gateway.name), default=0) > promoted for gateway in (b, c)), FOUND + 5, 0.25)
        death = await kill(b, killed, LAPSE + POLL + 10)
        late = await late_heads(cluster, death)
        await asyncio.sleep(max(0, cut + LASTS - time.monotonic()))
        last = max(island.served.values()) - cut
        refused = codes(failures(island, cut + LEASE + LATE))
        sent = [use for use in recorder.uses if use.process == "a" and use.at > cut + 2]
        # Token requests that a sent and could not commit.
        commits = Commits(cluster)
        opened = {use.account for use in recorder.uses if use.process == "a" and use.at > cut - 15 and not commits.after(use, time.monotonic())}
        stuck = [one for one in failures(mainland, promoted + FOUND) if one[1] not in opened]
        await cluster.store.retire()
        network.mend()
        mended = time.monotonic()
        joined = await serves_living(cluster, island, others, mended, AGAIN + 10)
        await end(*loads)
        await sign_in_again(b, killed)
        await asyncio.sleep(max(0, mended + LOOK - time.monotonic()))
        safe_then, dead = await cluster.safe_stores(), await cluster.dead()
        living = [account for account in cluster.accounts if account not in dead]
        left = await unserved(cluster, living, 20)
        claim = (listening or 60) + STANDS
        lost = explained(cluster, dead, cut, claim)
        run.checks += [
            equals(name + "requests that failed before the cut", len(calm), 0),
            equals(name + "replicas that say that a failover loses nothing, before it and in the end", [safe, safe_then], ["abc" if cluster.store.loses_nothing else "", ""]),
            counted(name + "the promotion after the cut, s", f"{promoted - cut:.1f}"),
            counted(name + "requests to the isolated replica", island.summary), counted(name + "requests to the others", mainland.summary),
            at_most(name + "the isolated replica: its last 200 after the cut", last, LEASE + LATE, "s"),
            equals(name + "the isolated replica: its error codes once its lease has ended", refused, ["503 store_lost"]),
            equals(name + "the isolated replica: its token requests later than 2 s after the cut", len(sent), 0),
            at_most(name + "the others: both commit refreshes after the promotion within", found, FOUND, "s"),
            equals(name + f"the others: failures later than {FOUND} s after it, of accounts without an open token request", len(stuck), 0),
            at_most(name + "a kill meanwhile is complete after", death.seconds, LAPSE + POLL, "s"),
            equals(name + "heads with a dead token read more than 100 ms after that", len(late), 0),
            at_most(name + "the isolated replica: after the cut, it serves all living accounts within", joined, AGAIN, "s"),
            counted(name + "accounts whose token requests were open there at the cut", len(opened)),
            counted(name + f"grants lost with these, because their claims of {claim} s had lapsed", len(lost)),
            equals(name + "grants lost otherwise", sorted(dead - lost), []),
            equals(name + "commits of other accounts that are lost", await forgotten(cluster, sorted(set(others) - dead)), []),
            equals(name + "living accounts that a replica does not serve in the end", sorted({account for _, account in left}), [])]
        if not listening:
            run.checks += [equals(name + "grants lost", len(dead), 0), *await once_each(cluster, name)]


def explained(cluster, dead, cut, claim):
    """Returns the dead accounts whose refresh token the isolated replica had spent before the cut without a commit, and another
    replica sent again after its claim had lapsed."""
    found, commits = set(), Commits(cluster)
    for uses in spent_twice(cluster).values():
        first, second = uses[:2]
        is_explained = (first.process == "a" != second.process and first.at < cut + 2 and second.at - first.at >= claim - 1
                        and not commits.after(first, cut))
        if is_explained:
            found.add(first.account)
        note_uses(cluster, uses, "again, as its claim had lapsed" if is_explained else "again, and nothing says why")
    return found & dead
