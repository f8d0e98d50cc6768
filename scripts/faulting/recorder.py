"""A proxy between the gateways and the provider's token endpoint. It records which process spent which refresh token, when, and
which response came back. It can simulate an outage, delay responses and fail the requests of one account. It changes nothing else."""

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
# How many seconds a connection stands before it is reset, so that a concurrent one would be noticed.
RESET_SECONDS = 0.05
# Failures of one account's token requests. LOST: the provider spends the refresh token, but its response is dropped. BROKEN and
# PAGE: the recorder itself responds, and the provider does not get the request.
LOST = "lost"
BROKEN, PAGE = "answered 500", "answered 404 with a page"
HTML = b"<!DOCTYPE html><html><head><title>404 Not Found</title></head><body><h1>Not Found</h1></body></html>"
# In the format that `ask` returns: (status, head) and a body.
ANSWERS = {
    BROKEN: ((500, b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n"), b""),
    PAGE: ((404, b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % len(HTML)), HTML),
}


def short(token):
    """Returns a short hash that tells tokens apart in a history. The token itself is never printed."""
    return hashlib.sha256(token.encode()).hexdigest()[:8]


@dataclasses.dataclass
class Use:
    """One token request with a refresh token. Times are of the monotonic clock."""

    at: float
    # The process and its boot number, such as "b.3".
    boot: str
    account: str
    token: str
    status: int | None = None
    # When the provider's response was written to the gateway's socket.
    answered: float | None = None
    # When the exchange ended, also if the gateway gave it up; None while it is in progress.
    ended: float | None = None
    # Whether the gateway closed the connection before the response came.
    is_given_up: bool = False

    @property
    def process(self):
        return self.boot.split(".")[0]


class Recorder:
    def __init__(self, port, history, host="127.0.0.1"):
        self.target, self.history, self.host = port, history, host
        # The server closes during an outage and needs the same port again afterwards, so it chooses the port once.
        self.server, self.port, self.trouble = None, free_port(), None
        self.uses = []
        # The failures that the next token requests of each account meet.
        self.strikes = {}
        # How many seconds the response to a use is delayed after the provider has sent it.
        self.lateness = lambda use: 0
        # The account of each refresh token, and all tokens that the provider has issued, as far as the recorder saw them.
        self.account_of, self.tokens = {}, set()
        # Functions that are called synchronously with ("sent" | "answered", use).
        self.watchers = []
        self.connections = set()

    async def start(self):
        self.server = await asyncio.start_server(self.serve, self.host, self.port, backlog=1024)

    async def be(self, trouble):
        """Sets the outage from now on. AWAY refuses connections, RESETS closes them without a response, SILENT never responds, and
        None passes requests on."""
        self.history.note(f"the provider is {trouble or 'there again'}")
        self.trouble = trouble
        if trouble == AWAY and self.server:
            self.server.close()
            self.server = None
        elif trouble != AWAY and not self.server:
            await self.start()

    def strike(self, account, *strikes):
        """Makes each of the next token requests of this account fail with one of `strikes` (LOST, BROKEN or PAGE), in order."""
        self.history.note(f"the next token requests of {account} are {', '.join(strikes)}")
        self.strikes[account] = list(strikes)

    def learn(self, account, answer):
        for kind in ("access_token", "refresh_token"):
            if answer.get(kind):
                self.tokens.add(answer[kind])
        if answer.get("refresh_token"):
            self.account_of[answer["refresh_token"]] = account

    def by_token(self):
        """Returns the uses of each refresh token, in the order of their arrival."""
        uses = {}
        for use in self.uses:
            uses.setdefault(use.token, []).append(use)
        return uses

    async def sent_by(self, process, step):
        """Waits until `process` next reaches `step` of a refresh, and returns the use."""
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
            # The end of the case cancels this task.
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
        """Passes a token request on to the provider, or fails it as `trouble` and `strikes` demand."""
        self.tell("sent", use)
        if self.trouble == SILENT:
            # Waits until the gateway gives up. The request never reaches the provider, even if the outage ends meanwhile.
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
        """Sends the request to the provider, even if the gateway dies meanwhile. Returns the response, or None if none comes."""
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
        """Delays the response by its lateness. Returns whether the gateway closes the connection meanwhile."""
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
