"""Files for Compose and Kubernetes: valid by their schemas, and true to what nodes do and need."""

import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from minicrawl.cluster.node.node import END_S
from minicrawl.cluster.server_versions import RECOMMENDED, as_version
from minicrawl.cluster.servers import server_program
from tests import readme
from tests.cluster.engines import needs_server

yaml = pytest.importorskip("yaml")
DEPLOY = Path("deploy")


def documents(name: str) -> list[Any]:
    return list(yaml.safe_load_all((DEPLOY / name).read_text(encoding="utf-8")))


def pod() -> Any:
    _, nodes = documents("kubernetes/nodes.yaml")
    return nodes["spec"]["template"]["spec"]


@pytest.mark.parametrize("name", ["kubernetes/nodes.yaml"])
def test_a_manifest_is_valid_by_the_schema_of_kubernetes(name: str) -> None:
    kubernetes = pytest.importorskip("kubernetes_validate")
    for document in documents(name):
        kubernetes.validate(document, kubernetes.latest_version(), strict=True)


def test_a_service_of_compose_has_what_it_names() -> None:
    (compose,) = documents("compose.yaml")
    assert compose.keys() <= {"services", "configs", "volumes", "x-server"}
    for name, service in compose["services"].items():
        assert set(service.get("depends_on", ())) <= compose["services"].keys(), name
        assert {given["source"] for given in service.get("configs", ())} <= compose[
            "configs"
        ].keys()
        named = {volume.partition(":")[0] for volume in service["volumes"]}
        assert {volume for volume in named if "/" not in volume} <= compose["volumes"].keys(), name


def test_servers_sync_and_have_a_recommended_version() -> None:
    (compose,) = documents("compose.yaml")
    (values,) = documents("kubernetes/nats-values.yaml")
    servers = [compose["services"][name] for name in ("east", "west", "north")]
    tags = {server["image"].rpartition(":")[2] for server in servers}
    tags.add(values["container"]["image"]["tag"])
    assert min(map(as_version, tags)) >= RECOMMENDED
    assert "sync_interval: always" in compose["configs"]["nats"]["content"]
    assert values["config"]["jetstream"]["merge"] == {"sync_interval": "always"}
    assert values["config"]["cluster"]["replicas"] == len(servers)


@needs_server
def test_a_server_accepts_its_configuration(tmp_path: Path) -> None:
    (compose,) = documents("compose.yaml")
    text = compose["configs"]["nats"]["content"].replace("$$", "$")
    (tmp_path / "nats.conf").write_text(text.replace("/srv/nats", str(tmp_path)))
    done = subprocess.run(
        [server_program() or "", "-t", "-c", tmp_path / "nats.conf"],
        env={"HOSTNAME": "east", "CRAWLER_PASSWORD": "p"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_the_commands_of_nodes_exist() -> None:
    (compose,) = documents("compose.yaml")
    (container,) = pod()["containers"]
    probe = container["readinessProbe"]["exec"]["command"]
    tree = readme.command_tree()
    for call in (compose["services"]["node"]["command"], container["args"], probe[1:]):
        path = " ".join(("minicrawl", *filter(str.isalpha, call)))
        options = {word for word in call if word.startswith("--")}
        assert options <= set(readme.long_options(tree[path])), path


def test_a_node_has_the_time_to_give_its_leases_back() -> None:
    (compose,) = documents("compose.yaml")
    assert int(compose["services"]["node"]["stop_grace_period"].removesuffix("s")) > END_S
    assert pod()["terminationGracePeriodSeconds"] > END_S
    (container,) = pod()["containers"]
    *_, script = container["lifecycle"]["preStop"]["exec"]["command"]
    assert script.startswith(f"kill -{signal.SIGTERM.name.removeprefix('SIG')} 1")
