"""A martlet-mock that rotates refresh tokens and treats a second use as theft. The recorder stands in front of its token
endpoint; requests to its API do not pass through the recorder."""

import json
import re
import subprocess

from faulting.recorder import Recorder
from harness.client import Caller
from harness.processes import Failed, Process


class Provider:
    """One `martlet-mock` with its recorder, both on the address `host`. `access_ttl` and `grace` are options of the mock."""

    def __init__(self, program, work, history, access_ttl="3s", grace="0s", host="127.0.0.1"):
        self.history = history
        self.log = open(work / "mock.log", "w")
        self.process = Process("martlet-mock", [
            program, "--host", host, "--port", "0", "--rotate", "--reuse-detection", "--access-ttl", access_ttl, "--grace", grace,
        ], self.log, stdout=subprocess.PIPE)
        try:
            self.api = int(re.search(r":(\d+)", self.process.first_line())[1])
        except BaseException:
            self.process.end()
            raise
        self.recorder = Recorder(self.api, history, host)

    async def start(self):
        await self.recorder.start()
        return self

    async def grant(self, account):
        """Returns a new token response, as if a person had signed in."""
        answer = await self.control("POST", "grants", {"account": account})
        self.recorder.learn(account, answer)
        return answer

    async def faults(self, *rules):
        self.history.note(f"the provider's faults: {json.dumps(rules)}")
        await self.control("PUT", "faults", rules)

    async def expire(self):
        await self.control("POST", "expire", {})

    async def stats(self):
        return await self.control("GET", "stats")

    async def every_token(self):
        """Returns all tokens that the provider has ever issued, including those whose response was lost."""
        return set((await self.control("GET", "tokens"))["tokens"])

    async def control(self, method, what, body=None):
        caller = Caller(self.api)
        try:
            content = json.dumps(body).encode() if body is not None else b""
            status, _, answer = await caller.fetch(method, f"/_control/{what}", {"Content-Type": "application/json"}, content)
        finally:
            caller.close()
        if status != 200:
            raise Failed(f"martlet-mock returned status {status} to {method} {what}: {answer[:200]}")
        return json.loads(answer)

    async def stop(self):
        await self.recorder.stop()
        self.process.process.kill()
        self.process.process.wait()
        self.log.close()
