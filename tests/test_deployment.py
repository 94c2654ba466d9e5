"""Containers: what is named in YAML exists, and runs each process of the Procfile."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

TREE = Path(__file__).resolve().parent.parent
PROCESSES = set(re.findall(r"^(\w+):", (TREE / "Procfile").read_text(), re.M))
MIGRATE = ["manage", "migrate", "--no-input"]
DOCKERFILE = (TREE / "Dockerfile").read_text()


def manifests(kind: str) -> dict[str, Any]:
    folder = TREE / "deploy" / "kubernetes"
    texts = [path.read_text() for path in folder.glob("*.yaml")]
    found = [one for text in texts for one in yaml.safe_load_all(text)]
    return {name_of(one): one for one in found if one["kind"] == kind}


def name_of(manifest: Any) -> str:
    told = manifest["metadata"]
    return str(told.get("name") or told["generateName"])


def test_compose_has_one_service_for_each_process() -> None:
    services = yaml.safe_load((TREE / "compose.yaml").read_text())["services"]
    ours = {name: one for name, one in services.items() if one["image"] == "backout"}

    assert ours.pop("migrate")["command"] == MIGRATE
    assert {name: one["command"] for name, one in ours.items()} == {
        name: [name] for name in PROCESSES
    }
    for one in ours.values():
        after = one["depends_on"]["migrate"]
        assert after == {"condition": "service_completed_successfully"}
    probed = {name for name, one in ours.items() if "healthcheck" not in one}
    assert probed == {"web"}  # by the check of the image


def test_kubernetes_has_one_deployment_for_each_process() -> None:
    deployments = manifests("Deployment")
    assert set(deployments) == {f"backout-{name}" for name in PROCESSES}
    for name, one in deployments.items():
        pod = one["spec"]["template"]
        (container,) = pod["spec"]["containers"]
        assert container["args"] == [name.removeprefix("backout-")]
        assert one["spec"]["selector"]["matchLabels"] == pod["metadata"]["labels"]
        assert set(container["resources"]) == {"requests", "limits"}
        assert pod["spec"]["securityContext"]["runAsNonRoot"]
        strategy = one["spec"]["strategy"]
        assert strategy.get("rollingUpdate", {}).get("maxUnavailable") == (
            None if name == "backout-beat" else 0
        )
    assert deployments["backout-beat"]["spec"]["replicas"] == 1

    (web,) = deployments["backout-web"]["spec"]["template"]["spec"]["containers"]
    assert web["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert web["livenessProbe"]["httpGet"]["path"] == "/healthz"
    (job,) = manifests("Job").values()
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert container["args"] == MIGRATE
    assert container["image"] == web["image"]
    assert {"backout"} == set(manifests("ConfigMap")) == set(manifests("Secret"))


def test_services_lead_to_ports_that_pods_have() -> None:
    deployments = manifests("Deployment")
    for name, service in manifests("Service").items():
        pod = deployments[name]["spec"]["template"]
        (container,) = pod["spec"]["containers"]
        assert service["spec"]["selector"] == pod["metadata"]["labels"]
        ports = {one["name"] for one in container["ports"]}
        assert {one["targetPort"] for one in service["spec"]["ports"]} == ports


def test_the_image_has_what_the_programs_need_and_is_not_root() -> None:
    copied = " ".join(re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.M))
    assert all((TREE / one).exists() for one in copied.split())
    allowed = set(re.findall(r"^!(.+)$", (TREE / ".dockerignore").read_text(), re.M))
    assert allowed == set(copied.split())
    users = re.findall(r"^USER (.+)$", DOCKERFILE, re.M)
    assert users == ["10001:10001"]


@pytest.mark.parametrize("name", ["", "postgres", "we", ".*"])
def test_what_is_no_process_is_refused(name: str) -> None:
    command: list[str | Path] = [TREE / "deploy" / "process", *([name] if name else [])]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, f"no process '{name}'" in done.stderr) == (64, True)
