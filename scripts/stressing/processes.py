"""What a case starts: the gateway, an upstream, and helpers. All of it ends with the case."""

import contextlib
import json
import os
import pathlib
import re
import resource
import select
import socket
import subprocess
import sys
import time

from stressing.checks import Skipped

TOKEN = "stress-" + "abcdefgh" * 14
START_SECONDS = 30
COMMAND_SECONDS = 30


class Failed(Exception):
    pass


def say(text):
    print(f"stress: {text}", file=sys.stderr, flush=True)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def ask(command, **options):
    """Runs a command that ends by itself."""
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=COMMAND_SECONDS, **options)
    except subprocess.TimeoutExpired:
        raise Failed(f"`martlet {command[1]}` does not end within {COMMAND_SECONDS} s") from None


class Process:
    def __init__(self, name, command, log, **options):
        self.name = name
        self.process = subprocess.Popen([str(one) for one in command], stderr=log, stdin=subprocess.DEVNULL, **options)

    @property
    def is_alive(self):
        return self.process.poll() is None

    def memory(self, key):
        """A line of /proc/PID/status in KiB: VmRSS, or VmHWM, the most that VmRSS ever was."""
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(rf"{key}:\s+(\d+)", text)[1])

    def wait_for(self, port):
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            if not self.is_alive:
                raise Failed(f"{self.name} ended while starting")
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                return
            time.sleep(0.05)
        raise Failed(f"{self.name} does not listen on port {port}")

    def end(self):
        self.process.terminate()
        try:
            return self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


class Gateway(Process):
    """A martlet. One with a `home` of another shares its configuration, its tokens and its addresses."""

    def __init__(self, program, log, home, port, admin, arguments=(), descriptors=None):
        self.program, self.home, self.port, self.admin = program, home, port, admin
        limit = (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))) if descriptors else None
        super().__init__("martlet", [program, "serve", "--config", home / "martlet.yaml", *arguments], log,
                         stdout=subprocess.PIPE, preexec_fn=limit)
        try:
            self.wait_until_serving()
        except BaseException:
            # Nobody else knows of it yet.
            self.end()
            raise

    def wait_until_serving(self):
        """It says where it serves once it does, in a line on its standard output."""
        output, deadline, said = self.process.stdout.fileno(), time.monotonic() + START_SECONDS, b""
        while b"\n" not in said:
            readable, _, _ = select.select([output], [], [], max(0, deadline - time.monotonic()))
            if not readable:
                raise Failed(f"martlet does not say within {START_SECONDS} s that it serves")
            piece = os.read(output, 4096)
            if not piece:
                raise Failed("martlet did not start")
            said += piece

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
        """The port of a new one."""
        port = free_port()
        self.python("upstream", port, stdout=subprocess.DEVNULL).wait_for(port)
        return port

    def gateway(self, upstream, descriptors=None):
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
        # Its default is below what some cases need; a gateway that has no such limit does not know the key.
        for limits in ("limits: { connections: 16384 }\n", ""):
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
