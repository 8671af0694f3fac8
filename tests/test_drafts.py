"""Files are replaced as a whole or not at all, and keep their mode, owner and links."""

import fcntl
import os
import subprocess
import sys
from errno import EACCES, EFBIG, ENOSPC
from pathlib import Path
from typing import Any

import pytest

from minicrawl import MinicrawlError
from minicrawl.errors import UsageError
from minicrawl.own_files import drafting, replacing, scratch

DRAFT = ".ranks.csv-abcd1234.part"
KILLED = """
import os, signal, sys
from pathlib import Path
from minicrawl.own_files import replacing, scratch
with replacing(Path("ranks.csv")) as file, scratch("test", Path(".")):
    file.write(b"half")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "ranks.csv"
    path.write_bytes(b"old")
    return path


def write(path: Path, body: bytes = b"new") -> None:
    with replacing(path) as file:
        file.write(body)


class TestReplacing:
    @pytest.mark.parametrize("mode", [0o600, 0o444, 0o755])
    def test_the_mode_is_kept_even_where_the_owner_cannot_be(
        self, path: Path, mode: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(*_: int) -> None:
            raise PermissionError

        for body in (b"new", b"newer"):
            path.chmod(mode)
            write(path, body)
            assert path.stat().st_mode & 0o7777 == mode
            assert path.read_bytes() == body
            monkeypatch.setattr(os, "fchown", refuse)

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
    def test_the_owner_is_kept(self, path: Path) -> None:
        os.chown(path, 12345, 54321)
        write(path)
        assert (path.stat().st_uid, path.stat().st_gid) == (12345, 54321)

    def test_a_link_leads_to_the_new_content_and_the_draft_is_beside_its_target(
        self, path: Path, tmp_path: Path
    ) -> None:
        folder = tmp_path / "here"
        folder.mkdir()
        link, second = folder / "link.csv", folder / "second.csv"
        link.symlink_to(Path("..", path.name))
        second.symlink_to(link.name)
        with replacing(second) as file:
            file.write(b"new")
            assert len(list(tmp_path.iterdir())) == 3
            assert len(list(folder.iterdir())) == 2
        assert (link.is_symlink(), second.is_symlink()) == (True, True)
        assert path.read_bytes() == b"new"

    def test_a_dangling_link_leads_to_the_new_file(self, tmp_path: Path) -> None:
        link = tmp_path / "link.csv"
        link.symlink_to("ranks.csv")
        write(link)
        assert link.is_symlink()
        assert (tmp_path / "ranks.csv").read_bytes() == b"new"

    def test_a_circular_link_is_refused_and_stays(self, tmp_path: Path) -> None:
        link = tmp_path / "ranks.csv"
        link.symlink_to(link.name)
        with pytest.raises(UsageError, match=r"ranks\.csv.*link"):
            write(link)
        assert link.is_symlink()


class TestLeftovers:
    def test_a_killed_command_leaves_drafts_and_the_next_one_removes_them(
        self, path: Path, tmp_path: Path
    ) -> None:
        done = subprocess.run([sys.executable, "-c", KILLED], cwd=tmp_path, check=False)
        assert done.returncode < 0
        assert len([left for left in tmp_path.iterdir() if left.suffix == ".part"]) == 2
        assert path.read_bytes() == b"old"
        write(path)
        with scratch("test", tmp_path):
            pass
        assert list(tmp_path.iterdir()) == [path]

    def test_a_draft_that_another_writer_has_open_stays(self, path: Path, tmp_path: Path) -> None:
        with replacing(path) as file, scratch("test", tmp_path) as folder:
            (folder / "numbers").touch()
            write(path, b"in between")
            with scratch("test", tmp_path) as other:
                assert other != folder
            assert (folder / "numbers").exists()
            file.write(b"last")
        assert path.read_bytes() == b"last"
        assert list(tmp_path.iterdir()) == [path]

    @pytest.mark.parametrize(
        "name", [".ranks.csv-abcd1234", ".other.csv-abcd1234.part", ".ranks.csv-ABCD1234.part"]
    )
    def test_a_file_that_is_no_draft_of_this_one_stays(self, path: Path, name: str) -> None:
        path.with_name(name).touch()
        write(path)
        assert path.with_name(name).exists()

    def test_a_draft_that_cannot_be_removed_does_no_harm(self, path: Path) -> None:
        path.with_name(DRAFT).symlink_to("elsewhere")
        write(path)
        assert path.read_bytes() == b"new"
        assert path.with_name(DRAFT).is_symlink()

    @pytest.mark.parametrize("kind", ["file", "folder"])
    def test_a_draft_that_another_writer_removed_is_made_again(
        self, kind: str, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        lock, taken = fcntl.flock, list[Path]()

        def take_first(handle: int, how: int) -> None:
            if not taken:
                (draft,) = (one for one in tmp_path.iterdir() if one.suffix == ".part")
                taken.append(draft)
                draft.rmdir() if draft.is_dir() else draft.unlink()
            lock(handle, how)

        monkeypatch.setattr(fcntl, "flock", take_first)
        if kind == "file":
            write(path)
            assert path.read_bytes() == b"new"
        else:
            with scratch("test", tmp_path) as folder:
                assert folder.is_dir()
        assert len(taken) == 1

    def test_a_folder_that_vanishes_before_it_is_opened_is_made_again(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        opened, vanished = os.open, list[Path]()

        def open_or_not(made: Path, flags: int, **options: Any) -> int:
            if not vanished:
                vanished.append(made)
                made.rmdir()
            return opened(made, flags, **options)

        monkeypatch.setattr("minicrawl.own_files.os.open", open_or_not)
        with scratch("test", tmp_path) as folder:
            assert folder not in vanished


class TestTrouble:
    def test_a_draft_goes_with_all_that_is_left_in_it_unless_a_file_is_in_its_place(
        self, tmp_path: Path, path: Path
    ) -> None:
        made = tmp_path / "new" / "crawl.db"
        with drafting(made) as folder:
            assert folder.parent == made.parent
            (folder / "left").touch()
            (folder / "made").touch()
            (folder / "made").rename(made)
        assert list(made.parent.iterdir()) == [made]
        with pytest.raises(UsageError, match=r"crawl\.db"), drafting(path / "crawl.db"):
            pass

    @pytest.mark.parametrize(
        ("code", "kind", "said"),
        [
            (ENOSPC, MinicrawlError, r"ranks\.csv.*No space"),
            (EFBIG, MinicrawlError, r"ranks\.csv.*too large"),  # as on a disk with FAT
            (EACCES, PermissionError, "Permission"),
        ],
    )
    def test_only_a_full_disk_is_reported_with_the_name_of_the_file(
        self, path: Path, code: int, kind: type[Exception], said: str
    ) -> None:
        with pytest.raises(kind, match=said), replacing(path):
            raise OSError(code, os.strerror(code))
        assert path.read_bytes() == b"old"
        assert list(path.parent.iterdir()) == [path]

    def test_a_long_name_has_a_draft(self, tmp_path: Path) -> None:
        path = tmp_path / ("x" * 251 + ".csv")
        write(path)
        assert path.read_bytes() == b"new"
