"""An overloaded provider takes 5 to 15 s for each response. Half of the accounts begin with an access token, half without."""

import asyncio

from faulting.load import Load
from faulting.verdicts import counted, nothing_lost
from harness.checks import Check, at_most, equals

ACCOUNTS, RATE, LIFE, SLOWNESS, TIMEOUT = 200, 120, 120, (5, 15), 8


async def run(run):
    async with run.with_cluster(ACCOUNTS, count=2, access_ttl=f"{LIFE}s", timeout=f"{TIMEOUT}s") as cluster:
        recorder = cluster.provider.recorder
        recorder.lateness = lambda use: run.random.uniform(*SLOWNESS)
        warm, cold = cluster.accounts[::2], cluster.accounts[1::2]
        await cluster.sign_in(warm)
        await cluster.sign_in(cold, whole=False)
        loads = [Load(cluster, RATE, accounts, workers=64).begin() for accounts in (warm, cold)]
        # Not before the first tokens have ended.
        await asyncio.sleep(run.scaled(300, LIFE + SLOWNESS[1]))
        for load in loads:
            load.ending.set()
        await asyncio.gather(*(load.end() for load in loads))
        for name, load in zip(("with tokens", "without a token at first"), loads):
            served, total = load.outcomes[200], sum(load.outcomes.values())
            # Requests of an account without a token are refused until its first token response, 15 s at most. An existing token is
            # refreshed before it expires.
            bound = 0.999 if load is loads[0] else 0.9
            run.checks += [counted(f"{name}: requests", load.summary),
                           Check(f"{name}: served", f"{served / max(1, total):.2%}", f"at least {bound:.1%}", served >= bound * total),
                           at_most(f"{name}: the slowest answer", load.longest, TIMEOUT + 1, "s"),
                           equals(f"{name}: otherwise refused than for a while",
                                  sorted({what for *_, what in load.failures} - {"503 refresh_failed"}), []),
                           equals(f"{name}: accounts never served", len(load.accounts) - len(load.served), 0)]
        run.checks += [equals("token requests that were given up", sum(use.is_given_up for use in recorder.uses), 0),
                       *await nothing_lost(cluster)]
