"""Lists of seeds: lines that count, lines that are reported, and reading as a stream."""

from itertools import count, islice

from minicrawl.web.urls import read_seeds


def test_comments_and_blank_lines_are_skipped() -> None:
    lines = ["# a comment\n", "\n", "  https://a.example/  # the first\n", "b.example\r\n"]
    reported: list[tuple[int, str]] = []
    found = list(read_seeds(lines, lambda *line: reported.append(line)))
    assert found == ["https://a.example/", "https://b.example/"]
    assert not reported


def test_only_logins_are_kept_as_they_are_written_and_only_if_they_are_asked_for() -> None:
    lines = ["HTTP://a:b@C.example\n", "HTTP://C.example\n", "C.example/@d\n"]
    known = ["http://c.example/", "http://c.example/", "https://c.example/@d"]
    assert list(read_seeds(lines, lambda *_: None)) == known
    with_logins = list(read_seeds(lines, lambda *_: None, with_logins=True))
    assert with_logins[:2] == ["HTTP://a:b@C.example", known[1]]


def test_tracking_parameters_of_seeds_are_left_to_the_crawl() -> None:
    found = read_seeds(["a.example/?utm_id=3#top\n"], lambda *_: None)
    assert list(found) == ["https://a.example/?utm_id=3"]


def test_a_malformed_line_is_reported_with_its_number_and_skipped() -> None:
    lines = ["a b\n", "https://a.example/\n", "mailto:c@d.example\n"]
    reported: list[tuple[int, str]] = []
    assert list(read_seeds(lines, lambda *line: reported.append(line))) == ["https://a.example/"]
    assert reported == [(1, "a b"), (3, "mailto:c@d.example")]


def test_a_list_without_end_is_read_as_a_stream() -> None:
    lines = (f"https://a.example/{number}\n" for number in count())
    found = read_seeds(lines, lambda *_: None)
    assert list(islice(found, 2)) == ["https://a.example/0", "https://a.example/1"]


def test_the_url_column_of_a_table_is_read() -> None:
    lines = ["rank,URL,title\n", '1,a.example,"one, two"\n', "2,a b,\n", "3\n", "4,c.example,x"]
    reported: list[tuple[int, str]] = []
    found = list(read_seeds(lines, lambda *line: reported.append(line)))
    assert found == ["https://a.example/", "https://c.example/"]
    assert reported == [(3, "a b")]
