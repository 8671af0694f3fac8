"""Tasks of five kinds of users: each takes at most three commands, and the page runs all of them.

`test_readme` compares what the commands print, as in every document.
"""

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests import readme
from tests.stores import filled_store

PAGE = readme.ROOT / "docs" / "explanation" / "five-users.md"
TEXT = PAGE.read_text(encoding="utf-8")
USERS = 5
MOST_COMMANDS = 3
_ROW = re.compile(r"^\| (?P<task>[^|`]+) \| (?P<how>.+) \|$", re.MULTILINE)


def tasks() -> dict[str, str]:
    """Return what the tables say of each task."""
    found = {row["task"]: row["how"] for row in _ROW.finditer(TEXT)}
    return {task: how for task, how in found.items() if task != "task"}


def commands_of(how: str) -> list[str]:
    return [span for span in readme.spans(how) if span.startswith("minicrawl ")]


def test_there_are_five_users_with_at_least_five_tasks_each() -> None:
    users = re.split(r"^## ", TEXT, flags=re.MULTILINE)[1:]
    assert len(users) == USERS
    assert all(len(_ROW.findall(user)) >= 1 + 5 for user in users)  # with the head of the table


@pytest.mark.parametrize("task", tasks())
def test_a_task_takes_three_commands_at_most_or_a_guide(task: str) -> None:
    how = tasks()[task]
    commands = commands_of(how)
    assert len(commands) <= MOST_COMMANDS
    assert commands or "](../how-to/" in how


def test_each_command_of_a_table_is_run_below_in_its_order() -> None:
    named = [command for how in tasks().values() for command in commands_of(how)]
    run = [example.command.partition("  # exit code")[0] for example in readme.examples(TEXT)]
    assert run == named


def test_the_sql_query_has_an_answer(tmp_path: Path) -> None:
    (command,) = (span for span in readme.spans(TEXT) if span.startswith("sqlite3 "))
    store = filled_store(tmp_path / "site.db")
    query = command.split('"')[1]
    with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as connection:
        assert dict(connection.execute(query))["fetched"] > 0
