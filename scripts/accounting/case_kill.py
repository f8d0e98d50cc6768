"""A kill of all: what is revoked, how fast, what the report says meanwhile and in the end, and the memory."""

import datetime
import json
import time
import typing

from accounting import crowd
from accounting.grants import Grants
from accounting.imports import Import
from accounting.recorder import excess
from accounting.site import Gateway, member
from harness.checks import Check
from harness.processes import Failed

RATE = 500
KILL_SECONDS, MEMORY, IDLE_SHARE = 1, 400, 2
# A sweep comes each minute. The first one after the last revocation counts the revoked tokens, once; then it costs nothing.
IDLE_SECONDS, COUNT_SECONDS = 70, 5
# How long a listing may take while tokens are revoked, and afterwards.
BUSY_SECONDS, QUIET_SECONDS = 1, 0.2


class Sample(typing.NamedTuple):
    # Of the wall clock.
    at: float
    # How long the report took, in seconds.
    took: float
    tokens: dict
    memory: float

    @property
    def is_open(self):
        return self.tokens.get("counted") is False or self.tokens["waiting"] + self.tokens["in_flight"] > 0

    @property
    def estimate(self):
        end = self.tokens.get("estimated_end")
        return end and datetime.datetime.fromisoformat(end.replace("Z", "+00:00")).timestamp()


def run(site, results):
    provider = site.provider()
    recorder, grants = site.recorder(provider), Grants(site, provider)
    gateway = Gateway(site, provider, url=recorder.url, rates=f", revoke_rate: {{ per_second: {RATE}, burst: {RATE} }}").start()
    path, count = grants.write("accounts.jsonl")
    done = Import(gateway, path).end()
    if done.code:
        raise Failed(f"the import ends with {done.code}: {done.text[-300:]}")
    crowd.ask(gateway, map(member, range(0, count, 100)))
    # What the start and the import took may have been returned only partly.
    gateway.end()
    gateway.start()
    before = gateway.memory
    results.figure("memory before", round(before), "MiB")
    gateway.forget_peak()

    began = time.time()
    done, seconds = gateway.run("kill", "--all", "--reason", "drill", "--json")
    kill = json.loads(done.stdout)
    results.equal("martlet kill --all: exit code and state", (done.returncode, kill["state"]), (0, "complete"))
    results.at_most("martlet kill --all, complete after", seconds, KILL_SECONDS, "s")
    answers = crowd.ask(gateway, [member(number) for number in range(0, count, max(count // 500, 1))])
    results.equal("what callers get then", set(crowd.outcomes(answers)), {(503, "killed")})

    samples, text = watched(gateway, kill["id"], 2 * count, 2 * count / RATE * 1.5 + 120)
    results.figure("most memory while tokens are revoked", round(gateway.peak_memory), "MiB")
    results.at_most("most memory while tokens are revoked, of the samples", max(sample.memory for sample in samples), MEMORY, "MiB")
    results.at_most("longest report while tokens are revoked", max(sample.took for sample in samples), BUSY_SECONDS, "s")
    revoked(recorder, provider, samples[-1].tokens, 2 * count, results)
    first(recorder.entries("revoke"), grants.origins(), results)
    progress(samples, began, text, results)
    afterwards(gateway, kill["id"], 2 * count, results)


def watched(gateway, kill, expected, limit):
    """Looks at the report every other second until all tokens are settled. Also returns what `martlet kills` printed of the time left."""
    samples, text, deadline = [], None, time.monotonic() + limit
    while True:
        began = time.monotonic()
        tokens = gateway.done("GET", f"/v1/kills/{kill}")["tokens"]
        samples.append(Sample(time.time(), time.monotonic() - began, tokens, gateway.memory))
        # Tokens that no sweep has found yet aren't counted. If some are never found, the report doesn't change any more.
        if not samples[-1].is_open and (tokens["total"] >= expected or [sample.tokens for sample in samples[-10:]] == [tokens] * 10):
            return samples, text
        if time.monotonic() > deadline:
            raise Failed(f"tokens still wait after {limit:.0f} s: {tokens}")
        if text is None:
            text = next((line.strip() for line in gateway.run("kills")[0].stdout.splitlines() if "left" in line), None)
        time.sleep(min(2, gateway.site.accounts / 5000))


def revoked(recorder, provider, tokens, expected, results):
    results.equal("the report in the end: tokens, and those revoked", (tokens["total"], tokens["revoked"]), (expected, expected))
    results.equal("the report in the end: its parts make the total", tokens["total"], sum(
        tokens.get(part, 0) for part in ("waiting", "in_flight", "revoked", "refused", "client_refused", "unsupported", "unreachable")))
    stats, entries = provider.stats(), recorder.entries("revoke")
    results.equal("accounts with tokens alive at the provider", sum(any(live.values()) for live in stats["live"].values()), 0)
    results.equal("revocations that the provider took, and others", (stats["revocations"]["ok"], stats["revocations"]["unknown"]), (expected, 0))
    results.equal("token requests since the kill", provider.token_requests, 0)
    results.at_most(f"most revocations beyond {RATE} a second, in any period", excess(entries, RATE), RATE + RATE / 10, "requests")
    took = entries[-1].at - entries[0].at
    results.figure("from the first revocation to the last", round(took, 1), "s")
    if len(entries) > 10 * RATE:
        results.at_least("revocations a second", len(entries) / took, 0.9 * RATE, "a second")


def first(entries, refresh_tokens, results):
    """What brings new tokens should go first."""
    half = entries[:len(entries) // 2]
    share = sum(entry.origin in refresh_tokens for entry in half) / max(len(half), 1)
    results.figure("refresh tokens among the first half of the revocations", round(share * 100), "%")


def progress(samples, began, text, results):
    end = samples[-1].at
    results.figure("all tokens revoked after", round(end - began, 1), "s")
    counts = [sample.tokens["revoked"] for sample in samples]
    results.equal("the number of revoked tokens never falls", counts == sorted(counts))
    results.at_least("different numbers that were seen", len(set(counts)), min(5, len(samples)), "numbers")
    results.append(Check("martlet kills says how long it takes", text or "nothing", "about … left", text is not None))
    for share in (0.1, 0.5):
        sample = next((sample for sample in samples if sample.at >= began + share * (end - began)), samples[-1])
        if sample.estimate is None:
            results.append(Check(f"the estimate after {share:.0%} of the time", "none", "a time", False))
            continue
        results.at_most(f"the estimate after {share:.0%} of the time, off by", abs(sample.estimate - end), max(0.1 * (end - began), 10), "s")


def afterwards(gateway, kill, expected, results):
    began = time.monotonic()
    gateway.done("GET", "/v1/kills")
    results.at_most("GET /v1/kills in the end", time.monotonic() - began, QUIET_SECONDS, "s")
    began, listed, after = time.monotonic(), 0, ""
    while after is not None:
        page = gateway.done("GET", f"/v1/kills/{kill}/tokens?limit=1000" + (f"&after={after}" if after else ""))
        listed, after = listed + len(page["tokens"]), page["next"]
    results.equal("tokens that are listed, page by page", listed, expected)
    results.figure("all pages of tokens", round(time.monotonic() - began, 1), "s")
    counted = gateway.idle_share(IDLE_SECONDS) / 100 * IDLE_SECONDS
    results.at_most(f"processor time of the {IDLE_SECONDS} s that count the revoked tokens", counted, COUNT_SECONDS, "s")
    results.at_most(f"processor time while idle for {IDLE_SECONDS} s after that", gateway.idle_share(IDLE_SECONDS), IDLE_SHARE, "% of a core")
    results.at_most("memory in the end", gateway.memory, MEMORY, "MiB")
