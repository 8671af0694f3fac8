from tests.fetch.wire import Answer, Then
from tests.soak.hostile import FAULT_EVERY, PAGES, Host, faults

ONE, OTHER = Answer((b"what?",), Then.CLOSE), Answer((b"no",), Then.RESET)


def next_answer(host: Host, path: str = "/1") -> Answer:
    host.asked.append(f"GET {path} HTTP/1.1\r\nHost: host0\r\n\r\n".encode())
    return host.next()


def test_a_good_answer_is_a_page_with_links_to_all_pages() -> None:
    (piece,), then = next_answer(Host([ONE]))
    assert piece.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"<title>/1</title>" in piece
    assert piece.count(b"<a href=") == PAGES
    assert then is Then.KEEP


def test_every_third_answer_of_a_host_is_the_next_fault() -> None:
    host = Host([ONE, OTHER])
    answers = [next_answer(host) for _ in range(4 * FAULT_EVERY)]
    assert answers[FAULT_EVERY - 1 :: FAULT_EVERY] == [ONE, OTHER, ONE, OTHER]
    assert [one for one in answers if one in (ONE, OTHER)] == [ONE, OTHER, ONE, OTHER]


def test_the_catalogue_gives_more_than_a_hundred_faults() -> None:
    assert len(faults()) > 100
