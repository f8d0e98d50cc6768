"""A PostgreSQL server on loopback that can go away and come back."""

import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import time

from harness.checks import Skipped
from harness.processes import Failed, free_port

# PostgreSQL refuses to run as root.
USER = "postgres"
SECONDS = 60


class Postgres:
    def __init__(self, home):
        versions = sorted(pathlib.Path("/usr/lib/postgresql").glob("[0-9]*/bin/postgres"), key=lambda path: int(path.parts[4]))
        if not versions:
            raise Skipped("there is no /usr/lib/postgresql/*/bin/postgres (Debian: postgresql)")
        self.programs, self.place, self.port, self.process = versions[-1].parent, home / "postgres", free_port(), None
        self.data, self.log = self.place / "data", self.place / "log"
        self.place.mkdir()
        if os.geteuid() == 0:
            shutil.chown(self.place, USER, USER)
            home.chmod(0o711)
        self.tell("initdb", "-D", self.data, "-U", "martlet", "-E", "UTF8", "--locale=C.UTF-8", "--auth=trust", "--no-sync")
        self.start()
        self.tell("createdb", "-h", self.place, "-p", self.port, "-U", "martlet", "martlet")

    @property
    def url(self):
        return f"postgres://martlet@127.0.0.1:{self.port}/martlet?sslmode=disable"

    def command(self, name, *arguments):
        become = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--init-groups", "--reset-env", "--"] if os.geteuid() == 0 else []
        return [*become, self.programs / name, *map(str, arguments)]

    def tell(self, name, *arguments):
        done = subprocess.run(self.command(name, *arguments), capture_output=True, text=True, timeout=SECONDS, cwd="/")
        if done.returncode:
            raise Failed(f"{name}: {done.stderr.strip()[-300:]}")

    def start(self):
        with open(self.place.parent / "postgres.log", "ab") as log:
            self.process = subprocess.Popen(
                self.command("postgres", "-D", self.data, "-p", self.port, "-k", self.place, "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"),
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/", start_new_session=True)
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            with contextlib.suppress(Failed):
                return self.tell("pg_isready", "-h", self.place, "-p", self.port)
            time.sleep(0.1)
        raise Failed("PostgreSQL does not start")

    def stop(self):
        if self.process and self.process.poll() is None:
            # An immediate shutdown, as in a crash.
            self.process.send_signal(signal.SIGQUIT)
            self.process.wait(SECONDS)
