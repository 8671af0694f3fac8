"""What a release publishes: packages that name their addresses, an image of a base by digest."""

import re
import shutil
import subprocess
import sys
from email import message_from_string
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.processes import run_python

ROOT = Path(__file__).parents[1]
HOST = "https://code.example"
ADDRESSES = [
    f"Repository, {HOST}/me/mine",
    f"Issues, {HOST}/me/mine/issues",
    f"Changelog, {HOST}/me/mine/blob/HEAD/CHANGELOG.md",
]

hatchling = pytest.importorskip("hatchling.metadata.core", reason="no hatchling")


def metadata(folder: Path = ROOT) -> str:
    """Return METADATA of the wheel, as the builder writes it."""
    from hatchling.metadata.spec import get_core_metadata_constructors
    from hatchling.plugin.manager import PluginManager

    project = hatchling.ProjectMetadata(str(folder), PluginManager())
    newest = max(get_core_metadata_constructors().items(), key=lambda one: float(one[0]))
    return str(newest[1](project))


def test_packages_name_the_addresses_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINICRAWL_REPOSITORY", f"{HOST}/me/mine/")
    named = message_from_string(metadata())
    documents = f"Documentation, {HOST}/me/mine/tree/HEAD/docs"
    assert named.get_all("Project-URL") == [*ADDRESSES, documents]
    monkeypatch.setenv("MINICRAWL_SITE", "https://mine.example/")
    named = message_from_string(metadata())
    assert named.get_all("Project-URL") == [*ADDRESSES, "Documentation, https://mine.example"]


def test_packages_without_addresses_say_nothing_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINICRAWL_REPOSITORY", f"{HOST}/me/mine")
    named = metadata().splitlines()
    monkeypatch.setenv("MINICRAWL_REPOSITORY", "")
    unnamed = [line.partition("(")[0] for line in metadata().splitlines()]
    without = [line for line in named if not line.startswith("Project-URL: ")]
    assert unnamed == [line.partition("(")[0] for line in without]
    assert "Dynamic" not in message_from_string("\n".join(unnamed))


def test_links_and_pictures_of_the_description_lead_to_the_repository(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    monkeypatch.delenv("MINICRAWL_REPOSITORY", raising=False)
    assert message_from_string(metadata()).get_payload() == readme
    monkeypatch.setenv("MINICRAWL_REPOSITORY", f"{HOST}/me/mine")
    links = re.findall(r"\]\(([^)]+)\)", metadata())
    assert len(links) == len(re.findall(r"\]\(([^)]+)\)", readme))
    for link in links:
        kind, _, path = link.removeprefix(f"{HOST}/me/mine/").partition("/HEAD/")
        assert kind == ("raw" if path.endswith((".png", ".svg")) else "blob")
        assert (ROOT / path.partition("#")[0]).is_file()


@pytest.mark.parametrize("address", ["me/mine", "http://code.example/me", "https://u:p@a.example/"])
def test_an_address_that_leads_nowhere_is_refused(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINICRAWL_REPOSITORY", address)
    with pytest.raises(ValueError, match=r"MINICRAWL_REPOSITORY=.*: must be https://SERVER/PATH"):
        metadata()


@pytest.mark.slow
def test_sdist_and_wheel_agree_wherever_they_are_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINICRAWL_REPOSITORY", f"{HOST}/me/mine")
    named = metadata()
    build(ROOT, tmp_path, "--sdist")
    (sdist,) = tmp_path.glob("*.tar.gz")
    shutil.unpack_archive(sdist, tmp_path, filter="data")
    monkeypatch.delenv("MINICRAWL_REPOSITORY")  # as for a user, who installs the sdist
    (folder,) = (path for path in tmp_path.iterdir() if path.is_dir())
    build(folder, tmp_path, "--wheel")
    assert wheel_metadata(tmp_path) == named


@pytest.mark.slow
def test_the_image_has_all_files_that_its_package_is_built_from(tmp_path: Path) -> None:
    source, containerfile = tmp_path / "source", ROOT / "deploy" / "Containerfile"
    for names, place in re.findall(
        r"^COPY (?!--)(.+) /source/(.*)$", containerfile.read_text(encoding="utf-8"), re.MULTILINE
    ):
        for name in names.split():
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, source / place)
            else:
                (source / place).mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, source / place)
    build(source, tmp_path, "--wheel")
    assert wheel_metadata(tmp_path) == metadata()


def build(folder: Path, into: Path, what: str) -> None:
    ran = run_python("-m", "build", "--no-isolation", what, "--outdir", into, folder)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def wheel_metadata(folder: Path) -> str:
    (wheel,) = folder.glob("*.whl")
    with ZipFile(wheel) as files:
        (name,) = (name for name in files.namelist() if name.endswith("/METADATA"))
        return files.read(name).decode()


def test_the_linter_of_workflows_finds_nothing() -> None:
    zizmor = Path(sys.executable).with_name("zizmor")
    if not zizmor.exists():
        pytest.skip("no zizmor")
    options = ["--offline", "--strict-collection", "--pedantic", "--min-severity", "low"]
    ran = subprocess.run(
        [zizmor, *options, ".github", "action.yml"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


DOCKER = """#!/bin/sh
printf '%s\\n' "$*" >>"$CALLS"
case "$*" in
*imagetools*) echo sha256:ba5e ;;
*--push*) echo '{"containerimage.digest": "sha256:1a9e"}' >image.json ;;
esac
"""


def test_the_workflow_builds_the_image_of_a_base_by_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    yaml = pytest.importorskip("yaml")
    if shutil.which("jq") is None:
        pytest.skip("no jq")
    text = (ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8")
    steps = yaml.safe_load(text)["jobs"]["image"]["steps"]
    (script,) = (step["run"] for step in steps if step.get("id") == "image")
    containerfile = (ROOT / "deploy" / "Containerfile").read_text(encoding="utf-8")
    bases = re.findall(r"^FROM (\S+)", containerfile, re.MULTILINE)
    assert bases == ["$BASE", "$BASE"]
    (docker := tmp_path / "bin" / "docker").parent.mkdir()
    docker.write_text(DOCKER)
    docker.chmod(0o755)
    shutil.copytree(ROOT / "deploy", tmp_path / "deploy")
    variables = {"IMAGE": "r.example/mine", "TAG": "v1", "CALLS": "calls"}
    for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"):
        variables[name] = name.lower()
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PATH", str(docker.parent), prepend=":")
    subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=tmp_path, check=True)
    _, built = (tmp_path / "calls").read_text().splitlines()
    assert "--build-arg BASE=debian:trixie-slim@sha256:ba5e " in built
    assert "image.base.digest=sha256:ba5e " in built
    assert (tmp_path / "github_output").read_text() == "digest=sha256:1a9e\n"
    summary = (tmp_path / "github_step_summary").read_text()
    assert summary == "r.example/mine@sha256:1a9e, from debian:trixie-slim@sha256:ba5e\n"
