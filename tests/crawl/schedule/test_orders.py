from pathlib import Path

import pytest

from minicrawl.crawl.schedule.orders import ORDERS, RandomOrder
from minicrawl.opic.ledger import Ledger, Step, StepKind
from tests.crawl.fakes import keeping


def test_random_keys_are_the_same_however_pages_became_known() -> None:
    at_once, one_by_one = RandomOrder(Ledger()), RandomOrder(Ledger())
    at_once.grow(range(100))
    for page in range(100):
        one_by_one.grow(range(page, page + 1))
    assert at_once.keys == one_by_one.keys
    assert len(set(at_once.keys)) == 100


@pytest.mark.parametrize("strategy", ORDERS)
def test_every_waiting_page_has_one_turn(strategy: str, tmp_path: Path) -> None:
    with keeping(tmp_path / "store.db") as recorder:
        meeting = recorder.meet([f"http://{host}.example/" for host in "abc"], 0)
        recorder.apply_step(Step(StepKind.BORN, born=3))
        queue = ORDERS[strategy](recorder.frontier)
        queue.load()
        pages = [queue.take() for _ in range(3)]
        assert sorted(pages, key=str) == meeting.pages
        assert queue.take() is None
        for page in meeting.pages:
            assert not queue.is_ready(recorder.frontier.urls.host_of[page])
            queue.release(page)
            queue.resume(recorder.frontier.urls.host_of[page])
        keys = {queue.key(page): page for page in meeting.pages}
        assert len(keys) in (1, 3)
        assert queue.take() in meeting.pages
