"""Checks the Kubernetes manifests of docker/ without a cluster, and prints each fault."""

import argparse
import pathlib
import sys

import kubernetes_validate

from deploying.manifests import Manifests, UnreadableManifest
from deploying.program import check_configuration

# The oldest version that the manifests are for, and the newest one whose schemas the package has.
VERSIONS = ["1.27", kubernetes_validate.latest_version()]


def check(manifests, program):
    """The faults that each check found."""
    results = {f"schemas of Kubernetes {version}": manifests.schema_faults(version) for version in VERSIONS}
    # The other checks rely on the documents having the right form.
    if not any(results.values()):
        results["references between the documents"] = manifests.reference_faults()
        results["time to stop"] = manifests.stop_faults()
        if program:
            results["martlet check"] = check_configuration(program.resolve(), manifests)
    return results


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(
        prog="scripts/verify-kubernetes",
        description="Validates each document of the manifests strictly against the schemas of Kubernetes "
        f"{' and '.join(VERSIONS)}, and checks that what the documents say about each other fits. Needs no cluster.",
    )
    parser.add_argument(
        "program", nargs="?", type=pathlib.Path, metavar="MARTLET",
        help="a built martlet: it checks the martlet.yaml in the ConfigMap, with generated secrets in place of the placeholders",
    )
    parser.add_argument(
        "--manifest", action="append", type=pathlib.Path,
        help="a file to check; repeat it for several (default: kubernetes.yaml and kubernetes-secret.yaml in docker/)",
    )
    options = parser.parse_args()
    if options.program and not options.program.is_file():
        parser.error(f"there is no {options.program}")

    paths = options.manifest or [root / "docker/kubernetes.yaml", root / "docker/kubernetes-secret.yaml"]
    try:
        results = check(Manifests(paths), options.program)
    except UnreadableManifest as error:
        print(f"verify-kubernetes: {error}", file=sys.stderr)
        return 1
    for what, faults in results.items():
        for fault in faults:
            print(f"verify-kubernetes: {fault}", file=sys.stderr)
        print(f"{what}: {'failed' if faults else 'passed'}", flush=True)
    failed = sum(bool(faults) for faults in results.values())
    print(f"{len(results) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
