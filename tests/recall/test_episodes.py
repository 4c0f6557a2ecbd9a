from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

from perdure import text
from perdure.policy import ASSISTANT
from perdure.ports import Posting, Postings
from perdure.recall.episodes import Outline, named_speaker, pooled, scores, with_neighbours

AT = datetime(2026, 11, 30, 9, tzinfo=UTC)


def postings(question, texts):
    wanted = set(text.terms(question))
    split = {ref: text.terms(words) for ref, words in texts.items()}
    return Postings(
        texts=len(split),
        average_length=sum(map(len, split.values())) / len(split),
        found=tuple(
            Posting(ref=ref, length=len(t), counts={w: t.count(w) for w in wanted & {*t}})
            for ref, t in split.items()
            if wanted & {*t}
        ),
    )


def test_neighbours_lend_their_score_and_stay_in_their_conversation():
    own = np.array([1.0, 0, 0, 0, 8])

    assert with_neighbours(own, [0, 0, 1, 0, 1], (0.5, 0.25)).tolist() == [1, 0.5, 4, 0.25, 8]
    assert with_neighbours(np.array([2.0]), [0], (0.5, 0.25)).tolist() == [2]
    assert with_neighbours(np.array([]), [], (0.5,)).tolist() == []


def test_a_speaker_counts_only_if_the_question_names_one_alone():
    assert named_speaker("What did anna say?", ["Anna", "Bo", "user"]) == "Anna"
    assert named_speaker("Did Anna meet Bo?", ["Anna", "Bo"]) is None
    assert named_speaker("The Annals", ["Anna"]) is None
    assert named_speaker("小林说了什么", ["小林", "Bo"]) == "小林"
    assert named_speaker("What did the user say?", ["user", "assistant"]) is None
    assert named_speaker("x", ["(a+b"]) is None


def test_a_conversation_read_as_one_text_has_all_its_words_and_length():
    outline = Outline.of(
        [(1, "c", "Ann", AT), (2, "d", "Ann", AT), (3, "c", "Bo", AT), (4, "d", "Bo", AT)]
    )
    texts = {"1": "tea cup", "2": "boat sea sky", "3": "tea tea", "4": "sea"}

    whole = pooled(postings("tea sea", texts), outline)

    by_ref = {one.ref: one for one in whole.found}
    assert by_ref["0"].counts == {"tea": 3}
    assert by_ref["1"].counts == {"sea": 2}
    assert (by_ref["0"].length, by_ref["1"].length) == (4, 4)
    assert (whole.texts, whole.average_length) == (2, 4)


@pytest.mark.spec("4.3")
def test_words_meaning_speaker_and_the_talk_around_all_help_to_find_a_message():
    outline = Outline.of(
        [(n, "c" if n < 5 else "d", "Ann" if n % 2 else "Bo", AT) for n in range(1, 9)]
    )
    texts = {str(n): "something else entirely" for n in range(1, 9)} | {"2": "a red kayak"}

    def points(question, cosines=None, **knobs):
        policy = ASSISTANT.but(episodes=ASSISTANT.episodes.but(**knobs))
        return scores(outline, question, postings(question, texts), cosines, policy)

    by_words = points("kayak")
    assert by_words.argmax() == 1
    assert by_words[0] > by_words[4]  # a neighbour, and the same conversation
    assert by_words[3] > by_words[4]
    assert points("what did Ann like")[::2].min() > points("what did Ann like")[1::2].max()
    assert points("moon", {str(n): n / 10 for n in range(1, 9)}).argmax() == 7
    assert (
        points("moon", {"3": 0.9, "8": 0.1}).argmax() == 2
    )  # an index that knows only some of them
    assert not points("moon").any()


def test_the_only_message_is_found_by_its_words_alone():
    outline = Outline.of([(1, "c", "Ann", AT)])

    assert scores(outline, "kayak", postings("kayak", {"1": "a kayak"}), None, ASSISTANT)[0] > 0
    assert scores(outline, "moon", postings("moon", {"1": "a kayak"}), None, ASSISTANT)[0] == 0


def test_without_messages_there_are_no_scores():
    empty = Postings(texts=0, average_length=0.0, found=())

    assert scores(Outline.of([]), "x", empty, {}, ASSISTANT).tolist() == []
