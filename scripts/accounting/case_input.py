"""Imports with broken lines, with long ones and with too many accounts; callers that name accounts that nobody has."""

import collections
import itertools
import json
import random
import secrets
import socket
import time

from accounting import crowd
from accounting.grants import Grants
from accounting.imports import Import
from accounting.site import SMALL, Gateway, member
from harness.checks import Check

# Stands in each broken line. Nobody may repeat it.
MARK = "conspicuous-" + secrets.token_hex(8)
MEBIBYTE = 1 << 20
LONG_LINES = 10
# What an allocator keeps may differ from one moment to another.
SLACK = 16


def broken(number, grant):
    """Lines that no gateway should take, of an account that is not imported otherwise."""
    name, tokens = member(number), {"refresh_token": grant["refresh_token"]}
    return [
        f"not JSON {MARK}",
        json.dumps([name, MARK]),
        json.dumps({"account": name, "tokens": tokens, MARK: 1}),
        json.dumps({"account": name}),
        json.dumps({"account": name, "tokens": {"access_token": MARK}}),
        json.dumps({"account": name, "tokens": {"refresh_token": ""}, }),
        json.dumps({"account": name, "tokens": {"refresh_token": [MARK]}}),
        json.dumps({"account": name, "tokens": tokens | {"expires_in": MARK}}),
        json.dumps({"account": name, "tokens": tokens})[:-1] + MARK,
        json.dumps({"account": "customer-", "tokens": tokens}),
        json.dumps({"account": "customer-ä", "tokens": tokens}, ensure_ascii=False),
        json.dumps({"account": "customer-/../x", "tokens": tokens}),
        json.dumps({"account": "customer-" + "x" * 120, "tokens": tokens}),
        json.dumps({"account": "-customer", "tokens": tokens}),
        json.dumps({"account": "stranger-1", "tokens": tokens}),
        json.dumps({"account": 7, "tokens": tokens}),
        '{"account": "customer-1' + chr(0) + '"}',
        " " * 70_000 + json.dumps({"account": name, "tokens": tokens}),
    ]


def run(site, results):
    provider = site.provider()
    grants = Grants(site, provider)
    # Room for the accounts whose lines are broken and repaired.
    gateway = Gateway(site, provider, most=site.accounts + 200).start()
    broken_lines(gateway, grants, results)
    lockstep(gateway, grants, results)
    long_lines(gateway, results)
    full(gateway, provider, results)
    strangers(gateway, results)


def broken_lines(gateway, grants, results):
    """One line in a hundred is broken, or more of few lines, so that each kind occurs. One more is empty, and one is no text."""
    source, wrong, count, pending = gateway.site.home / "broken.jsonl", set(), 0, itertools.count()
    step = min(100, gateway.site.accounts // 20)
    with open(source, "wb") as file:
        for (number, grant), line in zip(grants, grants.lines()):
            if number % step == step // 2:
                kinds = broken(number, grant)
                line = kinds[next(pending) % len(kinds)] + "\n"
                wrong.add(count + 1)
            file.write(line.encode())
            count += 1
            if number == 10:
                file.write(b"\n")
                count += 1
            if number == 20:
                file.write(b'{"account": "\xff\xfe' + MARK.encode() + b'"}\n')
                count += 1
                wrong.add(count)
    source.chmod(0o600)
    done = Import(gateway, source).end()
    got = list(done.results())
    refused = {result["line"]: result for result in got if result["result"] == "refused"}
    results.equal("broken lines: exit code", done.code, 1)
    results.figure("broken lines", len(wrong))
    results.equal("broken lines that were not refused", sorted(wrong - set(refused))[:10], [])
    results.equal("other lines that were refused", [refused[line] for line in sorted(set(refused) - wrong)[:10]], [])
    results.equal("broken lines: imported", done.counts()["imported"], gateway.site.accounts - len(wrong) + 1)
    results.equal("broken lines: accounts then", gateway.count(), gateway.site.accounts - len(wrong) + 1)
    numbers = [result["line"] for result in got]
    results.equal("broken lines: results are in the order of the lines", numbers == sorted(numbers))
    results.figure("broken lines: reasons", dict(collections.Counter(result.get("reason") for result in refused.values())))
    results.figure("broken lines", round(count / done.seconds), "lines a second")
    results.equal("broken lines: refused lines without a message", sum(not result.get("message") for result in refused.values()), 0)
    spoken = {"the answers": done.output.read_text(), "standard error": done.text, "the log": gateway.log.read_text(),
              "the audit log": json.dumps(audit(gateway))}
    results.equal("broken lines: who repeats their content", [place for place, text in spoken.items() if MARK in text], [])


def audit(gateway):
    return list(paged(gateway, "/v1/audit?limit=1000", "audit"))


def paged(gateway, path, name):
    after = 0
    while after is not None:
        page = gateway.done("GET", f"{path}&after={after}")
        yield from page[name]
        after = page["next"]


class Conversation:
    """An import by the API, with chunks in both directions on one connection."""

    def __init__(self, gateway):
        self.socket = socket.create_connection(("127.0.0.1", gateway.admin), 30)
        self.reader = self.socket.makefile("rb")
        self.socket.sendall(f"POST /v1/imports HTTP/1.1\r\nHost: 127.0.0.1:{gateway.admin}\r\nAuthorization: Bearer {gateway.token}\r\n"
                            "Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
        self.status, self.rest = None, b""

    def send(self, content):
        self.socket.sendall(f"{len(content):x}\r\n".encode() + content + b"\r\n")

    def finish(self):
        self.socket.sendall(b"0\r\n\r\n")

    def line(self):
        """The next line of the answer."""
        if self.status is None:
            self.status = int(self.reader.readline().split()[1])
            while self.reader.readline().strip():
                pass
        while b"\n" not in self.rest:
            length = int(self.reader.readline().strip() or b"0", 16)
            self.rest += self.reader.read(length)
            self.reader.readline()
            if not length:
                return None
        line, _, self.rest = self.rest.partition(b"\n")
        return json.loads(line)


def lockstep(gateway, grants, results):
    """Each result comes while the request is still open."""
    talk, waits = Conversation(gateway), []
    for line in itertools.islice(grants.lines(), 5):
        began = time.monotonic()
        talk.send(line.encode())
        answer = talk.line()
        waits.append(time.monotonic() - began)
        if answer is None or answer.get("result") != "skipped":
            return results.append(Check("a result while the request is open", f"{talk.status} {str(answer)[:200]}", "skipped", False))
    talk.finish()
    summary = talk.line()
    results.equal("results while the request is open, then the summary",
                  {name: summary.get(name) for name in ("done", "imported", "replaced", "skipped", "refused")},
                  {"done": True, "imported": 0, "replaced": 0, "skipped": 5, "refused": 0})
    results.at_most("a result while the request is open, longest wait", max(waits) * 1000, 500, "ms")


def long_lines(gateway, results):
    """Lines of 10 MiB are refused one by one, and kept by nobody."""
    source = gateway.site.home / "long.jsonl"
    with open(source, "wb") as file:
        for number in range(LONG_LINES):
            file.write(b'{"account": "' + member(number).encode() + b'", "tokens": {"refresh_token": "')
            for _ in range(10):
                file.write(b"x" * MEBIBYTE)
            file.write(b'"}}\n')
    gateway.forget_peak()
    before = gateway.memory
    done = Import(gateway, source).end()
    results.equal(f"{LONG_LINES} lines of 10 MiB: exit code and results", (done.code, dict(done.counts())), (1, {"refused": LONG_LINES}))
    results.at_most("10 MiB a line: memory of the gateway at most, more than before", gateway.peak_memory - before, SLACK, "MiB")
    results.figure("10 MiB a line: memory of the command at most", round(done.peak), "MiB")
    results.figure("10 MiB a line", round(done.seconds, 2), "s")


def full(gateway, provider, results):
    most, more = gateway.families[SMALL], 50
    source = gateway.site.home / "small.jsonl"
    with open(source, "w") as file:
        for number in range(most + more):
            grant = provider.grant(f"small-{number}")
            file.write(json.dumps({"account": f"small-{number}", "tokens": {"refresh_token": grant["refresh_token"]}}) + "\n")
    source.chmod(0o600)
    done = Import(gateway, source).end()
    results.equal("too many: exit code and results", (done.code, dict(done.counts())), (1, {"imported": most, "refused": more}))
    results.equal("too many: why", {result["reason"] for result in done.results() if result["result"] == "refused"}, {"family_full"})
    results.equal("too many: accounts then", gateway.count(SMALL), most)
    refusal = gateway.refusal("PUT", "/v1/accounts/small-extra/tokens", {"refresh_token": "some-refresh-token"})
    results.equal("too many: one more by PUT", refusal, (409, "conflict"))
    gateway.done("DELETE", "/v1/accounts/small-0/tokens")
    status, _ = gateway.ask("PUT", "/v1/accounts/small-extra/tokens", {"refresh_token": provider.grant("small-extra")["refresh_token"]})
    results.equal("one removed: one more by PUT, and accounts then", (status, gateway.count(SMALL)), (200, most))


def strangers(gateway, results):
    """A caller names accounts that don't exist: half of them of its families, half not."""
    def names(count):
        return [f"{random.choice(('customer-', 'stranger-'))}x{random.getrandbits(60):015x}" for _ in range(count)]

    # What the first requests of all take is no growth.
    crowd.ask(gateway, names(2000))
    began, calls = time.monotonic(), gateway.store_calls()
    time.sleep(10)
    idle = (gateway.store_calls() - calls) / (time.monotonic() - began)
    lines, memory, began, calls = len(gateway.metrics().splitlines()), gateway.memory, time.monotonic(), gateway.store_calls()
    asked = names(gateway.site.accounts)
    answers = crowd.ask(gateway, asked)
    took, more = time.monotonic() - began, gateway.store_calls() - calls
    members = sum(name.startswith("customer-") for name in asked)
    results.equal("accounts that nobody has: answers", dict(crowd.outcomes(answers)),
                  {(503, "account_empty"): members, (403, "caller_forbidden"): len(asked) - members})
    results.figure("accounts that nobody has", round(len(asked) / took), "requests a second")
    results.at_most("accounts that nobody has: memory of the gateway, more than before", gateway.memory - memory, SLACK, "MiB")
    results.figure("calls of the store a second while idle", round(idle, 1))
    # What goes on anyway: the lease, the kill log, the list of replicas.
    results.at_most("accounts that nobody has: calls of the store", more, 2 * idle * took + 20, "calls")
    results.at_most("accounts that nobody has: lines of the metrics, more than before", len(gateway.metrics().splitlines()) - lines, 0, "lines")
    logged = sum(name in text for text in [gateway.log.read_text()] for name in random.sample(asked, min(len(asked), 2000)))
    results.figure("of 2,000 of their names, in the log", logged)
