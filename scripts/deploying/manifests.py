"""The documents of the manifests, and what must hold between them."""

import re

import kubernetes_validate
import yaml


class UnreadableManifest(Exception):
    """A file is missing, is not YAML, or lacks a document that the checks need."""


class UniqueKeyLoader(yaml.SafeLoader):
    """Refuses a key that occurs twice in a mapping. YAML forbids it, and PyYAML takes the last one."""

    def construct_mapping(self, node, deep=False):
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                raise yaml.constructor.ConstructorError(None, None, f"the key {key} occurs twice", node.start_mark)
        return super().construct_mapping(node, deep)


class Manifests:
    def __init__(self, paths):
        self.documents = []
        for path in paths:
            try:
                found = list(yaml.load_all(path.read_text(), UniqueKeyLoader))
            except (OSError, yaml.YAMLError) as error:
                raise UnreadableManifest(f"{path}: {error}") from error
            for number, document in enumerate(found, 1):
                if not isinstance(document, dict) or not {"apiVersion", "kind"} <= document.keys():
                    raise UnreadableManifest(f"{path}: document {number} has no apiVersion or no kind")
                self.documents.append((path, document))

    def schema_faults(self, version):
        faults = []
        for path, document in self.documents:
            try:
                kubernetes_validate.validate(document, version, strict=True)
            except kubernetes_validate.ValidationError as error:
                place = ".".join(str(part) for part in error.path)
                faults.append(f"{path}: {document['kind']}: {place or 'the document'}: {error.message}")
            # The package's own command reports an unknown kind as a warning only.
            except kubernetes_validate.SchemaNotFoundError as error:
                faults.append(f"{path}: {document['kind']}: {error.message}")
        return faults

    def one(self, kind):
        """The only document of a kind."""
        found = [document for _, document in self.documents if document["kind"] == kind]
        if len(found) != 1:
            raise UnreadableManifest(f"there are {len(found)} documents of kind {kind}, and one is needed")
        return found[0]

    @property
    def pod(self):
        return self.one("Deployment")["spec"]["template"]["spec"]

    @property
    def container(self):
        return self.pod["containers"][0]

    @property
    def configuration(self):
        """The text of martlet.yaml."""
        return self.one("ConfigMap")["data"]["martlet.yaml"]

    @property
    def secret_path(self):
        """Where the container finds the Secret."""
        (volume,) = [volume["name"] for volume in self.pod["volumes"] if "secret" in volume]
        (path,) = [mount["mountPath"] for mount in self.container["volumeMounts"] if mount["name"] == volume]
        return path

    @property
    def secret_keys(self):
        return list(self.one("Secret")["stringData"])

    def reference_faults(self):
        deployment, service, budget = self.one("Deployment"), self.one("Service"), self.one("PodDisruptionBudget")
        faults = []

        def expect(holds, fault):
            if not holds:
                faults.append(fault)

        labels = deployment["spec"]["template"]["metadata"]["labels"]
        selectors = {
            "the Deployment's selector": deployment["spec"]["selector"]["matchLabels"],
            "the Service's selector": service["spec"]["selector"],
            "the PodDisruptionBudget's selector": budget["spec"]["selector"]["matchLabels"],
        }
        for constraint in self.pod.get("topologySpreadConstraints", []):
            selectors["the selector of topologySpreadConstraints"] = constraint["labelSelector"]["matchLabels"]
        for what, selector in selectors.items():
            expect(selector.items() <= labels.items(), f"{what} does not match the pods' labels")

        ports = {port["name"]: port["containerPort"] for port in self.container["ports"]}
        named = {f"the port {port['port']} of the Service": port["targetPort"] for port in service["spec"]["ports"]}
        named |= {probe: self.container[probe]["httpGet"]["port"] for probe in self.container if probe.endswith("Probe")}
        for what, port in named.items():
            expect(port in ports, f"{what} leads to {port}, and the container has no port of that name")
        settings = yaml.safe_load(self.configuration)
        bound = {"http": settings["listeners"][0]["address"], "metrics": settings["metrics"]["address"]}
        for name, address in bound.items():
            expect(address == f"0.0.0.0:{ports.get(name)}", f"martlet.yaml listens on {address}, which is not the port {name}")

        volumes = {volume["name"]: volume for volume in self.pod["volumes"]}
        mounts = {mount["name"] for mount in self.container["volumeMounts"]}
        expect(volumes.keys() == mounts, f"volumes and volumeMounts differ: {', '.join(sorted(volumes.keys() ^ mounts))}")
        for volume in volumes.values():
            if "configMap" in volume:
                expect(volume["configMap"]["name"] == self.one("ConfigMap")["metadata"]["name"], "no such ConfigMap is mounted")
            if "secret" in volume:
                secret = self.one("Secret")
                expect(volume["secret"]["secretName"] == secret["metadata"]["name"], "no such Secret is mounted")
                items = {item["key"] for item in volume["secret"]["items"]}
                expect(items == secret["stringData"].keys(), "the items of the secret's volume are not the keys of the Secret")
        # What a line of YAML ends a path with.
        used = set(re.findall(re.escape(self.secret_path) + r"/([^\s}\"']+)", self.configuration))
        expect(used == set(self.secret_keys), f"martlet.yaml uses these files of the Secret: {', '.join(sorted(used))}")
        return faults

    def stop_faults(self):
        """The pod must have time for preStop, requests (shutdown_grace) and token requests (answer_timeout)."""
        settings = yaml.safe_load(self.configuration)
        before = int(self.container["lifecycle"]["preStop"]["exec"]["command"][1])
        requests = seconds(settings.get("shutdown_grace", "30s"))
        answers = max(seconds(provider.get("answer_timeout", "60s")) for provider in settings["providers"].values())
        needed, given = before + requests + answers, self.pod["terminationGracePeriodSeconds"]
        if given < needed + 5:
            return [f"terminationGracePeriodSeconds is {given}, and a stop may take {needed:g} s and needs 5 s to spare"]
        return []


def seconds(duration):
    number, unit = re.fullmatch(r"(\d+)(ms|s|m|h)", duration).groups()
    return int(number) * {"ms": 0.001, "s": 1, "m": 60, "h": 3600}[unit]
