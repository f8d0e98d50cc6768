"""A process dies, or is stopped, at each step of a refresh in turn (MARTLET_FAILPOINTS of a debug build). Outside the window
from the exchange to the commit, no token is lost and no refresh token is sent twice."""

import asyncio
import collections
import mmap
import pathlib
import time

from faulting.history import say
from faulting.load import Load, unserved
from faulting.recorder import BROKEN, LOST
from faulting.verdicts import counted, deaths, events, spent_twice
from harness.checks import Skipped, equals
from harness.processes import Failed

# The provider has spent the refresh token, and only this process knows the response.
WINDOW = ["after_exchange", "before_commit"]
STEPS = ["before_read", "after_read", "before_claim", "after_claim", "before_exchange", "sending", *WINDOW, "after_commit"]
# Steps that are reached only after a failure of the provider, and the failures that the account's first token requests meet.
TROUBLED = {"before_renewal": [LOST], "after_renewal": [LOST], "before_write_back": [BROKEN, BROKEN], "after_write_back": [BROKEN, BROKEN]}
# SIGSTOP for less time than a claim stands, and for more. A claim stands for the gateway's wait for a response (here 2 s) plus
# 4 s.
HOLDS, LISTENING, CLAIM, RECOVERY = (3, 13, 30), 2, 6, 20


async def run(run):
    require_failpoints(run.options.program)
    holds = [one for one in HOLDS if one <= max(HOLDS[0], run.options.minutes * 6)]
    parts = [(0, STEPS), (60, STEPS), (60, TROUBLED)]
    plans = [(grace, plan(run.random, steps, holds)) for grace, steps in parts]
    await run.side_by_side(part(run, grace, tries) for grace, tries in plans)


def require_failpoints(program):
    with open(program, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as image:
        if image.find(b"MARTLET_FAILPOINTS") < 0:
            raise Skipped(f"{program} has no failpoints, which only a debug build has: swift build --product martlet, then --program .build/debug/martlet")


def plan(chance, steps, holds):
    """Returns the tries in random order: a step, what happens at it, and the index of the process (of the first three of four)."""
    tries = [(step, action, chance.randrange(3)) for action in ("kill", *holds) for step in steps]
    chance.shuffle(tries)
    return tries


async def part(run, grace, tries):
    async with run.with_cluster(len(tries), access_ttl="60s", grace=f"{grace}s", answer_timeout=f"{LISTENING}s") as cluster:
        wrong = {"was not served": [], "was not served by each process": [], "was spent too often": [], "died": [],
                 "has not one event": [], "left a caller waiting": [], "was not reached": []}
        for account, (step, action, victim) in zip(cluster.accounts, tries):
            for what in await attempt(cluster, account, cluster.gateways[victim], step, action, grace):
                wrong[what].append(f"{step}={action}")
        name = f"grace {grace} s{', the provider in trouble' if tries[0][0] in TROUBLED else ''}: "
        say(f"steps: {name}{len(tries)} tries")
        run.checks.append(counted(name + "tries", tally(tries)))
        run.checks.append(counted(name + "refresh tokens spent again, accounts dead", f"{len(spent_twice(cluster))}, {len(await cluster.dead())}"))
        run.checks += [equals(name + f"whose account {what}", sorted(found), []) for what, found in wrong.items()]


def tally(tries):
    """Returns a text: how many processes were killed or stopped, for how long, and at how many steps."""
    counts = collections.Counter("killed" if action == "kill" else f"stopped for {action} s" for _, action, _ in tries)
    return ", ".join(f"{count} {what}" for what, count in counts.items()) + f"; {len({step for step, _, _ in tries})} steps"


async def attempt(cluster, account, first, step, action, grace):
    """Lets the process `first` meet `action` at `step` of a refresh. Returns what was then wrong with the account."""
    other = cluster.gateways[-1]
    first.kill()
    await first.start({"MARTLET_FAILPOINTS": f"{step}={'kill' if action == 'kill' else 'stop'}@1"})
    await cluster.sign_in([account], whole=False, by=other)
    if step in TROUBLED:
        # Only this account, because other accounts are still refreshed in the background.
        cluster.provider.recorder.strike(account, *TROUBLED[step])
    calls = asyncio.create_task(first_call(first, account))
    try:
        await reached(first, action)
    except Failed:
        cluster.history.note(f"{account}: {step} was not reached")
        calls.cancel()
        return ["was not reached"]
    cluster.history.note(f"{account}: {first.boot} had {step}={action}")
    load = Load(cluster, 20, [account], [other], workers=2).begin()
    if action == "kill":
        await calls
        has_waited = False
        await first.start()
    else:
        try:
            await asyncio.sleep(action)
        finally:
            first.go_on()
        has_waited = await calls
    begun, dead = time.monotonic(), False
    while not dead and load.served.get(account, 0) < begun and time.monotonic() < begun + RECOVERY:
        await asyncio.sleep(0.1)
        dead = load.failed_of("reauthorization_required") > 0
    # A late success can arrive after the account was declared dead.
    await asyncio.sleep(0.5)
    await load.end()
    found = ["left a caller waiting"] if has_waited else []
    is_served = load.served.get(account, 0) >= begun
    if is_served and not dead and (left := await unserved(cluster, [account], RECOVERY)):
        cluster.history.note(f"{account} is not served by {', '.join(name for name, _ in left)}")
        found.append("was not served by each process")
    return judge(cluster, account, step, action, grace, dead, is_served, found)


async def first_call(gateway, account):
    """Sends the request that begins the refresh. Returns whether the caller timed out although the process was no longer
    disturbed."""
    call = Load(gateway.cluster, 1, [account], [gateway])
    await call.request_once(gateway, account)
    return call.failed_of("TimeoutError") > 0


async def reached(gateway, action):
    """Waits until the process has killed or stopped itself."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        if not gateway.process.is_alive:
            if action == "kill" and gateway.has_killed_itself():
                return
            break
        if action != "kill" and pathlib.Path(f"/proc/{gateway.process.process.pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "T":
            gateway.is_stopped()
            return
        await asyncio.sleep(0.01)
    raise Failed("not reached")


def judge(cluster, account, step, action, grace, dead, is_served, found):
    """Returns all that was wrong, including what was `found` before."""
    uses = [use for use in cluster.provider.recorder.uses if use.account == account]
    most = max((sum(other.token == use.token for other in uses) for use in uses), default=0)
    # If a process ends within the window, or is stopped there for longer than its claim stands, its token response is lost.
    may_repeat = step in TROUBLED or step in WINDOW and (action == "kill" or action > CLAIM)
    # The process that takes the refresh over may send the token once more. After a failure of the provider, the first process may
    # also have retried at once.
    bound = 3 if step in TROUBLED else 2 if may_repeat else 1
    if dead and (grace or not may_repeat):
        found.append("died")
    if not dead and not is_served:
        found.append("was not served")
    if most > bound:
        found.append("was spent too often")
    # A late success that comes last may revive the account without a further event.
    if (events(cluster)[account] > 0) != dead or account in deaths(cluster)[1]:
        found.append("has not one event")
    if found:
        words = ", ".join(f"{use.boot} spent {use.token} at {use.at - cluster.history.began:.3f} s ({use.status})" for use in uses)
        cluster.history.note(f"{account}: {step}={action}: {', '.join(found)}: {words}")
    return found
