"""Lets a built `martlet` check the configuration of the manifests."""

import base64
import os
import pathlib
import secrets
import subprocess
import tempfile


def check_configuration(program, manifests):
    """Runs `martlet check` on the martlet.yaml of the ConfigMap, with generated secrets in place of those of the Secret."""
    with tempfile.TemporaryDirectory(prefix="martlet-verify-") as home:
        home = pathlib.Path(home)
        held = home / "secrets"
        held.mkdir(mode=0o700)
        for key in manifests.secret_keys:
            path = held / key
            path.touch(mode=0o600)
            if key.endswith(".pem"):
                make_certificate(path)
            elif key == "sealing-key":
                path.write_bytes(base64.b64encode(secrets.token_bytes(32)))
            else:
                path.write_text(secrets.token_hex(16))
        configuration = home / "martlet.yaml"
        configuration.write_text(manifests.configuration.replace(manifests.secret_path, str(held)))
        check = subprocess.run(
            [program, "check", "--config", configuration],
            env={**os.environ, "XDG_STATE_HOME": str(home / "state")},
            capture_output=True, text=True,
        )
    if check.returncode == 0:
        return []
    lines = (check.stderr + check.stdout).strip().splitlines()
    return [f"martlet check exits with {check.returncode}", *lines]


def make_certificate(path):
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1",
         "-subj", "/CN=postgres.example", "-keyout", os.devnull, "-out", path],
        check=True, capture_output=True,
    )
