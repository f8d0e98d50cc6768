"""A running case and the clusters that it starts."""

import asyncio
import json
import pathlib
import tempfile

from faulting.canary import scan
from faulting.cluster import Cluster
from faulting.history import say
from faulting.provider import Provider
from harness.checks import Check, equals
from harness.processes import Failed


class Run:
    """One case with its random generator, its history and its clusters. It may have several clusters at a time."""

    def __init__(self, options, chance, history, work):
        self.options, self.random, self.history, self.work = options, chance, history, work
        self.checks, self.evidence = [], ""

    def scaled(self, seconds, least=1):
        """Scales a time or a count of the full run (`--minutes 5`) down to this run, but not below `least`."""
        return max(least, seconds * min(1, self.options.minutes / 5))

    def with_cluster(self, accounts, count=4, access_ttl="3s", grace="0s", timeout="2s", answer_timeout=None, direct=False, sockets=None,
                     by_header=False, minting=0):
        settings = dict(accounts=accounts, count=count, timeout=timeout, answer_timeout=answer_timeout, direct=direct, sockets=sockets,
                        by_header=by_header, minting=minting)
        return Starting(self, settings, access_ttl, grace)

    async def side_by_side(self, parts):
        """Runs parts of a case concurrently. Each part has its own processes, store and provider."""
        try:
            async with asyncio.TaskGroup() as group:
                for part in parts:
                    group.create_task(part)
        except ExceptionGroup as failures:
            # The first failure has cancelled the other parts.
            raise failures.exceptions[0] from None


class Starting:
    """A context manager that starts a cluster. At its end it searches the cluster for leaked tokens and stops it."""

    def __init__(self, run, settings, access_ttl, grace):
        self.run, self.settings, self.access_ttl, self.grace = run, settings, access_ttl, grace
        self.cluster, self.provider = None, None

    async def __aenter__(self):
        run = self.run
        work = pathlib.Path(tempfile.mkdtemp(dir=run.work))
        run.history.note(f"a provider with access tokens for {self.access_ttl} and a grace of {self.grace}")
        try:
            await self.start(work)
        except BaseException as error:
            try:
                if self.cluster and isinstance(error, Exception):
                    await self.keep_evidence()
            finally:
                await self.end()
            raise
        return self.cluster

    async def start(self, work):
        self.provider = Provider(self.run.options.mock, work, self.run.history, self.access_ttl, self.grace)
        await self.provider.start()
        self.cluster = Cluster(self.run, work, self.provider, **self.settings)
        await self.cluster.start()

    async def __aexit__(self, kind, error, trace):
        try:
            if kind is None:
                await self.judge()
            # This check comes last, because the search sends requests too. It also runs after a failure, which it may explain.
            self.run.checks.append(equals("processes that ended by themselves", self.cluster.ended(), []))
            if kind or any(check.holds is False for check in self.run.checks):
                await self.keep_evidence()
        finally:
            await self.end()

    async def judge(self):
        cluster = self.cluster
        fatal = [line for gateway in cluster.gateways for line in gateway.fatal_lines()]
        self.run.checks.append(equals("traps", len(fatal), 0))
        found, tokens, looked = await scan(cluster)
        say(f"canary: {tokens} tokens in {looked}")
        if found:
            self.run.history.note(f"tokens were found: {'; '.join(found[:20])}")
        # A search for no tokens at all would prove nothing.
        self.run.checks += [Check("tokens looked for", f"{tokens} in {looked}", "some", tokens > 0),
                            equals("tokens where none belong", len(found), 0)]

    async def keep_evidence(self):
        stats = "it does not answer"
        try:
            stats = await asyncio.wait_for(self.provider.stats(), 5)
            # Of the long lists, only the unusual entries are kept.
            stats["refresh_token_uses"] = {name: uses for name, uses in stats["refresh_token_uses"].items() if max(uses, default=0) > 1}
            stats["live"] = {name: live for name, live in stats["live"].items() if live["refresh"] != 1}
            del stats["api_last_use"]
            stats = json.dumps(stats)
        except (OSError, EOFError, asyncio.TimeoutError, Failed):
            pass
        self.run.evidence += f"--- the mock's stats\n{stats[:6000]}\n{self.cluster.tails() if self.cluster else ''}"

    async def end(self):
        if self.cluster:
            self.cluster.stop()
        if self.provider:
            await self.provider.stop()
        self.cluster = self.provider = None
