from minicrawl.ports import part, unreported


def test_a_part_of_the_work_moves_the_whole_from_its_start_to_its_end() -> None:
    told: list[float] = []
    tell = part(told.append, 0.5, 0.75)
    for share in (0, 0.5, 1):
        tell(share)
    assert told == [0.5, 0.625, 0.75]


def test_progress_may_be_reported_to_nobody() -> None:
    unreported(0.5)
