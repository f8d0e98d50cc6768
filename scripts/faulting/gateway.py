"""One process of several that share their tokens: it is started, killed, stopped and started again."""

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
    """Has a name, a listener and an admin address for the whole case, and a boot for each process that it was."""

    def __init__(self, name, cluster):
        self.name, self.cluster = name, cluster
        self.port, self.admin = free_port(), free_port()
        self.boots, self.process = 0, None
        # When each boot was killed, or asked to end; and [from, until] of each stop.
        self.kills, self.stops = {}, []
        # The return codes of boots that ended otherwise.
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
        """By what was done to it: killed, and not started again yet, or stopped. One that ended by itself is not."""
        return self.process is None or self.is_held or self.process.name in self.kills

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
            process = Process(self.boot, [self.cluster.program, "serve", "--config", configuration], log,
                              stdout=subprocess.PIPE, env={**os.environ, **(environment or {})})
        # Whatever comes of it: the cluster ends it.
        self.cluster.processes.append(process)
        process.first_line()
        return process

    def kill(self):
        self.look()
        # There is nobody to kill any more, and what came of that is not explained by a kill.
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
        """SIGTERM: from now on it serves nobody new, and is down."""
        self.look()
        if self.boot not in self.ends:
            self.kills[self.boot] = time.monotonic()
            self.cluster.history.note(f"{self.boot} is asked to end")
            self.process.process.terminate()

    async def end_code(self, limit):
        """The return code of a process that was asked to end, and how long it took; None where it goes on for longer than `limit`."""
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
        """Whether it has ended by SIGKILL, as it was told to when it was started; one that ended otherwise is noted."""
        if self.process.process.poll() != -signal.SIGKILL:
            self.look()
            return False
        self.kills[self.boot] = time.monotonic()
        self.process.process.stdout.close()
        return True

    def look(self):
        """Notes a process that has ended although nobody ended it."""
        code = self.process.process.poll() if self.process else None
        if code is not None and self.process.name not in self.kills and self.process.name not in self.ends:
            self.has_ended(code)

    def has_ended(self, code):
        self.ends[self.process.name] = code
        self.cluster.history.note(f"{self.process.name} has ended by itself, with return code {code}")

    def hold(self):
        """SIGSTOP."""
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
        """An answer of the admin listener: its status, and its body as it is."""
        caller = Caller(self.admin)
        content = json.dumps(body).encode() if body is not None else b""
        fields = {"Authorization": f"Bearer {self.cluster.admin_token}", "Content-Type": "application/json"}
        try:
            status, _, answer = await asyncio.wait_for(caller.fetch(method, path, fields, content), limit)
        except asyncio.TimeoutError:
            raise Failed(f"{self.boot} does not answer {method} {path} within {limit} s") from None
        finally:
            caller.close()
        return status, answer

    def log_lines(self):
        """What it has logged in all its boots, as objects with `at` on the monotonic clock."""
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
        """Lines of the Swift runtime, which are no JSON: a trap, or a sanitizer's."""
        return [line for line in self.log_path.read_text(errors="replace").splitlines()
                if re.search(r"Fatal error|[Cc]rashed|\*\*\* Signal \d|AddressSanitizer|ThreadSanitizer|LeakSanitizer|runtime error:", line)]
