"""Bad answers of the provider: the account keeps the tokens that it has, and what was issued is revoked."""

import re
import subprocess
import time

from harness.processes import Failed
from signing.person import Before

# For each account, what is wrong with the answer, and the code of the failure.
FLAWS = {
    "a-refresh": ("no refresh token", {"refresh_token": False}, "no_refresh_token"),
    "a-missing": ("no ID token", {"id_token": "missing"}, "id_token_missing"),
    "a-key": ("an ID token signed by another key", {"id_token": "foreign_key"}, "id_token_invalid"),
    "a-unsigned": ("an ID token without signature", {"id_token": "unsigned"}, "id_token_invalid"),
    "a-iss": ("an ID token of another issuer", {"id_token": "wrong_iss"}, "id_token_invalid"),
    "a-aud": ("an ID token for another client", {"id_token": "wrong_aud"}, "id_token_invalid"),
    "a-nonce": ("an ID token for another request", {"id_token": "wrong_nonce"}, "id_token_invalid"),
    "a-expired": ("an ID token that has expired", {"id_token": "expired"}, "id_token_invalid"),
    "a-subject": ("somebody else", {"subject": "somebody-else"}, "subject_differs"),
}
ACCOUNTS = {account: "acme" for account in FLAWS}


def run(site, gateway, checks):
    for account, (what, members, code) in FLAWS.items():
        site.acme.rules(account=account)
        checks.equal(f"{what}: before, the sign-in is", gateway.sign_in(account)["state"], "done")
        again = f"{account}-again"
        site.acme.rules(**{"account": again, "subject": account, **members})
        before = Before(site.acme)
        said = gateway.sign_in(account)
        checks.equal(f"{what}: the sign-in is", (said["state"], (said["error"] or {}).get("code")), ("failed", code))
        checks.equal(f"{what}: codes redeemed, and sent again", before.codes(), (1, 0))
        checks.equal(f"{what}: live tokens of that answer at the provider", site.acme.settled(again, (0, 0)), (0, 0))
        checks.equal(f"{what}: live tokens of before", site.acme.live(account), (1, 1))
        checks.equal(f"{what}: a request through the gateway", gateway.serves(account), 200)
    replace(site, gateway, checks)


def replace(site, gateway, checks):
    """Another subject that is meant, by a pipe: `martlet login NAME --paste --replace-subject`."""
    site.acme.rules(account="a-subject-again", subject="somebody-else")
    process = subprocess.Popen([site.programs / "martlet", "login", "a-subject", "--paste", "--replace-subject", "--config", gateway.path],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    said, deadline = "", time.monotonic() + 20
    while not (match := re.search(r"^(http://\S+/oauth/authorize\S+)$", said, re.MULTILINE)):
        line = process.stderr.readline()
        if not line or time.monotonic() > deadline:
            raise Failed(f"`martlet login` prints no address: {said}")
        said += line
    out, err = process.communicate(site.decide(match[1]) + "\n", timeout=30)
    site.note("output of commands", said + out + err)
    checks.equal("somebody else, with --replace-subject: the command's exit code", process.returncode, 0)
    checks.equal("somebody else, with --replace-subject: live tokens at the provider", site.acme.live("a-subject-again"), (1, 1))
    checks.equal("somebody else, with --replace-subject: a request through the gateway", gateway.serves("a-subject"), 200)
