import copy

import pytest

from tests.cli.inert.walk import leaves, options_of
from tests.golden.surface import OTHERS, READERS, WITHOUT_JSON, differences, kept, surface

_HOW = "if the change is intended: `python -m tests.golden --write`"


@pytest.mark.slow
def test_options_exit_codes_and_json_keys_are_the_golden_ones() -> None:
    found = list(differences(kept(), surface()))
    assert not found, "\n".join([*found, _HOW])


def test_every_command_with_json_is_run_or_exempt() -> None:
    with_json = {path for path in leaves() if "--json" in options_of(path)}
    lines = [f"{line} " for line in READERS + OTHERS]
    run = {path for path in with_json if any(line.startswith(f"{path} ") for line in lines)}
    assert run | WITHOUT_JSON.keys() == with_json
    assert not run & WITHOUT_JSON.keys()


def test_differences_are_described_in_words() -> None:
    before, after = kept(), copy.deepcopy(kept())
    assert list(differences(before, after)) == []
    after["options"]["top"].remove("--json, flag")
    after["exit codes"]["top --n x"] = 1
    after["keys"]["top"].append("[].more")
    del after["keys"]["status"]
    assert list(differences(before, after)) == [
        "options of `top`: `--json, flag` is gone",
        "exit codes of `top --n x`: 2 is 1 now",
        "keys: `status` is gone",
        "keys of `top`: `[].more` is new",
    ]
