import re
from random import Random

import pytest

from minicrawl.demo.small_web import TOPICS, Topic, sentences, title

topics = pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.name)


@topics
def test_every_noun_takes_a_plain_s_for_its_plural(topic: Topic) -> None:
    assert [noun for noun in topic.nouns if re.search(r"(s|x|z|ch|sh|[^aeou]y)$", noun)] == []


def test_all_topics_have_as_many_words_and_share_no_noun() -> None:
    assert {len(topic.nouns) for topic in TOPICS} == {16}
    assert len({noun for topic in TOPICS for noun in topic.nouns}) == 16 * len(TOPICS)
    assert {len(topic.hosts) for topic in TOPICS} == {6}


@topics
def test_no_word_has_to_be_escaped(topic: Topic) -> None:
    said = [*topic.hosts, *topic.sections, *sentences(topic, 300, Random(1))]
    said += [title(topic, number) for number in range(300)]
    assert [words for words in said if not re.fullmatch(r"[A-Za-z0-9 ,.;'-]+", words)] == []


def test_titles_read_well_and_follow_from_their_number() -> None:
    assert [title(TOPICS[0], number) for number in (0, 1, 2)] == [
        "The old skiff of Northshore",
        "What we know about the rope walk at Whitfield",
        "One autumn with the tide tables of Thornley",
    ]


def test_neighbours_have_titles_of_their_own() -> None:
    titles = [title(TOPICS[0], number) for number in range(1000)]
    assert len(set(titles)) > 900


def test_sentences_are_all_different_and_the_same_for_the_same_dice() -> None:
    said = sentences(TOPICS[2], 200, Random(7))
    assert len(set(said)) == 200
    assert said == sentences(TOPICS[2], 200, Random(7))
    assert set(TOPICS[2].remarks) <= set(said)
