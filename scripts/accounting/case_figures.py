"""How long imports, starts, first requests and a kill of all take, and what memory and processor time the accounts cost."""

import json
import random
import time

from accounting import crowd
from accounting.grants import Grants
from accounting.imports import Import
from accounting.results import spread
from accounting.site import FAMILY, Gateway, member

# The bounds that hold for 100,000 accounts.
IMPORT_SECONDS, START_SECONDS, MEMORY, IDLE_SHARE, FIRST_MILLISECONDS, KILL_SECONDS = 120, 5, 400, 2, 50, 1
IDLE_SECONDS, SAMPLES, USED = 30, 21, 1000


def run(site, results):
    provider = site.provider()
    grants = Grants(site, provider)
    gateway = Gateway(site, provider).start()
    results.figure("start to ready, no accounts", round(gateway.start_seconds, 2), "s")
    results.figure("memory, no accounts", round(gateway.memory), "MiB")
    imported(gateway, grants, results)
    gateway.end()
    gateway.start()
    results.at_most("start to ready", gateway.start_seconds, START_SECONDS, "s")
    results.at_most("memory after the start", gateway.memory, MEMORY, "MiB")
    results.equal("accounts after the start", gateway.count(), site.accounts)
    numbers = random.sample(range(site.accounts), min(USED + SAMPLES, site.accounts))
    first_requests(gateway, numbers[:SAMPLES], results)
    answers = crowd.ask(gateway, map(member, numbers[SAMPLES:]))
    results.equal(f"{len(answers)} other accounts used for the first time", crowd.said(crowd.outcomes(answers)), f"{len(answers):,} 200")
    results.figure("their requests a second", round(rate(answers)))
    results.at_most(f"memory with {len(numbers)} accounts used", gateway.memory, MEMORY, "MiB")
    results.at_most(f"processor time while idle for {IDLE_SECONDS} s", gateway.idle_share(IDLE_SECONDS), IDLE_SHARE, "% of a core")
    overviews(gateway, results)
    killed(gateway, results)


def rate(answers):
    return len(answers) / (max(answer.ended for answer in answers) - min(answer.began for answer in answers))


def imported(gateway, grants, results):
    path, count = grants.write("accounts.jsonl")
    done = Import(gateway, path).end()
    results.equal("import of all: exit code", done.code, 0)
    results.equal("import of all: results", dict(done.counts()), {"imported": count})
    results.at_most("import of all", done.seconds, IMPORT_SECONDS, "s")
    results.figure("import of all", round(count / done.seconds), "lines a second")
    results.figure("memory of the command at most", round(done.peak), "MiB")
    results.at_most("memory after the import", gateway.memory, MEMORY, "MiB")
    results.figure("most memory while importing", round(gateway.peak_memory), "MiB")
    again = Import(gateway, path).end()
    results.equal("the same import again: exit code and results", (again.code, dict(again.counts())), (0, {"skipped": count}))
    results.figure("the same import again", round(count / again.seconds), "lines a second")


def first_requests(gateway, numbers, results):
    # What the first request of all takes is not the account's.
    gateway.get(member(numbers[0]))
    answers = crowd.ask(gateway, map(member, numbers[1:]), connections=1)
    results.equal("first requests: answers", crowd.said(crowd.outcomes(answers)), f"{len(answers):,} 200")
    median, _, longest = spread((answer.ended - answer.began) * 1000 for answer in answers)
    results.figure("first request to an account, median", round(median, 2), "ms")
    results.at_most("first request to an account, longest", longest, FIRST_MILLISECONDS, "ms")


def overviews(gateway, results):
    """How long it takes to see what there is."""
    for path in ("/v1/status", "/v1/accounts?limit=1000", f"/v1/accounts?limit=1000&after={member(gateway.site.accounts // 2)}",
                 "/v1/accounts?limit=1000&state=reauthorization_required,expired"):
        began = time.monotonic()
        gateway.done("GET", path)
        results.figure(f"GET {path}", round((time.monotonic() - began) * 1000, 1), "ms")
    began = time.monotonic()
    lines = gateway.metrics().splitlines()
    results.figure("GET /metrics", round((time.monotonic() - began) * 1000, 1), "ms")
    results.at_most("lines of the metrics", len(lines), 2000, "lines")
    results.equal("metrics that name an account", sum("customer-" in line for line in lines), 0)
    done, seconds = gateway.run("accounts", "export")
    exported = [json.loads(line) for line in done.stdout.splitlines()]
    results.equal("martlet accounts export: exit code and accounts", (done.returncode, len({account["account"] for account in exported})),
                  (0, gateway.site.accounts))
    results.equal("members of its lines", sorted({name for account in exported for name in account}), ["account", "expires_at", "provider", "state"])
    results.figure("martlet accounts export", round(seconds, 2), "s")
    done, seconds = gateway.run("status")
    results.equal("martlet status: exit code, and whether it has the family", (done.returncode, FAMILY in done.stdout), (0, True))
    results.at_most("lines of martlet status", len(done.stdout.splitlines()), 60, "lines")


def killed(gateway, results):
    done, seconds = gateway.run("kill", "--all", "--reason", "drill", "--json")
    kill = json.loads(done.stdout)
    results.equal("martlet kill --all: exit code and state", (done.returncode, kill["state"]), (0, "complete"))
    results.at_most("martlet kill --all, complete after", seconds, KILL_SECONDS, "s")
    answers = crowd.ask(gateway, [member(number) for number in range(0, gateway.site.accounts, max(gateway.site.accounts // 500, 1))])
    results.equal("then: what callers get", set(crowd.outcomes(answers)), {(503, "killed")})
