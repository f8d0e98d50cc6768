"""Fault injection: breaks what several Martlet processes with a shared store depend on, and checks the results.

Starts `martlet` processes that share one state_dir and one SQLite file, in front of a `martlet-mock`. The mock rotates
refresh tokens and treats a second use of a refresh token as theft. All processes use free loopback ports and a temporary
directory, and the script ends every process that it started. All random choices come from the seed. The script prints each
measured value beside its bound. When a bound is broken or a case fails, it also prints the seed, the history (what was done
to which process and when), the mock's statistics and the ends of the logs, and exits 1.

  shared   four processes, 200 accounts with tokens of 3 s, a minute of load: each refresh token is spent once, and no
           request fails
  killed   as shared, but each second a random process is killed and restarted. The provider's grace (how long a spent
           refresh token is still accepted) is 20, 5 and 0 s in turn. No account dies where the grace suffices. Otherwise
           an account dies only if its POST was sent and the response was not committed, with one log event each
  lost     the provider rotates the refresh token and its response is lost: with a grace of 5 s the account recovers within
           20 s; without a grace it is declared dead once, without a retry loop
  waiters  10,000 callers wait for a provider that takes 5 s: one token request is sent and every caller gets a response;
           then the same with half of the callers leaving
  away     the provider is away for half of a token's life: no request fails. Then with expired tokens: callers get 503
           with Retry-After. Token requests, or attempts to send one, number no more than the steps of one backoff shared
           by all processes, and no two overlap
  stopped  SIGSTOP of 3, 13 and 30 s, at chosen moments of a refresh and at random moments: each refresh token is spent
           once, or again only after its claim has lapsed; a late success is kept; in the end every process serves every
           living account
  steps    one of four processes dies, or is stopped for 3, 13 and 30 s, at each step of a refresh in turn (needs a debug
           build: --program .build/debug/martlet): nothing is lost or spent twice outside the stated window
  rate     refreshes per second on SQLite, compared with the disk's syncs per second: at least a third of them, or 200
  checkpoints  two processes commit and empty SQLite's log as fast as they can for two minutes, while other processes open
           and close the store: every acknowledged commit is there, and every record can be decrypted
  kills    an account is killed a thousand times under load, first with one process, then with three: how long a kill
           takes, and that no request head with a dead token is read more than 100 ms after the kill's response
  streams  a kill during a 1 GiB download, a stream of events and an open WebSocket: all three are cut; with drain they run
           to their end and no new one begins
  late     the provider rotates at once and responds after 9, 12, 30 and 55 s, with one process and with two. In further
           runs, 4 s into the wait, the store is away for 20 s, the sender is stopped for 20 s, or it is asked to end.
           Callers get a response within 9 s, each refresh token is sent once, and a late token response is used
  overload a provider that takes 5 to 15 s for a response, 200 accounts with tokens of 120 s, two processes, five minutes:
           as in late, and requests of accounts with a token are not refused
  pages    a proxy responds to token requests with an HTML page and 404, five times for one account, then for a while for
           50 accounts: the accounts are served again without manual action, and the attempts follow one shared backoff
  restored an earlier copy of the store is put back 20 times under two running processes: no refresh token is sent twice, no
           account dies, and token requests and processor time show that no process asks in a loop
  many     10,000 accounts are killed at once: the kill is complete within a second; the memory before and after
  canary   the provider puts tokens where they don't belong in its responses. After every case, this one included, the
           script also searches logs, metrics, admin responses, the database and the rest of the state directory for each
           token that the provider ever issued, as text, hexadecimal digits and base64: none may be found. It also checks
           that no process ended by itself

A full run is --minutes 5. A smaller value shortens the timed parts, down to a minimum for each case.
"""

from faulting.run import Run
from faulting.suite import Suite

# The time limit of each case in a full run, in seconds.
CASES = {"shared": 150, "killed": 600, "lost": 180, "waiters": 180, "away": 300, "stopped": 460, "steps": 1200, "rate": 180, "checkpoints": 300, "kills": 900, "streams": 180,
         "late": 300, "overload": 400, "pages": 240, "restored": 300, "many": 300, "canary": 120}


def main():
    suite = Suite("faults", "faulting", CASES, __doc__, "--seed 7 --minutes 0.25 --cases shared,killed,lost    (under a minute)")
    options = suite.parse()
    suite.find_programs(options)
    suite.run(options, Run)


main()
