"""Proxies that store responses and answer from memory, beside Martlet with and without a cache."""

import http.client

from benching.processes import stop
from benching.servers import TOKEN, Servers
from harness.processes import free_port

# Each may keep this many MiB. That is far more than a hit needs, and so little that misses soon have to evict.
SIZE = 32
# The setting of a caching route of Martlet.
CACHE = f"cache: {{ max_size: {SIZE}MiB, max_object: 1MiB }}"
# nginx keeps about 8,000 keys for a MiB, and each file takes at least a page: so many MiB of keys stand for SIZE MiB of files.
KEYS = SIZE * 256 / 8000
# What Varnish writes to its log in shared memory about each request; it can't turn that log off as a whole.
SILENT = ",".join(f"-{tag}" for tag in (
    "Begin", "End", "Link", "Timestamp", "Hit", "TTL", "Storage", "Length", "Filters", "Fetch_Body", "VCL_call", "VCL_return", "VCL_use",
    "SessOpen", "SessClose", "BackendOpen", "BackendClose", "BackendStart", "ReqStart", "ReqAcct", "BereqAcct",
    *(f"{side}{what}" for side in ("Req", "Bereq") for what in ("Method", "URL", "Protocol", "Header", "Unset")),
    *(f"{side}{what}" for side in ("Resp", "Beresp") for what in ("Protocol", "Status", "Reason", "Header", "Unset"))))
FRESH = "/fresh"


class Caches(Servers):
    """`cache_NAME` starts a proxy like `proxy_NAME`, which stores responses."""

    def start_cache(self, name):
        """Starts a cache before the plain upstream, once, and tries whether it stores."""
        label = f"{name}-cache"
        server = next((one for one in self.servers if one.name == label), None)
        if not server:
            server = getattr(self, f"cache_{name}")(free_port(), self.upstreams["plain"], label)
            if not stores(server):
                stop(f"{name} does not answer from its cache", 1)
        return server

    def cache_martlet(self, port, target, name):
        return self.proxy_martlet(port, target, False, name, cache=CACHE)

    def cache_nginx(self, port, target, name):
        # The files stay in the page cache. Without a manager process, nginx evicts when it has no room for another key.
        return self.nginx(name, f"""
            upstream api {{ server 127.0.0.1:{target}; keepalive 256; keepalive_requests 100000000; }}
            proxy_cache_path stored levels=1:2 keys_zone=stored:{KEYS * 1024:.0f}k inactive=1d use_temp_path=off;
            open_file_cache max=65536 inactive=1d; open_file_cache_valid 1d; sendfile on; tcp_nopush on;
            server {{ listen 127.0.0.1:{port} backlog=4096;
                location / {{ proxy_pass http://api; proxy_http_version 1.1; proxy_set_header Connection "";
                    proxy_set_header Authorization "Bearer {TOKEN}"; proxy_cache stored; proxy_cache_key $request_uri; }} }}
            """, port, self.options.proxy_core)

    def cache_haproxy(self, port, target, name):
        # It has no revalidation and no Vary by default, which makes its misses cheap.
        section = f"cache stored\n    total-max-size {SIZE}\n    max-object-size 1000000\n    max-age 600"
        rules = "http-request cache-use stored\n    http-response cache-store stored"
        return self.proxy_haproxy(port, target, False, name, section, rules)

    def cache_varnish(self, port, target, name):
        home, script = self.work / name, self.work / f"{name}.vcl"
        script.write_text(f"""vcl 4.1;
backend api {{ .host = "127.0.0.1"; .port = "{target}"; }}
sub vcl_backend_fetch {{ set bereq.http.Authorization = "Bearer {TOKEN}"; }}
""")
        # A connection with a request keeps a thread. All of them run on the one core.
        threads = 2 * self.options.connections + 20
        settings = {"thread_pools": 1, "thread_pool_min": threads, "thread_pool_max": threads + 20, "vsl_mask": SILENT, "backend_idle_timeout": 300}
        return self.start(
            name, ["varnishd", "-F", "-j", "none", "-n", home, "-a", f"127.0.0.1:{port}", "-f", script, "-s", f"malloc,{SIZE}m",
                   *(text for key, value in settings.items() for text in ("-p", f"{key}={value}"))],
            port, self.options.proxy_core)

    def misses(self):
        """A script for wrk in which each request has a URI of its own, also among those of other runs."""
        self.runs = getattr(self, "runs", 0) + 1
        script = self.work / "misses.lua"
        script.write_text(f"""
local number = 0
function request()
    number = number + 1
    return "GET {FRESH}/{self.runs}/" .. number .. " HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n"
end
""")
        return script


def stores(server):
    """Whether the second of two answers to the same request is the first one again."""
    connection, answers = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10), []
    for _ in range(2):
        connection.request("GET", FRESH)
        answer = connection.getresponse()
        answers.append((answer.status, answer.getheader("Answer"), answer.read()))
    connection.close()
    return answers[0][0] == 200 and answers[0] == answers[1]
