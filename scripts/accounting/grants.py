"""The grants of all accounts, kept in a file, and the lines of imports that are made of them."""

import asyncio
import json
import os

from accounting.recorder import digest
from accounting.site import member
from harness.client import Caller
from harness.processes import Failed

CONNECTIONS = 16


class Grants:
    """Signs `count` accounts in at the provider."""

    def __init__(self, site, provider, count=None):
        self.site, self.count, self.path = site, count or site.accounts, site.home / "grants.jsonl"
        with private(self.path) as file:
            asyncio.run(self.make(provider, file))

    async def make(self, provider, file):
        numbers, port = iter(range(self.count)), int(provider.url.rpartition(":")[2])

        async def work():
            caller = Caller(port)
            for number in numbers:
                status, _, answer = await caller.fetch("POST", "/_control/grants", {"Content-Type": "application/json"},
                                                       json.dumps({"account": member(number)}).encode())
                if status != 200:
                    raise Failed(f"martlet-mock returned status {status} to a grant")
                file.write(f"{number} {answer.decode().strip()}\n")
            caller.close()

        await asyncio.gather(*(work() for _ in range(CONNECTIONS)))

    def __iter__(self):
        """The number of each account and its grant."""
        with open(self.path) as file:
            for line in file:
                number, _, grant = line.partition(" ")
                yield int(number), json.loads(grant)

    def lines(self, change=lambda number, tokens: tokens):
        """Lines to import. `change` gets the number of an account and its tokens, and returns other tokens, or None for no line."""
        for number, grant in self:
            tokens = change(number, {name: grant[name] for name in ("refresh_token", "access_token", "expires_in")})
            if tokens is not None:
                yield json.dumps({"account": member(number), "tokens": tokens}) + "\n"

    def write(self, name, change=lambda number, tokens: tokens):
        """Writes the lines to a file; returns its path and their number."""
        path, count = self.site.home / name, 0
        with private(path) as file:
            for line in self.lines(change):
                file.write(line)
                count += 1
        return path, count

    def origins(self):
        """The number of the account of each refresh token's digest."""
        return {digest(grant["refresh_token"]): number for number, grant in self}


def unused(tokens):
    """The same tokens without an access token, so that the first use asks the provider."""
    return {"refresh_token": tokens["refresh_token"]}


def private(path):
    """Opens a file to write secrets to."""
    return open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w")
