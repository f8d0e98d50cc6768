"""A `martlet serve` process with one account, whose tokens come from the given provider."""

import re
import subprocess
import time


class Gateway:
    def __init__(self, program, home, origin, provider, account):
        self.program, self.home = program, home
        (home / "martlet.yaml").write_text(
            f"""\
listeners: [{{ address: 127.0.0.1:0 }}]
admin: {{ address: 127.0.0.1:0 }}
state_dir: {home}/state
log: {{ level: trace }}
providers:
  acme:
    token_endpoint: {origin}/token
    client_id: my-app
    {provider}
accounts:
  alice: {{ provider: acme, {account} }}
routes:
  - {{ name: acme, match: {{ path: / }}, upstream: "{origin}/api/", account: alice }}
"""
        )
        self.log = (home / "log").open("w")
        self.process = None

    def __enter__(self):
        self.process = subprocess.Popen(
            [self.program, "serve", "--config", "martlet.yaml"],
            cwd=self.home, stdin=subprocess.DEVNULL, stdout=(self.home / "out").open("w"), stderr=self.log,
        )
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and self.process.poll() is None:
            found = re.search(r"admin: (http\S+)", (self.home / "out").read_text())
            if found:
                self.admin = found[1]
                return self
            time.sleep(0.05)
        self.__exit__()
        raise SystemExit("the gateway did not start:\n" + (self.home / "log").read_text())

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.log.close()

    def run(self, *arguments, text=None):
        """Runs another command of the program, and prints its error if it fails."""
        done = subprocess.run(
            [self.program, *arguments, "--admin", self.admin, "--admin-token-file", self.home / "state/admin.token"],
            cwd=self.home, input=text or "", text=True, capture_output=True, timeout=60,
        )
        if done.returncode != 0:
            print(f"verify-assertion: martlet {' '.join(arguments)}: {done.stderr.strip()}")

    def stop(self):
        """Stops the gateway with SIGTERM and returns its log and output."""
        self.process.terminate()
        self.process.wait(30)
        return (self.home / "log").read_text() + (self.home / "out").read_text()
