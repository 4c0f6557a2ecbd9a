"""Text tools: what is compared, counted, cut and found."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure import text


@pytest.mark.case("LANG-03")
def test_half_an_emoji_becomes_a_replacement_character_and_nul_goes():
    assert text.clean("parrot \ud83d and\x00 Pim") == "parrot \ufffd and Pim"
    text.clean("\udfff").encode("utf-8")


@pytest.mark.case("LANG-05")
@pytest.mark.spec("2")
def test_spellings_that_look_alike_compare_alike_and_only_where_the_policy_says_so():
    composed, decomposed = "Caf\u00e9 Nijmegen", "Cafe\u0301  nijmegen"
    assert text.normalise(composed, "fold") == text.normalise(decomposed, "fold")
    assert text.normalise("ＫＬＭ４５６", "fold") == "klm456"
    assert text.normalise(" a \t b ", "space") == "a b"
    assert text.normalise(" a \t b ", "exact") == " a \t b "
    assert text.normalise("A", "space") != text.normalise("a", "space")


@given(st.text(), st.sampled_from(["exact", "space", "fold"]))
def test_normalising_twice_is_normalising_once(value, how):
    once = text.normalise(value, how)
    assert text.normalise(once, how) == once


@given(st.lists(st.text(max_size=4), max_size=4), st.lists(st.text(max_size=4), max_size=4))
def test_only_equal_parts_share_a_fingerprint(one, other):
    one, other = [text.clean(p) for p in one], [text.clean(p) for p in other]
    assert (text.fingerprint(*one) == text.fingerprint(*other)) == (one == other)


@given(st.text(), st.integers(0, 20))
def test_a_cut_never_goes_through_a_character(value, limit):
    kept = text.cut(value, limit)
    assert value.startswith(kept)
    assert text.graphemes(kept) <= limit
    if kept != value:
        assert text.graphemes(kept) == limit


def test_a_family_emoji_is_one_character():
    family = "👨‍👩‍👧‍👦"
    assert text.graphemes(family) == 1
    assert text.cut("ab" + family + "c", 3) == "ab" + family


def test_a_language_is_told_by_its_letters():
    assert text.language("我喜欢 Python 和 Rust") == "zh"
    assert text.language("The word 你好 means hello to most people") == "en"
    assert text.language("12345") == "en"


def test_sentences_end_in_both_languages():
    assert list(text.sentences("I live in Oslo. 我住在北京。“真的？”他说。\nv1.2 works")) == [
        "I live in Oslo.",
        "我住在北京。",
        "“真的？”",
        "他说。",
        "v1.2 works",
    ]


@pytest.mark.spec("4.3")
def test_words_are_found_in_every_form_and_chinese_by_two_characters():
    assert set(text.terms("parties")) == set(text.terms("party"))
    assert set(text.terms("moving")) & set(text.terms("moved"))
    assert "杭州" in text.terms("我在杭州的公司上班")
    assert text.terms("ＫＬＭ４５６") == text.terms("klm456")
    assert text.terms("the of and") == []
    assert text.terms("Caf\u00e9") == text.terms("Cafe\u0301")


def test_a_day_is_found_by_its_words_in_both_languages():
    spoken = text.date_terms(date(2026, 5, 8))
    assert set(text.terms("8 May 2026")) <= set(spoken)
    assert set(text.terms("5月")) & set(spoken)


@given(st.text())
def test_terms_hold_no_space_and_never_fail(value):
    assert all(term and not term.isspace() for term in text.terms(value))


def test_model_tokens_are_counted_rather_too_many_than_too_few():
    assert text.model_tokens("") == 0
    assert text.model_tokens("你好世界") == 4
    assert text.model_tokens("internationalisation") == 5
    assert text.model_tokens("a b c") == 3
