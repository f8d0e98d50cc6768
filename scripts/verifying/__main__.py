"""Lets `martlet` refresh at a token endpoint that accepts only correct assertions, and reports what the endpoint received."""

import argparse
import pathlib
import subprocess
import sys
import tempfile

from verifying.gateway import Gateway
from verifying.provider import Provider, make_key

ALGORITHMS = ["RS256", "ES256"]
REFRESHES = 3


def check_client(program, home, algorithm):
    """private_key_jwt: a client assertion sent with a refresh token; one of the responses is lost."""
    key = make_key(home / "key.pem", algorithm)
    with Provider(key.public_key(), algorithm, issuer="my-app", key_id="k1", field="client_assertion") as provider:
        settings = f"client_auth: private_key_jwt\n    private_key: {{ file: key.pem, algorithm: {algorithm}, key_id: k1 }}"
        with Gateway(program, home, provider.origin, settings, "grant: refresh_token") as gateway:
            gateway.run("accounts", "import", "alice", text=provider.refresh_token)
            provider.lose_next_answer = True
            for _ in range(REFRESHES):
                gateway.run("accounts", "refresh", "alice")
            log = gateway.stop()
        return provider.verdict(at_least=REFRESHES + 1, log=log)


def check_grant(program, home, algorithm):
    """jwt-bearer: the assertion is the grant, and contains the scopes."""
    key = make_key(home / "key.pem", algorithm)
    with Provider(key.public_key(), algorithm, issuer="robot@acme.example", key_id=None, field="assertion") as provider:
        provider.claims = {"sub": "user@acme.example", "scope": "read write"}
        account = (
            "grant: jwt-bearer, scopes: [read, write], assertion: { issuer: robot@acme.example, "
            f"subject: user@acme.example, private_key: {{ file: key.pem, algorithm: {algorithm} }} }}"
        )
        with Gateway(program, home, provider.origin, "client_auth: none", account) as gateway:
            for _ in range(REFRESHES):
                gateway.run("accounts", "refresh", "alice")
            log = gateway.stop()
        return provider.verdict(at_least=REFRESHES, log=log)


def main():
    parser = argparse.ArgumentParser(
        prog="scripts/verify-assertion",
        description="Uses PyJWT to check the signature and claims of each assertion that Martlet signs, and checks that no two "
        "assertions are the same. The script runs its own token endpoint on loopback.",
    )
    parser.add_argument("--program", type=pathlib.Path, help="the martlet program to run (default: builds a release)")
    options = parser.parse_args()

    root = pathlib.Path(__file__).resolve().parents[2]
    if options.program is None:
        build = subprocess.run([root / "scripts/build", "release", "martlet"], check=True, stdout=subprocess.PIPE, text=True)
        options.program = pathlib.Path(build.stdout.strip().splitlines()[-1]) / "martlet"
    program = options.program.resolve()

    failed = 0
    for name, check in [("private_key_jwt", check_client), ("jwt-bearer", check_grant)]:
        for algorithm in ALGORITHMS:
            with tempfile.TemporaryDirectory(prefix="martlet-verify-") as home:
                faults = check(program, pathlib.Path(home), algorithm)
            for fault in faults:
                print(f"verify-assertion: {name} {algorithm}: {fault}", file=sys.stderr)
            print(f"{name} {algorithm}: {'failed' if faults else 'passed'}", flush=True)
            failed += bool(faults)
    passed = 2 * len(ALGORITHMS) - failed
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
