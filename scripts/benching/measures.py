"""The measurements."""

import datetime
import json
import re
import socket
import statistics
import subprocess
import urllib.request

from benching.caches import FRESH, Caches
from benching.processes import Process, say, stop
from harness.processes import free_port

CASES = {
    "plain": ("a small answer", "/small"),
    "tls": ("a small answer over a TLS upstream", "/small"),
    "large": ("a 64 KiB answer", "/large"),
    "upload": ("a 1 MiB upload", "/sink"),
    "cache-hit": ("a small answer from the cache", FRESH),
    "cache-miss": ("small answers that are stored, each of another URI", FRESH),
    "no-cache-route": ("a small answer on a route without a cache, beside one with a cache", "/small"),
}
# In these cases, the bounds of martlet's CPU per request as parts of another row's.
BOUNDS = {"cache-hit": {"nginx": 1.0, "forward": 0.7}, "cache-miss": {"forward": 1.05}}


class Bench(Caches):
    def wrk(self, port, case, seconds):
        script = self.work / "upload.lua"
        script.write_text('wrk.method = "POST"\nwrk.body = string.rep("x", 1048576)\n')
        url = f"http://127.0.0.1:{port}{CASES[case][1]}"
        if case == "upload":
            return self.run_wrk(url, 8, seconds, "-s", script)
        if case == "cache-miss":
            return self.run_wrk(url, self.options.connections, seconds, "-s", self.misses())
        return self.run_wrk(url, self.options.connections, seconds)

    def run_wrk(self, url, connections, seconds, *arguments):
        """Returns the number of requests, and the requests per second."""
        command = ["taskset", "-c", str(self.options.load_core), "wrk", "-t1", f"-c{connections}", f"-d{seconds}s",
                   *map(str, arguments), url]
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        if "Non-2xx" in text or "Socket errors" in text:
            stop(f"not all responses were successful:\n{text}", 1)
        return int(re.search(r"(\d+) requests in", text)[1]), float(re.search(r"Requests/sec:\s+([\d.]+)", text)[1])

    def proxies_for(self, case):
        """The servers to measure, by their names. In the cases of caches, those called forward do not store."""
        if case in BOUNDS:
            caches = {name: self.start_cache(name) for name in ["martlet", *self.options.caches]}
            forwards = {"forward": self.start_proxy_once("martlet", "plain")}
            if "haproxy" in caches:
                forwards["haproxy-forward"] = self.start_proxy_once("haproxy", "plain")
            return {**caches, **forwards}
        upstream = "tls" if case == "tls" else "plain"
        names = self.options.proxies + (["least"] if self.options.least and case in ("plain", "tls") else [])
        return {name: self.start_proxy_once(name, upstream) for name in names}

    def throughput(self, case):
        proxies = self.proxies_for(case)
        rounds = {name: [] for name in proxies}
        for proxy in proxies.values():
            self.wrk(proxy.port, case, 1)
        for number in range(self.options.rounds):
            for name, proxy in proxies.items():
                before = proxy.cpu()
                requests, rate = self.wrk(proxy.port, case, self.options.seconds)
                rounds[name].append(((proxy.cpu() - before) / requests * 1e6, rate))
            say(f"{case}: round {number + 1} of {self.options.rounds}: " + ", ".join(
                f"{name} {values[-1][0]:.1f} µs" for name, values in rounds.items()))
        return {name: {"cpu_us": statistics.median(one[0] for one in values),
                       "requests_per_second": statistics.median(one[1] for one in values),
                       "rss_kib": proxies[name].rss(), "cpu_us_rounds": [one[0] for one in values]}
                for name, values in rounds.items()}

    def start_proxy_once(self, name, upstream):
        for server in self.servers:
            if server.name == f"{name}-{upstream}":
                return server
        return self.start_proxy(name, upstream)

    def latency(self, slowest):
        """Measures p50 and p99 in microseconds, at half the rate of the slowest proxy."""
        rate = slowest / 2
        result = {}
        for name in self.options.proxies:
            proxy, log = self.start_proxy_once(name, "plain"), self.work / "h2load.log"
            log.unlink(missing_ok=True)
            clients = 64
            subprocess.run(
                ["taskset", "-c", str(self.options.load_core), "h2load", "--h1", "-t1", f"-c{clients}",
                 f"--rps={rate / clients:.2f}", f"-D{self.options.seconds}", f"--log-file={log}",
                 f"http://127.0.0.1:{proxy.port}/small"], check=True, capture_output=True)
            lines = [line.split("\t") for line in log.read_text().splitlines()]
            if bad := [line for line in lines if line[1] != "200"]:
                stop(f"{len(bad)} of {len(lines)} responses of {name} were not 200", 1)
            times = sorted(int(line[2]) for line in lines)
            result[name] = {"rate": rate, "p50_us": times[len(times) // 2], "p99_us": times[len(times) * 99 // 100]}
        return result

    def refresh(self, seconds=60, rate=200):
        """Measures whether requests slow down while a 10 s token is refreshed, at a provider that takes 1 s to respond."""
        port, token_port, admin, home = free_port(), free_port(), free_port(), self.work / "refresh"
        home.mkdir()
        provider = f"http://127.0.0.1:{token_port}"
        self.start("mock", [self.options.bin / "martlet-mock", "--port", token_port, "--access-ttl", "10s", "--rotate",
                                   "--reuse-detection"], token_port, self.options.load_core)
        (home / "secret").write_text("mock-secret")
        (home / "secret").chmod(0o600)
        (home / "martlet.yaml").write_text(f"""
listeners: [{{ address: 127.0.0.1:{port} }}]
admin: {{ address: 127.0.0.1:{admin} }}
state_dir: {home}/state
log: {{ level: debug, access: false }}
providers:
  mock: {{ issuer: "{provider}", client_id: mock-client, client_secret: {{ file: secret }} }}
accounts:
  alice: {{ provider: mock }}
routes:
  - {{ name: api, match: {{ path: / }}, upstream: "{provider}/api/", account: alice }}
""")
        with open(home / "log", "w") as log:
            gateway = Process("martlet-refresh", [self.options.bin / "martlet", "serve", "--config", home / "martlet.yaml"], port,
                              self.options.proxy_core, log=log)
        self.servers.append(gateway)
        grant = self.ask(f"{provider}/_control/grants", "POST", b'{"account":"alice"}')
        self.import_tokens(home, "alice", grant)
        self.ask(f"{provider}/_control/faults", "PUT", b'[{"on":"token","times":0,"delay":"1s"}]')
        times = self.work / "refresh.log"
        clients = 16
        subprocess.run(
            ["taskset", "-c", str(self.options.load_core), "h2load", "--h1", "-t1", f"-c{clients}", f"--rps={rate / clients}",
             f"-D{seconds}", f"--log-file={times}", f"http://127.0.0.1:{port}/status/200"], check=True, capture_output=True)
        stats = json.loads(self.ask(f"{provider}/_control/stats"))
        ends = [datetime.datetime.fromisoformat(line["time"].replace("Z", "+00:00")).timestamp() * 1e6
                for line in map(json.loads, filter(lambda line: line.startswith("{"), (home / "log").read_text().splitlines()))
                if "token endpoint was asked" in line["message"]]
        during, between, failures = [], [], 0
        for line in times.read_text().splitlines():
            start, status, took = (int(one) for one in line.split("\t"))
            failures += status != 200
            near = any(start < end + 100e3 and start + took > end - 1.1e6 for end in ends)
            (during if near else between).append(took)
        p99 = lambda values: sorted(values)[len(values) * 99 // 100] if values else 0
        return {"martlet": {
            "refreshes": len(ends), "requests": len(during) + len(between), "failures": failures,
            "expired": stats["api_requests"]["expired"], "reuse_detections": stats["reuse_detections"],
            "during_p99_us": p99(during), "between_p99_us": p99(between), "longest_us": max(during + between)}}

    @staticmethod
    def ask(url, method="GET", body=None):
        request = urllib.request.Request(url, body, method=method)
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=10) as answer:
            return answer.read().decode()

    def idle(self, count=1000):
        result = {}
        for name in self.options.proxies:
            # A new process: an old one would reuse memory that an earlier load has freed.
            proxy = self.start_proxy(name, "plain", "idle")
            before, sockets = proxy.rss(), []
            for _ in range(count):
                one = socket.create_connection(("127.0.0.1", proxy.port), 5)
                one.sendall(b"GET /small HTTP/1.1\r\nHost: localhost\r\n\r\n")
                one.recv(4096)
                sockets.append(one)
            result[name] = {"rss_kib_per_1000_idle": proxy.rss() - before}
            for one in sockets:
                one.close()
        return result
