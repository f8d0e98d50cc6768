"""Disturbs the SQLite file that all processes share: makes it unavailable for a while, or puts an earlier copy back."""

import contextlib
import errno
import fcntl
import os
import sqlite3
import time

# The offset and number of the locks in a WAL database's shared memory file (sqlite.org/walformat.html, 2.3.1). A process that
# holds all of them keeps other processes from reading, writing and checkpointing.
WAL_LOCKS, WAL_LOCK_COUNT = 120, 8
WAIT_SECONDS = 20


def database_of(state):
    return state / "tokens.db"


@contextlib.contextmanager
def out_of_reach(state):
    """A context in which no other process can read or write the store."""
    descriptor = os.open(f"{database_of(state)}-shm", os.O_RDWR | os.O_CLOEXEC)
    try:
        with alone_writing(database_of(state)):
            until_had(lambda: fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, WAL_LOCK_COUNT, WAL_LOCKS))
            yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def alone_writing(database):
    """A context that holds the lock file which processes lock around each write and each checkpoint, if the file exists."""
    try:
        descriptor = os.open(f"{database}.lock", os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        yield
        return
    try:
        until_had(lambda: fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB))
        yield
    finally:
        os.close(descriptor)


def until_had(take):
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            return take()
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES) or time.monotonic() > deadline:
                raise
        time.sleep(0.001)


def copy(state, place):
    """Writes a backup of the current store to `place`."""
    with opened(database_of(state)) as live, opened(place) as target:
        live.backup(target)


def put_back(place, state):
    """Restores the backup at `place` into the database while other processes use it, in one ordinary write."""
    database = database_of(state)
    with alone_writing(database), opened(place) as source, opened(database) as live:
        live.execute("PRAGMA wal_autocheckpoint = 0")
        source.backup(live)


@contextlib.contextmanager
def opened(path):
    with contextlib.closing(sqlite3.connect(path, timeout=WAIT_SECONDS, isolation_level=None)) as connection:
        yield connection
