"""Runs `martlet accounts import --all`."""

import collections
import json
import os
import subprocess
import time

from harness.processes import Failed

SECONDS = 900


class Import:
    """One import. `source` is a file, or None: then the lines are written to `input`."""

    number = 0

    def __init__(self, gateway, source=None, existing=None):
        Import.number += 1
        self.output, self.errors = (gateway.site.home / f"import-{Import.number}.{kind}" for kind in ("out", "err"))
        command = [gateway.site.programs / "martlet", "accounts", "import", "--all", "--json", "--admin", f"http://127.0.0.1:{gateway.admin}",
                   *(["--existing", existing] if existing else [])]
        self.began, self.seconds, self.peak = time.monotonic(), None, None
        with open(self.output, "wb") as output, open(self.errors, "wb") as errors, open(source or os.devnull, "rb") as file:
            self.process = subprocess.Popen(command, stdin=file if source else subprocess.PIPE, stdout=output, stderr=errors,
                                            env=gateway.environment_of_commands)

    @property
    def input(self):
        return self.process.stdin

    def end(self):
        """Waits for the end. Afterwards `seconds` is how long it took, `peak` the most memory of the command in MiB."""
        deadline = self.began + SECONDS
        while self.process.returncode is None:
            pid, status, usage = os.wait4(self.process.pid, os.WNOHANG)
            if pid:
                self.seconds, self.peak = time.monotonic() - self.began, usage.ru_maxrss / 1024
                self.process.returncode = os.waitstatus_to_exitcode(status)
            elif time.monotonic() > deadline:
                self.process.kill()
                raise Failed(f"the import does not end within {SECONDS} s")
            else:
                time.sleep(0.01)
        return self

    @property
    def code(self):
        return self.process.returncode

    @property
    def text(self):
        """What it says on standard error."""
        return self.errors.read_text(errors="replace")

    def results(self):
        """The results so far, one for each line that was answered."""
        with open(self.output) as file:
            for line in file:
                # The last line may be incomplete, and the summary has no number.
                if line.endswith("\n") and "line" in (result := json.loads(line)):
                    yield result

    def counts(self):
        """How often each result came."""
        return collections.Counter(result["result"] for result in self.results())
