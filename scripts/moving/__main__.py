"""Moves, copies and mirrors the store of two Martlets between SQLite, PostgreSQL and Redis, and checks that nothing is lost.

Two gateways share a state_dir and have a store in common. The databases are real servers with TLS on a host (a network namespace)
of their own; nothing else on the machine sees the script, its hosts and its processes, and the kernel ends all of them with the
script. It needs root; the databases run as the users postgres and redis. A `martlet-mock` rotates refresh tokens and treats a
second use of a refresh token as theft. All random choices come from the seed. The script prints each measured value beside its
bound. When a bound is broken or a case fails, it also prints the seed, the history (what was done to which process and when), the
mock's statistics and the ends of the logs, and exits 1.

  round    10,000 accounts under load move from SQLite to PostgreSQL, to Redis and to SQLite again. The gateways take over from each
           other (serve --takeover) with the driver migrating, and later with the new store alone. No request fails, no account is
           lost, each refresh token is sent once, all records of the new store open, and none is left in the old one. In each move
           an account is killed, and stays killed
  killed   both gateways are killed (SIGKILL) when half of 3,000 accounts have moved, and start again: the move goes on and ends.
           Then the same around the moment at which the gateways go over to the new store, several times
  undone   both gateways are stopped when a part of 3,000 accounts has moved, and start with the two stores exchanged: all records
           are in the first store again, and none is in the second
  mirror   300 accounts under load on PostgreSQL, mirrored to Redis, and in a full run to SQLite too. The mirror is away for a
           minute, and then does not answer for a while: no request fails, and the mirror catches up. Accounts are refreshed,
           imported, removed and killed meanwhile. In the end all records are the same, byte for byte
  lost     the primary of a mirrored store is lost: a gateway refuses to start from the mirror, and starts with
           --accept-older-store. No account is lost, and what was killed stays killed
  copy     martlet store copy brings 10,000 accounts from SQLite to PostgreSQL and on to Redis, without gateways: how long that
           takes. A copy that is killed is continued by the next one. While a gateway runs, nothing is copied

After each case the script also searches logs, metrics, admin responses, the databases and the state directories for every token
that the provider issued, and checks that no process ended by itself. A full run is --minutes 5; --quick is --minutes 0.5.
"""

import os
import sys

from faulting.history import say
from faulting.suite import Suite
from harness.processes import Failed
from moving.databases import HOST, require
from moving.run import Run, let_listeners_migrate
from replicating.network import Network, isolate

# The time limit of each case in a full run, in seconds.
CASES = {"round": 1500, "killed": 900, "undone": 400, "mirror": 500, "lost": 300, "copy": 900}


def main():
    suite = Suite("moves", "moving", CASES, __doc__, "--seed 7 --quick --cases round,undone")
    suite.parser.add_argument("--quick", action="store_const", const=0.5, dest="minutes", help="the same as --minutes 0.5")
    options = suite.parse()
    if os.geteuid() != 0:
        say("needs root, for its own network; the databases do not run as root")
        sys.exit(77)
    try:
        require()
        suite.find_programs(options)
        isolate()
        network = Network((HOST,))
        network.start()
        let_listeners_migrate(network)
    except (Failed, OSError) as error:
        say(str(error))
        sys.exit(69)
    suite.run(options, lambda *parts: Run(*parts, network))


main()
