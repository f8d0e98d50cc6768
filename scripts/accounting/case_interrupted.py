"""kill -9 half-way through an import, while accounts are used and refreshed. The import is run again."""

import contextlib
import itertools
import threading
import time

from accounting import crowd
from accounting.grants import Grants, unused
from accounting.imports import Import
from accounting.site import Gateway, member
from harness.checks import Check
from harness.processes import Failed

# Of the accounts, one in so many gets no access token: its first use spends its refresh token.
REFRESHED = 5
# The second half of the lines comes more slowly, so that the import is certainly under way when the process ends.
LINES, PAUSE = 50, 0.02
SECONDS = 300


def run(site, results):
    provider = site.provider()
    grants = Grants(site, provider)
    path, _ = grants.write("accounts.jsonl", lambda number, tokens: tokens if number % REFRESHED else unused(tokens))
    gateway = Gateway(site, provider, rates=", refresh_rate: { per_second: 2000, burst: 2000 }").start()
    acknowledged, spent = interrupted(gateway, path, results)
    results.figure("refresh tokens spent before the end", spent)

    gateway.start()
    results.figure("start to ready after kill -9", round(gateway.start_seconds, 2), "s")
    stored = gateway.count()
    results.at_least("accounts after the restart", stored, len(acknowledged), "accounts")
    again = Import(gateway, path).end()
    outcome = {result["account"]: result["result"] for result in again.results()}
    results.equal("the import again: exit code", again.code, 0)
    results.equal("the import again: results", dict(again.counts()), {"imported": site.accounts - stored, "skipped": stored})
    results.equal("acknowledged accounts that it imported again", sum(outcome[account] != "skipped" for account in acknowledged), 0)
    replaced(gateway, path, results)
    counted(gateway, results)
    served(gateway, provider, results)


def interrupted(gateway, path, results):
    """Returns the accounts whose import was acknowledged, and how many refresh tokens were spent."""
    half, over = gateway.site.accounts // 2, threading.Event()
    importing = Import(gateway)
    feeder = threading.Thread(target=feed, args=(importing, path, half), daemon=True)
    users = threading.Thread(target=use, args=(gateway, over), daemon=True)
    for thread in (feeder, users):
        thread.start()
    deadline = time.monotonic() + SECONDS
    while gateway.count() < half:
        if time.monotonic() > deadline:
            raise Failed(f"the import has not come to {half} accounts within {SECONDS} s")
        time.sleep(0.02)
    # A token request whose answer nobody has stored at the end is lost with the process: that is another case, of scripts/faults.
    over.set()
    users.join()
    gateway.kill()
    importing.end()
    acknowledged = [result["account"] for result in importing.results() if result["result"] == "imported"]
    results.figure("kill -9 after", len(acknowledged), "acknowledged lines")
    results.equal("martlet accounts import: exit code when the gateway is gone", importing.code, 69)
    results.append(Check("what it says", importing.text.strip().splitlines()[-1] if importing.text.strip() else "nothing",
                         "how many lines were answered, and that running it again is safe", "again" in importing.text))
    results.equal("it ended before the end of the file", len(acknowledged) < gateway.site.accounts)
    return acknowledged, gateway.provider.stats()["token_requests"]["ok"]


def feed(importing, path, half):
    # The command ends while lines are still to come.
    with open(path, "rb") as file, contextlib.suppress(OSError):
        for line in itertools.islice(file, half):
            importing.input.write(line)
        while lines := list(itertools.islice(file, LINES)):
            importing.input.write(b"".join(lines))
            importing.input.flush()
            time.sleep(PAUSE)
    with contextlib.suppress(OSError):
        importing.input.close()


def use(gateway, over):
    """Uses accounts again and again that may have been imported."""
    numbers = range(0, gateway.site.accounts // 2, REFRESHED)
    while not over.is_set():
        crowd.ask(gateway, (member(number) for number in numbers), connections=16, until=over.is_set)


def replaced(gateway, path, results):
    done = Import(gateway, path, existing="replace").end()
    reasons = {result.get("reason") for result in done.results()}
    results.equal("the import again with --existing replace: results", dict(done.counts()), {"skipped": gateway.site.accounts})
    results.equal("why", reasons, {"imported_before"})


def counted(gateway, results):
    names = [account["name"] for account in gateway.listed()]
    results.equal("accounts that are listed, and how many of them differ", (len(names), len(set(names))), (gateway.site.accounts,) * 2)
    results.equal("they are sorted", names == sorted(names))
    results.equal("accounts by the status", gateway.count(), gateway.site.accounts)


def served(gateway, provider, results):
    """Each account answers, and each successor of a spent token is the one that is kept."""
    answers = crowd.ask(gateway, map(member, range(gateway.site.accounts)))
    results.equal("a request for each account", crowd.said(crowd.outcomes(answers)), f"{gateway.site.accounts:,} 200")
    step = max(gateway.site.accounts // 200 // REFRESHED, 1) * REFRESHED
    numbers = range(0, gateway.site.accounts // 2, step)
    states = [gateway.refresh(member(number)) for number in numbers]
    results.equal("accounts used before kill -9 that are refreshed again", states.count("valid"), len(numbers))
    stats = provider.stats()
    results.equal("refresh tokens that were used twice", stats["reuse_detections"], 0)
    results.equal("token requests that the provider refused", stats["token_requests"]["invalid_grant"], 0)
