"""Moves between two stores, and checks of what has become of the records."""

import asyncio
import dataclasses
import time

from faulting.case_many import ask_all
from faulting.history import say
from faulting.verdicts import counted
from harness.checks import Check, at_most, equals
from harness.processes import Failed
from moving.cluster import BEGUN, DONE, GONE_OVER, UNCLEAN
from moving.databases import POSTGRES, TITLES, left_behind
from moving.traffic import KILLED, pressed
from replicating.kills import kill, late_heads
from replicating.waiting import until

# How long a move of all records may take, in seconds, and how long a request may wait while the gateways go over.
MOVE_SECONDS, WAIT_SECONDS = 300, 5
# A kill is ordered at most this long after the second gateway has the new store, in seconds, and may take this long. It waits
# until both gateways have gone over, if they are about to.
KILL_DELAY, KILL_SECONDS = 1, 30
# In microseconds.
COMMIT_DELAY = 50_000


@dataclasses.dataclass
class Move:
    """One move and when its steps came, on the monotonic clock."""

    name: str
    # The first takeover begins, and both gateways have both stores.
    began: float
    ready: float | None = None
    begun: float | None = None
    over: float | None = None
    done: float | None = None

    def note_log(self, cluster):
        """Takes the moments from the log."""
        def moments(message):
            return [line["at"] for line in cluster.log_lines(message) if line["at"] >= self.began]

        self.begun = min(moments(BEGUN), default=None)
        self.over = max(moments(GONE_OVER), default=None)
        self.done = max(moments(DONE), default=None)


def name_of(source, target):
    return f"{TITLES[source]} to {TITLES[target]}: "


async def ended(cluster, limit=MOVE_SECONDS):
    """Waits until both gateways say that the move is done."""
    deadline, said = time.monotonic() + limit, None
    while time.monotonic() < deadline:
        said = [await gateway.move() for gateway in cluster.gateways]
        # A gateway that starts after the end of the move knows of none.
        if all(one is None or one[0] == "done" for one in said):
            return said
        await asyncio.sleep(0.1)
    raise Failed(f"the move is not done within {limit} s: {said}")


async def move(cluster, source, target, traffic, victim):
    """Moves under load, with a kill of the account `victim` meanwhile. Returns the checks."""
    name, checks = name_of(source, target), []
    this = Move(name, time.monotonic())
    async with pressed(cluster, victim) as seen:
        await cluster.take_over(cluster.migrating(target, source))
        this.ready = time.monotonic()
        await asyncio.sleep(cluster.run.random.uniform(0, KILL_DELAY))
        death = await kill(cluster.gateways[cluster.run.random.randrange(2)], victim, KILL_SECONDS)
        late = await late_heads(cluster, death)
        said = await ended(cluster)
    this.note_log(cluster)
    checks += [counted(name + "records moved by each gateway", " and ".join(str(one and one[1]) for one in said)), *times(this, traffic)]
    checks += [at_most(name + "a kill meanwhile is complete after", death.seconds, KILL_SECONDS, "s"), *held(name, death, seen),
               equals(name + "heads with a dead token read more than 100 ms after that", len(late), 0)]
    checks += await moved(cluster, name, source, target)
    await cluster.take_over(cluster.alone(target))
    say(f"{name}ended after {time.monotonic() - this.began:.0f} s")
    return checks


def times(this, traffic):
    if None in (this.begun, this.over, this.done):
        return [Check(this.name + "log entries of the move", f"begun {this.begun}, over {this.over}, done {this.done}", "all", False)]
    around = traffic.waits(this.begun - 0.5, this.over + 0.5)
    rest = traffic.waits(this.began, this.done)
    return [counted(this.name + "the gateways begin to go over, after the last of them has ended, s", f"{this.begun - this.ready:.2f}"),
            counted(this.name + "both have gone over after, s", f"{this.over - this.begun:.3f}"),
            counted(this.name + "and all records have moved after, s", f"{this.done - this.over:.1f}"),
            counted(this.name + "p99 of responses, around that moment and over the whole move, s", f"{around[0]:.3f}, {rest[0]:.3f}"),
            at_most(this.name + "the longest response around that moment", around[1], WAIT_SECONDS, "s"),
            counted(this.name + "the longest response over the whole move, s", f"{rest[1]:.3f}")]


def held(name, death, seen):
    """Checks what requests for a killed account got: a 200 only before the kill was complete, and nothing but 200 and `killed`."""
    after = [one for one in seen if death.complete and one[0] > death.complete]
    others = sorted({str(status) for _, _, status in seen if status not in (200, KILLED)})
    return [equals(name + "requests for the killed account that got something else after it", [one[1:] for one in after if one[2] != KILLED][:5], []),
            Check(name + "requests for it that got `killed`", str(len(after)), "some", bool(after)),
            equals(name + "responses for it besides 200 and `killed`", others, [])]


async def moved(cluster, name, source, target):
    """Checks both stores after a move: all records open in the target, and none is left in the source."""
    report = await cluster.verified(cluster.alone(target))
    left = left_behind(await asyncio.to_thread(cluster.databases[source].records))
    accounts = await asyncio.to_thread(cluster.databases[target].accounts)
    return [equals(name + "accounts in the new store", accounts, len(cluster.accounts)),
            equals(name + "records in the new store that open", report["opened"], report["records"]),
            equals(name + "accounts left in the old store", await asyncio.to_thread(cluster.databases[source].accounts), 0),
            equals(name + "records left in the old store", left[:10], [])]


async def all_served(cluster, name="", but=()):
    """Checks that both gateways serve each account, except for those that were killed."""
    living = [account for account in cluster.accounts if account not in but]
    outcomes = await ask_all([(gateway, living) for gateway in cluster.gateways])
    checks = [equals(name + "responses for all accounts in the end", dict(outcomes), {"200": 2 * len(living)}),
              equals(name + "accounts declared dead", len(await cluster.dead()), 0)]
    if but:
        outcomes = await ask_all([(gateway, list(but)) for gateway in cluster.gateways])
        checks.append(equals(name + "responses for the accounts that were killed", dict(outcomes), {"503 killed": 2 * len(but)}))
    return checks


async def spent_once(cluster, name=""):
    """Checks by the provider's statistics that no refresh token was used twice."""
    stats = await cluster.provider.stats()
    most = max((count for counts in stats["refresh_token_uses"].values() for count in counts), default=0)
    return [counted(name + "refreshes", stats["token_requests"]["ok"]), equals(name + "most uses of a refresh token", most, 1),
            equals(name + "reuse detections", stats["reuse_detections"], 0)]


async def settled(cluster):
    """Waits until the imports are committed and each gateway sees all accounts."""
    async def is_valid():
        states = (await cluster.states()).values()
        return all(one["state"] == "valid" for one in states)

    _, holds = await until_so(is_valid, 60)
    if not holds:
        raise Failed("not all accounts are valid a minute after their import")


async def until_so(condition, limit, pause=0.2):
    """Like `until`, for a condition that is awaited."""
    begun = time.monotonic()
    while not (holds := await condition()) and time.monotonic() < begun + limit:
        await asyncio.sleep(pause)
    return time.monotonic() - begun, holds


async def part_moved(cluster, source, least, most, limit=60):
    """Waits until this part of the accounts has left a store (fractions). Returns the part."""
    total, part = len(cluster.accounts), 0

    def look():
        nonlocal part
        part = 1 - cluster.databases[source].accounts() / total
        return part >= least

    _, holds = await until(look, limit, 0.01)
    if not holds or part > most:
        raise Failed(f"{part:.0%} of the accounts had moved when a part between {least:.0%} and {most:.0%} was waited for")
    return part


async def slow_down(cluster):
    """Lets each commit of PostgreSQL take longer from now on, so that a move to it takes some seconds."""
    server = cluster.databases[POSTGRES].server
    for statement in (f"alter system set commit_delay = {COMMIT_DELAY}", "alter system set commit_siblings = 0", "select pg_reload_conf()"):
        await server.ask(statement)


def leavings(cluster):
    """Checks the ends of all processes that another one took over from."""
    all_of_them = [one for gateway in cluster.gateways for one in gateway.leavings]
    return [counted("takeovers", len(all_of_them)), equals("return codes of the older processes", sorted({code for _, code, _ in all_of_them}), [0]),
            counted("the slowest end of one, s", f"{max((seconds for *_, seconds in all_of_them), default=0):.1f}"),
            equals("processes that did not stop in order, by the log", sum(line["boots.count"] for line in cluster.log_lines(UNCLEAN)), 0)]
