"""Runs several Martlets on a store, PostgreSQL or Redis, breaks the network and the databases between them, and checks the results.

Each replica, and each database, is on a host (a network namespace) of its own, with a state_dir of its own. All of them reach a
`martlet-mock`, which rotates refresh tokens and treats a second use of a refresh token as theft. The script, its hosts and its
processes are in namespaces that nothing else on the machine sees, and the kernel ends all of them with the script. It needs root;
the databases run as the user postgres or redis. All random choices come from the seed. The script prints each measured value
beside its bound. When a bound is broken or a case fails, it also prints the seed, the history (what was done to which process and
when), the mock's statistics and the ends of the logs, and exits 1.

--store chooses the store. Redis is a primary with two replicas and three Sentinels, which promote a replica by themselves. Where a
case differs on Redis, it says so.

  apparatus  the hosts, their network and the databases, without Martlet: a cut is a cut, a synchronous standby loses nothing. On
             Redis, the Sentinels promote within seconds, and a failover loses a write that a replica has acknowledged
  restarts   300 accounts with tokens of 20 s, five minutes of load at three replicas; each minute PostgreSQL is restarted, in turn
             fast and immediate, once for 15 s: no refresh token is sent twice, no account dies, and requests fail only with
             store_lost or refresh_failed, and only while the store is away or up to 15 s later. On Redis first with one server
             (appendfsync always), then with the primary of the Sentinels at that time
  failover   a synchronous standby. The primary and one replica are cut off from everybody but the provider, and the standby is
             promoted: the other replicas go on, the isolated one stops within its lease, a kill completes and holds, and no grant
             is lost except those of token requests that are open on the isolated replica for longer than their claim stands.
             On Redis the Sentinels promote a replica, and make a replica of the old primary after the cut
  failover-async  the same with an asynchronous standby, which has lost the last commits: the replicas that know them put them
             back, and no grant that only they use is lost. What the isolated replica destroys is counted. On Redis, one of
             the two replicas acknowledges what the other never gets, and is isolated too. Then without isolation: the primary and
             the replica that acknowledged the last refreshes and a kill are killed (SIGKILL), and the Sentinels promote the other:
             no grant is lost, and the kill is in the store again and was in force all the time
  kills      500 kills over three replicas under load: p99 at most 250 ms. Then 20 kills with one replica cut off from the store:
             complete within its lease × 1.05 + 1 s + a poll. No head with a dead token is read more than 100 ms after that
  rolling    one replica after another is stopped (SIGTERM) and started again, while callers use the others: no request fails
  cut        one replica is cut off from the store for a minute: it stops within its lease, no grant is lost, and it serves again. A
             kill ordered there meanwhile is in force there at once, and complete after the cut
  skew       one wall clock is 2 s ahead, one 2 s behind, and one replica's clocks run 5 % fast or slow: refreshes and kills hold,
             and the replicas know how far their clocks are off
  idle       10,000 accounts: how long imports take, at most 2 calls of the store per second and idle replica, and at most 5 per
             refresh
  rate       refreshes per second with one process and with three, on this store and on SQLite
  storms     all access tokens expire at once, under load: one refresh per account and storm

After each case the script also searches logs, metrics, admin responses, the database and the state directories for every token
that the provider issued, and checks that no process ended by itself. A full run is --minutes 5; --quick is --minutes 0.5.
"""

import os
import shutil
import sys

from faulting.history import say
from faulting.suite import Suite
from harness.processes import Failed
from replicating import postgres, redis
from replicating.network import Network, isolate
from replicating.run import Run

# The time limit of each case in a full run, in seconds.
CASES = {"apparatus": 240, "restarts": 600, "failover": 400, "failover-async": 300, "kills": 1200, "rolling": 600, "cut": 300, "skew": 600,
         "idle": 1500, "rate": 600, "storms": 400}
# The module of each store, and its class. Redis runs two of the cases twice.
STORES, LONGER = {"postgres": (postgres, postgres.Postgres), "redis": (redis, redis.Redis)}, {"restarts": 1200, "failover-async": 600}


def main():
    suite = Suite("replicas", "replicating", CASES, __doc__, "--seed 7 --quick --cases cut,rolling")
    suite.parser.add_argument("--quick", action="store_const", const=0.5, dest="minutes", help="the same as --minutes 0.5")
    suite.parser.add_argument("--store", choices=STORES, default="postgres", help="the store to run on (default: %(default)s)")
    options = suite.parse()
    module, make_store = STORES[options.store]
    if options.store == "redis":
        suite.cases = CASES | LONGER
    if os.geteuid() != 0:
        say("needs root, for its own network; the databases do not run as root")
        sys.exit(77)
    try:
        module.require()
        if "skew" in options.cases and not shutil.which("cc"):
            raise Failed("cc is missing (Debian: gcc and libc6-dev)")
        if options.cases != ["apparatus"]:
            suite.find_programs(options)
        isolate()
        network = Network(make_store.hosts)
        network.start()
    except (Failed, OSError) as error:
        say(str(error))
        sys.exit(69)
    suite.run(options, lambda *parts: Run(*parts, network, make_store))


main()
