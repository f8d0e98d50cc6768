"""The upstream and the proxies in front of it."""

import json
import pathlib
import subprocess
import time

from benching.processes import Process, compiled, stop
from harness.processes import free_port

TOKEN = "eyJ" + "abcdefgh" * 14


class Servers:
    def __init__(self, options, work):
        self.options, self.work = options, work
        self.log = open(work / "log", "w")
        self.servers = []
        self.certificate = self.make_certificate()
        self.upstreams = self.start_upstream()

    # The upstream

    def make_certificate(self):
        certificate, key = self.work / "cert.pem", self.work / "key.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
             "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
             "-keyout", key, "-out", certificate], check=True, capture_output=True)
        return certificate, key

    def start(self, *arguments, **options):
        server = Process(*arguments, log=self.log, **options)
        self.servers.append(server)
        return server

    def nginx(self, name, body, port, core):
        home = self.work / name
        home.mkdir()
        (home / "nginx.conf").write_text(
            "daemon off; master_process off; worker_processes 1; error_log stderr crit; pid nginx.pid;\n"
            "events { worker_connections 8192; }\nhttp { access_log off; keepalive_requests 100000000;\n"
            "client_body_buffer_size 2m; client_max_body_size 0; keepalive_timeout 300s;\n"
            + "".join(f"{one}_temp_path tmp-{one};\n" for one in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
            + body + "}\n")
        return self.start(name, ["nginx", "-p", home, "-c", home / "nginx.conf"], port, core)

    def start_upstream(self):
        plain, tls = free_port(), free_port()
        files = self.work / "files"
        files.mkdir()
        (files / "large").write_bytes(b"x" * 65536)
        (files / "sink").write_bytes(b"ok")
        certificate, key = self.certificate
        # The mirror makes nginx read the whole body before it responds.
        self.nginx("upstream", f"""
            server {{ listen 127.0.0.1:{plain} backlog=4096; listen 127.0.0.1:{tls} ssl backlog=4096;
                ssl_certificate {certificate}; ssl_certificate_key {key}; root {files};
                location /small {{ return 200 "hello, world\\n"; }}
                location /fresh {{ add_header Cache-Control max-age=86400; add_header Answer $request_id; return 200 "hello, world\\n"; }}
                location /large {{ sendfile on; }}
                location /page {{ ssi on; ssi_types *; }}
                location /sink {{ mirror /null; error_page 405 =200 $uri; }}
                location = /null {{ internal; return 204; }} }}
            """, plain, self.options.load_core)
        return {"plain": plain, "tls": tls}

    # The proxies

    def start_proxy(self, name, upstream, label=None, **options):
        """Starts a proxy to the plain or the TLS port of the upstream."""
        port, target = free_port(), self.upstreams[upstream]
        return getattr(self, f"proxy_{name}")(port, target, upstream == "tls", f"{name}-{label or upstream}", **options)

    def proxy_nginx(self, port, target, tls, name):
        scheme = "https" if tls else "http"
        trust = (f"proxy_ssl_verify on; proxy_ssl_trusted_certificate {self.certificate[0]}; proxy_ssl_name localhost; "
                 "proxy_ssl_server_name on; proxy_ssl_session_reuse on;" if tls else "")
        return self.nginx(name, f"""
            upstream api {{ server 127.0.0.1:{target}; keepalive 256; keepalive_requests 100000000; }}
            server {{ listen 127.0.0.1:{port} backlog=4096;
                location / {{ proxy_pass {scheme}://api; proxy_http_version 1.1; proxy_set_header Connection "";
                    proxy_set_header Authorization "Bearer {TOKEN}"; {trust} }} }}
            """, port, self.options.proxy_core)

    def proxy_haproxy(self, port, target, tls, name, section="", rules=""):
        config = self.work / f"{name}.cfg"
        trust = f"ssl verify required ca-file {self.certificate[0]} sni str(localhost) verifyhost localhost" if tls else ""
        config.write_text(f"""
global
    nbthread 1
    maxconn 8192
defaults
    mode http
    timeout connect 5s
    timeout client 60s
    timeout server 60s
    http-reuse always
{section}
frontend callers
    bind 127.0.0.1:{port} backlog 4096
    default_backend api
backend api
    {rules}
    http-request set-header Authorization "Bearer {TOKEN}"
    server one 127.0.0.1:{target} pool-max-conn 256 {trust}
""")
        return self.start(name, ["haproxy", "-q", "-f", config], port, self.options.proxy_core)

    def proxy_envoy(self, port, target, tls, name):
        prefix = "type.googleapis.com/envoy.extensions"
        address = lambda number: {"socket_address": {"address": "127.0.0.1", "port_value": number}}
        filters = [
            {"name": "envoy.filters.http.credential_injector", "typed_config": {
                "@type": f"{prefix}.filters.http.credential_injector.v3.CredentialInjector", "overwrite": True,
                "credential": {"name": "envoy.http.injected_credentials.generic", "typed_config": {
                    "@type": f"{prefix}.http.injected_credentials.generic.v3.Generic", "credential": {"name": "token"}}}}},
            {"name": "envoy.filters.http.router", "typed_config": {"@type": f"{prefix}.filters.http.router.v3.Router"}},
        ]
        manager = {
            "@type": f"{prefix}.filters.network.http_connection_manager.v3.HttpConnectionManager",
            "stat_prefix": "bench", "generate_request_id": False, "http_filters": filters,
            "route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": [
                {"match": {"prefix": "/"}, "route": {"cluster": "api"}}]}]},
        }
        cluster = {
            "name": "api", "type": "STATIC", "connect_timeout": "5s",
            "circuit_breakers": {"thresholds": [{"max_connections": 8192, "max_requests": 8192, "max_pending_requests": 8192}]},
            "load_assignment": {"cluster_name": "api", "endpoints": [{"lb_endpoints": [
                {"endpoint": {"address": address(target)}}]}]},
        }
        if tls:
            context = {"trusted_ca": {"filename": str(self.certificate[0])},
                       "match_typed_subject_alt_names": [{"san_type": "DNS", "matcher": {"exact": "localhost"}}]}
            cluster["transport_socket"] = {"name": "envoy.transport_sockets.tls", "typed_config": {
                "@type": f"{prefix}.transport_sockets.tls.v3.UpstreamTlsContext", "sni": "localhost",
                "common_tls_context": {"validation_context": context}}}
        listener = {"address": address(port), "filter_chains": [{"filters": [
            {"name": "envoy.filters.network.http_connection_manager", "typed_config": manager}]}]}
        config = self.work / f"{name}.json"
        config.write_text(json.dumps({"static_resources": {
            "listeners": [listener], "clusters": [cluster],
            "secrets": [{"name": "token", "generic_secret": {"secret": {"inline_string": f"Bearer {TOKEN}"}}}]}}))
        return self.start(name, ["envoy", "-c", config, "--concurrency", "1", "--use-dynamic-base-id", "-l", "critical"],
                          port, self.options.proxy_core)

    def proxy_least(self, port, target, tls, name):
        program = self.work / "least"
        if not program.exists():
            compiled(pathlib.Path(__file__).with_name("least.c"), program)
        # It has no TLS: in the TLS case it connects to the plain port, and is a lower bound there too.
        return self.start(name, [program, port, self.upstreams["plain"]], port, self.options.proxy_core)

    def proxy_martlet(self, port, target, tls, name, listener="", more="", cache="", routes="", program=None, **options):
        """Starts martlet. `listener` is appended to the listener's settings, `more` holds further sections, `cache` is a setting of the route,
        `routes` are further ones, `program` is another build."""
        admin, home = free_port(), self.work / name
        home.mkdir()
        scheme, trust = ("https", f"upstream_tls: {{ ca: {self.certificate[0]} }}") if tls else ("http", "")
        (home / "martlet.yaml").write_text(f"""
listeners: [{{ address: 127.0.0.1:{port}{listener} }}]
admin: {{ address: 127.0.0.1:{admin} }}
state_dir: {home}/state
{more}log: {{ level: warning, access: {str(self.options.access_log).lower()} }}
providers:
  none: {{ token_endpoint: "http://127.0.0.1:9/token", client_id: bench }}
accounts:
  bench: {{ provider: none }}
routes:
  - name: api
    match: {{ path: / }}
    upstream: {scheme}://localhost:{target}/
    account: bench
    {trust}{cache}
{routes}""")
        program = program or self.options.bin / "martlet"
        command = [program, "serve", "--config", home / "martlet.yaml"]
        server = self.start(name, command, port, self.options.proxy_core, **options)
        self.import_tokens(
            home, "bench", json.dumps({"refresh_token": "bench", "access_token": TOKEN, "expires_in": 86400}), program)
        return server

    def import_tokens(self, home, account, tokens, program=None):
        for _ in range(100):
            done = subprocess.run(
                [program or self.options.bin / "martlet", "accounts", "import", account, "--config", home / "martlet.yaml"],
                capture_output=True, text=True, input=tokens)
            if done.returncode != 69:
                break
            time.sleep(0.1)
        if done.returncode != 0:
            stop(f"the import into martlet failed: {done.stderr.strip()}")
