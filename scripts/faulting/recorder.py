"""Stands between the gateways and the provider's token endpoint, and keeps what went through: who spent which refresh
token when, and what came back. It can be away, as a provider is, answer late, and fail one account; it changes nothing else."""

import asyncio
import contextlib
import dataclasses
import hashlib
import json
import time
import urllib.parse

from harness.client import read_head
from harness.processes import free_port

AWAY = "away"
RESETS = "resets"
SILENT = "silent"
# So long a connection stands before it is reset, so that another one meanwhile would be seen.
RESET_SECONDS = 0.05
# What one account's requests can meet: the provider has spent the refresh token and its answer goes to nobody; or an answer
# that is not the provider's, which hears nothing of it.
LOST = "lost"
BROKEN, PAGE = "answered 500", "answered 404 with a page"
HTML = b"<!DOCTYPE html><html><head><title>404 Not Found</title></head><body><h1>Not Found</h1></body></html>"
# As `ask` has it: a status with its head, and a body.
ANSWERS = {
    BROKEN: ((500, b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n"), b""),
    PAGE: ((404, b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % len(HTML)), HTML),
}


def short(token):
    """Enough to tell tokens apart in a history; a token is never printed."""
    return hashlib.sha256(token.encode()).hexdigest()[:8]


@dataclasses.dataclass
class Use:
    """One token request with a refresh token. Times are of the monotonic clock."""

    at: float
    # Which boot of which process: "b.3".
    boot: str
    account: str
    token: str
    status: int | None = None
    # When the provider's answer had gone to the gateway's socket.
    answered: float | None = None
    # When there was nothing more to come, also where the gateway would not wait for it; None while it is under way.
    ended: float | None = None
    # Whether the gateway hung up before its answer came.
    is_given_up: bool = False

    @property
    def process(self):
        return self.boot.split(".")[0]


class Recorder:
    def __init__(self, port, history):
        self.target, self.history = port, history
        # It is away at times, and has to find its port free when it comes back.
        self.server, self.port, self.trouble = None, free_port(), None
        self.uses = []
        # What the next requests of an account meet.
        self.strikes = {}
        # How many seconds the answer to a use is kept back, after the provider has given it.
        self.lateness = lambda use: 0
        # Of all tokens that the provider has given.
        self.account_of, self.tokens = {}, set()
        # Called with ("sent" | "answered", use) in the moment itself.
        self.watchers = []
        self.connections = set()

    async def start(self):
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", self.port, backlog=1024)

    async def be(self, trouble):
        """From now on: AWAY refuses connections, RESETS ends them without an answer, SILENT never answers; None passes on."""
        self.history.note(f"the provider is {trouble or 'there again'}")
        self.trouble = trouble
        if trouble == AWAY and self.server:
            self.server.close()
            self.server = None
        elif trouble != AWAY and not self.server:
            await self.start()

    def strike(self, account, *strikes):
        """The next token requests of this account meet these, LOST, BROKEN or PAGE, one each; those of others nothing."""
        self.history.note(f"the next token requests of {account} are {', '.join(strikes)}")
        self.strikes[account] = list(strikes)

    def learn(self, account, answer):
        for kind in ("access_token", "refresh_token"):
            if answer.get(kind):
                self.tokens.add(answer[kind])
        if answer.get("refresh_token"):
            self.account_of[answer["refresh_token"]] = account

    def by_token(self):
        """The uses of each refresh token, in the order in which they came."""
        uses = {}
        for use in self.uses:
            uses.setdefault(use.token, []).append(use)
        return uses

    async def sent_by(self, process, step):
        """Waits for the next moment in which `process` is in that step of a refresh."""
        moment = asyncio.get_running_loop().create_future()

        def watch(what, use):
            if what == step and use.process == process and not moment.done():
                moment.set_result(use)

        self.watchers.append(watch)
        try:
            return await moment
        finally:
            self.watchers.remove(watch)

    async def serve(self, reader, writer):
        self.connections.add(asyncio.current_task())
        try:
            # Cancelled is what the end of the case does.
            with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await self.exchange(reader, writer)
        finally:
            self.connections.discard(asyncio.current_task())
            writer.close()

    async def exchange(self, reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        fields = dict(line.lower().split(b":", 1) for line in head.split(b"\r\n")[1:] if line)
        body = await reader.readexactly(int(fields[b"content-length"]))
        form = {name: values[0] for name, values in urllib.parse.parse_qs(body.decode()).items()}
        token = form.get("refresh_token", "")
        use = Use(time.monotonic(), form.get("replica", "?"), self.account_of.get(token, "?"), short(token))
        self.uses.append(use)
        try:
            await self.pass_on(use, head + body, reader, writer)
        finally:
            use.ended = time.monotonic()

    async def pass_on(self, use, request, reader, writer):
        """What becomes of a token request that was read."""
        self.tell("sent", use)
        if self.trouble == SILENT:
            # Until the gateway has had enough. Nothing of it reaches the provider, also when that is there again by then.
            await reader.read()
            return
        if self.trouble:
            await asyncio.sleep(RESET_SECONDS)
            return
        strikes = self.strikes.get(use.account)
        strike = strikes.pop(0) if strikes else None
        answer = ANSWERS.get(strike) or await self.ask(request)
        if not answer or strike == LOST or await self.has_left(use, reader):
            return
        status, content = answer
        use.status = status[0]
        with contextlib.suppress(ValueError, AttributeError):
            self.learn(use.account, json.loads(content))
        writer.write(status[1] + content)
        self.tell("answered", use)
        use.answered = time.monotonic()
        await writer.drain()

    async def ask(self, request):
        """Asks the provider, whether or not the gateway lives to see the answer; None where none comes."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.target)
        try:
            writer.write(request)
            raw = await reader.readuntil(b"\r\n\r\n")
            feed = asyncio.StreamReader()
            feed.feed_data(raw)
            status, fields = await read_head(feed)
            return (status, raw), await reader.readexactly(int(fields["content-length"]))
        except (asyncio.IncompleteReadError, OSError):
            return None
        finally:
            writer.close()

    async def has_left(self, use, reader):
        """Keeps the answer back for as long as it is late; whether the gateway hangs up meanwhile."""
        if not (seconds := self.lateness(use)):
            return False
        try:
            await asyncio.wait_for(reader.read(), seconds)
        except asyncio.TimeoutError:
            return False
        use.is_given_up = True
        self.history.note(f"{use.boot} hung up on {use.account}'s token request after {time.monotonic() - use.at:.1f} s of {seconds:.1f} s")
        return True

    def tell(self, step, use):
        for watch in list(self.watchers):
            watch(step, use)

    async def stop(self):
        if self.server:
            self.server.close()
        for task in list(self.connections):
            task.cancel()
        await asyncio.gather(*self.connections, return_exceptions=True)
