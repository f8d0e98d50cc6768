"""What is done to the SQLite file that all processes share: it is out of reach for a while, or an earlier copy is put back."""

import contextlib
import errno
import fcntl
import os
import sqlite3
import time

# Where a WAL database's shared memory has its locks (sqlite.org/walformat.html, 2.3.1): who holds them all keeps everyone else from
# reading, writing and checkpointing.
WAL_LOCKS, WAL_LOCK_COUNT = 120, 8
WAIT_SECONDS = 20


def database_of(state):
    return state / "tokens.db"


@contextlib.contextmanager
def out_of_reach(state):
    """Nobody else can read or write the store."""
    descriptor = os.open(f"{database_of(state)}-shm", os.O_RDWR | os.O_CLOEXEC)
    try:
        with alone_writing(database_of(state)):
            until_had(lambda: fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, WAL_LOCK_COUNT, WAL_LOCKS))
            yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def alone_writing(database):
    """With the lock file that processes take around each write and each checkpoint, where there is one."""
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
    """A backup of what is stored now."""
    with opened(database_of(state)) as live, opened(place) as target:
        live.backup(target)


def put_back(place, state):
    """A backup into the database itself, while others use it: one write, as anybody's."""
    database = database_of(state)
    with alone_writing(database), opened(place) as source, opened(database) as live:
        live.execute("PRAGMA wal_autocheckpoint = 0")
        source.backup(live)


@contextlib.contextmanager
def opened(path):
    with contextlib.closing(sqlite3.connect(path, timeout=WAIT_SECONDS, isolation_level=None)) as connection:
        yield connection
