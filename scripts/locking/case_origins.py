"""Keys from where operators keep them: systemd's credentials, gpg and pass."""

import base64
import os
import shutil
import subprocess

from harness.checks import Check
from harness.processes import Failed, ask
from locking.site import Gateway, wait_for


def run(site, checks):
    provider = site.provider("--access-ttl", "1h")
    credential(site, provider, checks)
    for program, trial in (("gpg", gpg), ("pass", password_store)):
        if shutil.which(program):
            trial(site, provider, checks)
        else:
            checks.append(Check(f"{program}: all", f"there is no {program} on the PATH", "", None))


def opens(gateway, checks, what):
    """The key opens a new store, the same after a restart, and after a lock."""
    gateway.start()
    gateway.sign_in("alice")
    checks.equal(f"{what}: callers get", gateway.get("alice"), (200, None))
    gateway.end()
    gateway.start()
    checks.equal(f"{what}, restarted: state", gateway.lock_state, "open")
    gateway.locked()
    checks.equal(f"{what}, locked: callers get", gateway.get("alice"), (503, "locked"))
    checks.equal(f"{what}, locked: martlet unlock exits with", gateway.command("unlock").returncode, 0)
    wait_for("alice is served", lambda: gateway.get("alice") == (200, None))


def credential(site, provider, checks):
    """The directory as systemd hands it to a service: read-only, of the service's user."""
    place = site.file("credentials/martlet-key", new_key(), 0o400).parent
    place.chmod(0o500)
    gateway = Gateway(site, "credential", provider, ["alice"], key="{ credential: martlet-key }", environment={"CREDENTIALS_DIRECTORY": str(place)})
    opens(gateway, checks, "a credential")
    gateway.end()
    gateway.environment = {}
    command = [site.programs / "martlet", "serve", "--config", gateway.path]
    done = ask(command, env={name: value for name, value in os.environ.items() if name != "CREDENTIALS_DIRECTORY"})
    checks.equal("a credential, without systemd: martlet serve exits with", done.returncode, 78)
    checks.append(Check("a credential, without systemd: martlet serve says", done.stderr.strip().splitlines()[-1][:200], "LoadCredential=",
                        "LoadCredential=" in done.stderr))
    place.chmod(0o700)


def gpg(site, provider, checks):
    """gpg decrypts a file, with a passphrase that may be taken away."""
    home = gpg_home(site)
    key, sealed, passphrase = site.file("plain", new_key()), site.home / "key.gpg", site.file("gpg-passphrase", "a long one")
    options = ["gpg", "--homedir", str(home), "--batch", "--quiet", "--pinentry-mode", "loopback", "--passphrase-file", str(passphrase)]
    tell([*options, "--symmetric", "--output", str(sealed), str(key)])
    key.unlink()
    try:
        words = ", ".join([*options, "--no-symkey-cache", "--decrypt", str(sealed)])
        gateway = Gateway(site, "gpg", provider, ["alice"], key=f"{{ command: [{words}] }}")
        opens(gateway, checks, "gpg")
        gateway.locked()
        site.file("gpg-passphrase", "another one")
        done = gateway.command("unlock")
        checks.equal("gpg says no: martlet unlock exits with", done.returncode, 1)
        checks.append(Check("gpg says no: martlet unlock says", done.stderr.strip()[:200], "its words",
                            "gpg:" in done.stderr and "exit code 2" in done.stderr))
        site.file("gpg-passphrase", "a long one")
        checks.equal("gpg says yes again: martlet unlock exits with", gateway.command("unlock").returncode, 0)
        gateway.end()
    finally:
        subprocess.run(["gpgconf", "--homedir", str(home), "--kill", "all"], capture_output=True)


def password_store(site, provider, checks):
    home, variables = gpg_home(site), {"PASSWORD_STORE_DIR": str(site.home / "passwords"), "GNUPGHOME": str(site.home / "gnupg")}
    environment = {**os.environ, **variables}
    try:
        options = ["--batch", "--quiet", "--passphrase", ""]
        tell(["gpg", *options, "--quick-gen-key", "martlet@example.com", "default", "default", "never"], env=environment)
        tell(["pass", "init", "martlet@example.com"], env=environment)
        tell(["pass", "insert", "--multiline", "martlet"], env=environment, input=new_key())
        opens(Gateway(site, "pass", provider, ["alice"], key="{ command: [pass, show, martlet] }", environment=variables), checks, "pass")
    finally:
        subprocess.run(["gpgconf", "--homedir", str(home), "--kill", "all"], capture_output=True)


def gpg_home(site):
    home = site.home / "gnupg"
    home.mkdir(mode=0o700, exist_ok=True)
    return home


def new_key():
    return base64.b64encode(os.urandom(32)).decode() + "\n"


def tell(command, **options):
    done = ask(command, **options)
    if done.returncode:
        raise Failed(f"{command[0]}: {done.stderr.strip()[-300:]}")
