"""Starts, kills, stops and restarts one of several gateway processes that share their tokens."""

import asyncio
import json
import os
import re
import signal
import subprocess
import time

from harness.client import Caller
from harness.processes import Failed, Process, free_port


class Gateway:
    """A gateway that keeps its name, its port and its admin port for the whole case. Each of its processes is one boot."""

    def __init__(self, name, cluster):
        self.name, self.cluster = name, cluster
        self.port, self.admin = free_port(), free_port()
        self.boots, self.process = 0, None
        # When each boot was killed or asked to end, and [from, until] of each stop (until is None while it lasts).
        self.kills, self.stops = {}, []
        # The return codes of boots that ended by themselves.
        self.ends = {}
        self.is_held = False

    @property
    def boot(self):
        return f"{self.name}.{self.boots}"

    @property
    def is_up(self):
        return self.process is not None and self.process.is_alive and not self.is_held

    @property
    def is_down(self):
        """Whether the test has killed it and not restarted it yet, or has stopped it. A process that ended by itself is not down."""
        return self.process is None or self.is_held or self.process.name in self.kills

    @property
    def state(self):
        return self.cluster.state

    @property
    def admin_token(self):
        return (self.state / "admin.token").read_text().split()[0]

    @property
    def log_path(self):
        return self.cluster.work / f"{self.name}.log"

    async def start(self, environment=None):
        self.boots += 1
        configuration = self.cluster.work / f"{self.name}.yaml"
        configuration.write_text(self.cluster.configuration(self))
        self.process = await asyncio.to_thread(self.launch, configuration, environment)
        self.cluster.history.note(f"{self.boot} serves on port {self.port} (process {self.process.process.pid})")

    def launch(self, configuration, environment):
        with open(self.log_path, "a") as log:
            process = Process(self.boot, self.command(configuration), log, stdout=subprocess.PIPE, env={**os.environ, **(environment or {})})
        # The cluster must end the process, even if it fails to start.
        self.cluster.processes.append(process)
        process.first_line()
        return process

    def command(self, configuration):
        return [self.cluster.program, "serve", "--config", configuration]

    def kill(self):
        self.look()
        # The process has ended by itself, so a kill must not be recorded as the explanation of what follows.
        if self.boot in self.ends:
            return
        self.kills[self.boot] = time.monotonic()
        self.cluster.history.note(f"{self.boot} is killed")
        self.process.process.kill()
        code = self.process.process.wait()
        self.process.process.stdout.close()
        if code != -signal.SIGKILL:
            self.has_ended(code)

    def ask_to_end(self):
        """Sends SIGTERM. From now on the process accepts no new caller and counts as down."""
        self.look()
        if self.boot not in self.ends:
            self.kills[self.boot] = time.monotonic()
            self.cluster.history.note(f"{self.boot} is asked to end")
            self.process.process.terminate()

    async def end_code(self, limit):
        """Waits for a process that was asked to end. Returns its return code (None if it runs longer than `limit` seconds), and how
        long it took."""
        begun = time.monotonic()
        try:
            code = await asyncio.to_thread(self.process.process.wait, limit)
        except subprocess.TimeoutExpired:
            code = None
        else:
            self.process.process.stdout.close()
        self.cluster.history.note(f"{self.boot} has ended with return code {code}")
        return code, time.monotonic() - begun

    def has_killed_itself(self):
        """Returns whether the process has ended by SIGKILL, which a failpoint does. Another end is noted as unexpected."""
        if self.process.process.poll() != -signal.SIGKILL:
            self.look()
            return False
        self.kills[self.boot] = time.monotonic()
        self.process.process.stdout.close()
        return True

    def look(self):
        """Notes it if the process has ended by itself."""
        code = self.process.process.poll() if self.process else None
        if code is not None and self.process.name not in self.kills and self.process.name not in self.ends:
            self.has_ended(code)

    def has_ended(self, code):
        self.ends[self.process.name] = code
        self.cluster.history.note(f"{self.process.name} has ended by itself, with return code {code}")

    def hold(self):
        """Sends SIGSTOP."""
        self.process.process.send_signal(signal.SIGSTOP)
        self.is_stopped()

    def is_stopped(self):
        self.is_held = True
        self.stops.append([time.monotonic(), None])
        self.cluster.history.note(f"{self.boot} is stopped")

    def go_on(self):
        self.stops[-1][1] = time.monotonic()
        self.process.process.send_signal(signal.SIGCONT)
        self.is_held = False
        self.cluster.history.note(f"{self.boot} goes on")

    async def ask(self, method, path, body=None, limit=20):
        """Sends a request to the admin listener. Returns the status and the raw body of the response."""
        caller = Caller(self.admin)
        content = json.dumps(body).encode() if body is not None else b""
        fields = {"Authorization": f"Bearer {self.admin_token}", "Content-Type": "application/json"}
        try:
            status, _, answer = await asyncio.wait_for(caller.fetch(method, path, fields, content), limit)
        except asyncio.TimeoutError:
            raise Failed(f"{self.boot} did not respond to {method} {path} within {limit} s") from None
        finally:
            caller.close()
        return status, answer

    def log_lines(self):
        """Yields the log entries of all boots as dictionaries, with the time as `at` on the monotonic clock."""
        for line in self.log_path.read_text(errors="replace").splitlines():
            try:
                facts = json.loads(line)
            except ValueError:
                # Cut short by a kill.
                continue
            facts["at"] = self.cluster.history.moment(facts.get("time", ""))
            facts["process"] = self.name
            yield facts

    def fatal_lines(self):
        """Returns the log lines of the Swift runtime or of a sanitizer, which are not JSON: traps and sanitizer reports."""
        return [line for line in self.log_path.read_text(errors="replace").splitlines()
                if re.search(r"Fatal error|[Cc]rashed|\*\*\* Signal \d|AddressSanitizer|ThreadSanitizer|LeakSanitizer|runtime error:", line)]
