"""What a gateway does most."""

import hashlib
import os

from benching.measures import Bench
from benching.processes import say
from harness.processes import free_port

KEY = "a-key-of-this-load-alone"
# Whole requests and answers in chunks, which neither wrk nor nginx makes by itself.
CHUNKED = r"""
local path = ...
function request()
  return "POST /sink HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer KEY\r\nTransfer-Encoding: chunked\r\n\r\n" ..
    "5\r\nhello\r\n400\r\n" .. string.rep("x", 1024) .. "\r\n0\r\n\r\n"
end
""".replace("KEY", KEY)


class Load(Bench):
    def __init__(self, options, work):
        super().__init__(options, work)
        # A file for each process.
        os.environ["LLVM_PROFILE_FILE"] = str(work / "%p.profraw")
        files = work / "files"
        (files / "page").write_text("<!--# echo var='uri' --> is put together by the server\n" * 20)
        (work / "chunked.lua").write_text(CHUNKED)

    def gateway(self, upstream, name, **options):
        return self.proxy_martlet(
            free_port(), self.upstreams[upstream], upstream == "tls", f"martlet-{name}", **options)

    def run(self):
        """How many requests of each kind were served."""
        plain, tls = self.gateway("plain", "plain"), self.gateway("tls", "tls")
        certificate, key = self.certificate
        digest = hashlib.sha256(KEY.encode()).hexdigest()
        self.options.access_log = True
        guarded = self.gateway(
            "plain", "guarded", listener=f", tls: {{ certificate: {certificate}, key: {key} }}",
            more=f"callers: [{{ name: load, key_sha256: {digest} }}]\n")
        requests = {}
        for kind, ask in {
            "plain": lambda: self.wrk(plain.port, "plain", self.options.seconds),
            "tls": lambda: self.wrk(tls.port, "tls", self.options.seconds),
            "large": lambda: self.wrk(plain.port, "large", self.options.seconds),
            "upload": lambda: self.wrk(plain.port, "upload", self.options.seconds),
            "chunked answers, guarded": lambda: self.ask_guarded(guarded, "/page", "-H", f"Authorization: Bearer {KEY}"),
            "chunked requests, guarded": lambda: self.ask_guarded(guarded, "/sink", "-s", self.work / "chunked.lua"),
        }.items():
            requests[kind], _ = ask()
            say(f"{kind}: {requests[kind]} requests")
        return requests

    def ask_guarded(self, gateway, path, *arguments):
        return self.run_wrk(f"https://127.0.0.1:{gateway.port}{path}", self.options.connections, self.options.seconds, *arguments)

    def end(self):
        """Counts are written when a program ends in order: tells which gateways have not."""
        for server in reversed(self.servers):
            server.end()
        return [one.name for one in self.servers if one.name.startswith("martlet") and one.process.returncode != 0]
