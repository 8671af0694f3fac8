import re
from random import Random

import pytest

from minicrawl.demo.small_web import TOPICS, Topic, sentences, title

topics = pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.name)


@topics
def test_every_noun_has_a_regular_plural(topic: Topic) -> None:
    assert [noun for noun in topic.nouns if re.search(r"(s|x|z|ch|sh|[^aeou]y)$", noun)] == []


def test_topics_have_equal_numbers_of_words_and_share_no_noun() -> None:
    assert {len(topic.nouns) for topic in TOPICS} == {16}
    assert len({noun for topic in TOPICS for noun in topic.nouns}) == 16 * len(TOPICS)
    assert {len(topic.hosts) for topic in TOPICS} == {6}


@topics
def test_no_word_needs_escaping_in_html(topic: Topic) -> None:
    said = [*topic.hosts, *topic.sections, *sentences(topic, 300, Random(1))]
    said += [title(topic, number) for number in range(300)]
    assert [words for words in said if not re.fullmatch(r"[A-Za-z0-9 ,.;'-]+", words)] == []


@topics
def test_hosts_have_valid_names(topic: Topic) -> None:
    assert [
        host for host in topic.hosts if not re.fullmatch(r"[a-z]+\.[a-z]+(-[a-z]+)*", host)
    ] == []


def test_titles_follow_from_their_number() -> None:
    assert [title(TOPICS[0], number) for number in (0, 1, 2)] == [
        "The old skiff of Northshore",
        "What we know about the rope walk at Whitfield",
        "One autumn with the tide tables of Thornley",
    ]


def test_most_titles_differ() -> None:
    titles = [title(TOPICS[0], number) for number in range(1000)]
    assert len(set(titles)) > 900


def test_sentences_differ_and_are_reproducible() -> None:
    said = sentences(TOPICS[2], 200, Random(7))
    assert len(set(said)) == 200
    assert said == sentences(TOPICS[2], 200, Random(7))
    assert set(TOPICS[2].remarks) <= set(said)
