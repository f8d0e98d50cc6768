"""Starts the processes of a case: the gateway, an upstream and helpers. All of them end with the case."""

import json
import resource
import subprocess
import sys

from harness.checks import Skipped
from harness.processes import Failed, Process, ask, free_port

TOKEN = "stress-" + "abcdefgh" * 14


def say(text):
    print(f"stress: {text}", file=sys.stderr, flush=True)


class Gateway(Process):
    """A martlet process. Two with the same `home` share the configuration, the tokens and the addresses."""

    def __init__(self, program, log, home, port, admin, arguments=(), descriptors=None):
        self.program, self.home, self.port, self.admin = program, home, port, admin
        limit = (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))) if descriptors else None
        super().__init__("martlet", [program, "serve", "--config", home / "martlet.yaml", *arguments], log,
                         stdout=subprocess.PIPE, preexec_fn=limit)
        try:
            # The gateway prints its address once it serves.
            self.first_line()
        except BaseException:
            # No other code can end the process yet.
            self.end()
            raise

    def import_tokens(self):
        tokens = json.dumps({"refresh_token": "stress", "access_token": TOKEN, "expires_in": 86400})
        done = ask([self.program, "accounts", "import", "stress", "--config", self.home / "martlet.yaml"], input=tokens)
        if done.returncode != 0:
            raise Failed(f"the import into martlet failed: {done.stderr.strip()}")


class Processes:
    def __init__(self, work, options):
        self.work, self.options = work, options
        self.log = open(work / "log", "w")
        self.running = []

    def share(self, count):
        return max(1, int(count * self.options.share))

    @staticmethod
    def need_descriptors(count):
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard < count + 500:
            raise Skipped(f"needs {count + 500} file descriptors; the hard limit is {hard}")

    def keep(self, process):
        self.running.append(process)
        return process

    def python(self, module, *arguments, **options):
        return self.keep(Process(module, [sys.executable, "-m", f"stressing.{module}", *arguments], self.log, **options))

    def upstream(self):
        """Starts an upstream and returns its port."""
        port = free_port()
        self.python("upstream", port, stdout=subprocess.DEVNULL).wait_for(port)
        return port

    def gateway(self, upstream, descriptors=None, connections=16384):
        port, admin, home = free_port(), free_port(), self.work / f"gateway-{len(self.running)}"
        home.mkdir()
        configuration = f"""
listeners: [{{ address: 127.0.0.1:{port} }}]
admin: {{ address: 127.0.0.1:{admin} }}
state_dir: {home}/state
log: {{ level: warning, access: false }}
providers:
  none: {{ token_endpoint: "http://127.0.0.1:9/token", client_id: stress }}
accounts:
  stress: {{ provider: none }}
routes:
  - {{ name: api, match: {{ path: / }}, upstream: "http://127.0.0.1:{upstream}/", account: stress, max_connections: 16384 }}
"""
        # The default of `limits.connections` is too low for some cases. A gateway without that limit rejects the key, so the
        # second attempt leaves it out.
        for limits in (f"limits: {{ connections: {connections} }}\n", ""):
            (home / "martlet.yaml").write_text(configuration + limits)
            check = ask([self.options.program, "check", "--config", home / "martlet.yaml"])
            if check.returncode == 0:
                break
        else:
            raise Failed(f"martlet refuses the configuration: {check.stderr.strip()}")
        gateway = self.keep(Gateway(self.options.program, self.log, home, port, admin, descriptors=descriptors))
        gateway.import_tokens()
        return gateway

    def log_tail(self):
        self.log.flush()
        return (self.work / "log").read_text()[-2000:]

    def stop(self):
        for process in reversed(self.running):
            process.end()
        self.log.close()
