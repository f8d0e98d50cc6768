"""Builds the programs for a long check, and ends the check in order."""

import os
import pathlib
import signal
import subprocess
import sys


def build(root, *products):
    """Builds a release of the products in a separate process group, so that the build can be ended with all its child processes.
    Returns the directory of the programs."""
    process = subprocess.Popen([root / "scripts/build", "release", *products], stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        said, _ = process.communicate()
    except BaseException:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()
        raise
    if process.returncode:
        sys.exit(69)
    return pathlib.Path(said.strip().splitlines()[-1])


def leave(*_):
    """Exits so that the started processes are ended, as after any failure. A second SIGTERM does not interrupt that."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(143)
