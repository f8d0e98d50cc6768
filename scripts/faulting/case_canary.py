"""The provider puts a known token into its error responses. The search must not find it in Martlet's output."""

import asyncio
import base64
import json

from faulting.canary import search
from faulting.load import Load
from faulting.verdicts import counted
from harness.checks import equals

PLANTED = "planted-" + "Zq4xV0pB7nLm2kTd" * 3


async def run(run):
    hidden = [("plain", f"x{PLANTED}y"), ("hex", PLANTED.encode().hex()), ("base64", base64.b64encode(b"ab" + PLANTED.encode()).decode())]
    found = search([(name, text.encode()) for name, text in hidden], [("it", PLANTED)])
    run.checks.append(equals("spellings that the search itself finds", len(found), len(hidden)))
    rules = [
        {"status": 400, "body": json.dumps({"error": "invalid_grant", "error_description": f"{PLANTED} is dead"})},
        {"status": 400, "body": json.dumps({"error": PLANTED})},
        {"status": 403, "body": PLANTED},
        {"status": 429, "headers": {"Retry-After": "1", "X-Token": PLANTED}, "body": PLANTED},
        {"status": 500, "body": PLANTED},
        {"status": 200, "body": json.dumps({"access_token": PLANTED + " x", "refresh_token": PLANTED})},
        {"status": 200, "body": json.dumps({"ok": False, "error": PLANTED})},
        {"drop": "mid_body"}, {"drop": "after_commit"},
    ]
    async with run.with_cluster(len(rules), access_ttl="60s") as cluster:
        cluster.provider.recorder.tokens.add(PLANTED)
        await cluster.sign_in(whole=False)
        for account, rule in zip(cluster.accounts, rules):
            await cluster.provider.faults({"on": "token", "times": 2, **rule})
            load = Load(cluster, 20, [account], workers=1).begin()
            await asyncio.sleep(0.5)
            await load.end()
            run.checks.append(counted(f"requests under {rule.get('status', rule.get('drop'))}", load.summary))
