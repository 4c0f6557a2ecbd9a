"""Thresholds are carried from an embedder that was measured to one that was not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from perdure.errors import Misconfigured, Rejected
from perdure.models.calibrate import calibrate, read, written
from perdure.observe import Meter
from perdure.ports import Similarity
from perdure.settings import load
from perdure.testing.fakes import WordEmbedder
from perdure.wiring import embedder_of

THINGS = "tea boat cup sea rain coin tram wool kite loaf pear moss harp lamp 茶 船 杯 海 雨".split()
MEMORIES = [
    f"likes {a} with {b} on {c}s and never {a} alone"
    for place, a in enumerate(THINGS)
    for b, c in zip(THINGS[place + 1 :], THINGS[::-1], strict=False)
]
QUESTIONS = [f"what about {a} and {b}?" for a in THINGS for b in THINGS[:5]]


class Crowded(WordEmbedder):
    """The same order of texts, but every cosine lies in 0.7..1, as with the E5 family."""

    def embed(self, texts, action):
        rows = super().embed(texts, action)
        ones = np.full((len(rows), 1), np.sqrt(0.7), dtype=np.float32)
        return np.concatenate([np.sqrt(0.3).astype(np.float32) * rows, ones], axis=1)


@pytest.mark.spec("4.6")
def test_an_embedder_that_orders_texts_alike_gets_thresholds_at_the_same_places():
    known = WordEmbedder(512)

    found = calibrate(MEMORIES, QUESTIONS, known=known, other=Crowded(512))
    again = calibrate(MEMORIES, QUESTIONS, known=known, other=known)

    measured = known.similarity
    for name in ("unrelated", "answer", "topic", "same"):
        cosine = getattr(measured, name)
        assert getattr(found.similarity, name) == pytest.approx(0.7 + 0.3 * cosine, abs=0.01)
        assert getattr(again.similarity, name) == pytest.approx(cosine, abs=0.02)
    assert (found.memories, found.questions) == (len(MEMORIES), len(QUESTIONS))
    assert all(0 < one.above < 1 for one in found.thresholds)


@pytest.mark.spec("4.6")
def test_relevance_means_the_same_once_it_is_calibrated():
    plain, crowded = WordEmbedder(512), Crowded(512)
    crowded.similarity = calibrate(MEMORIES, QUESTIONS, known=plain, other=crowded).similarity

    def relevance(embedder):
        question = embedder.embed(["tea and boat"], "search")[0]
        rows = embedder.embed(["likes tea and boat trips", "tea", "a red car"], "add")
        return [embedder.similarity.relevance(float(row @ question)) for row in rows]

    assert relevance(crowded) == pytest.approx(relevance(plain), abs=0.05)


def test_too_few_memories_and_cosines_that_tell_nothing_are_refused():
    with pytest.raises(Rejected, match="at least 20"):
        calibrate(MEMORIES[:19] * 5, QUESTIONS, known=WordEmbedder(), other=WordEmbedder())

    class Flat(WordEmbedder):
        def embed(self, texts, action):
            return np.tile(np.eye(1, 4, dtype=np.float32), (len(texts), 1))

    with pytest.raises(Rejected, match="apart"):
        calibrate(MEMORIES, [], known=WordEmbedder(), other=Flat())


@pytest.mark.parametrize("answer", [None, 0.85])
def test_a_setting_says_what_was_found_and_every_embedder_takes_it(answer):
    similarity = Similarity(unrelated=0.72, topic=0.84, same=0.955, answer=answer)

    assert read(written(similarity)) == similarity
    assert read(" same = 0.955 , unrelated=0.72,topic=0.84") == replace(similarity, answer=None)
    for kind in ({"PERDURE_EMBEDDER": "bundled"},
                 {"PERDURE_EMBEDDER": "openai", "PERDURE_EMBEDDING_MODEL": "m"}):  # fmt: skip
        said = {"PERDURE_EMBEDDING_SIMILARITY": written(similarity), **kind}
        embedder = embedder_of(load(said), Meter())
        assert embedder is not None
        assert embedder.similarity == similarity
        plain = embedder_of(load(kind), Meter())
        assert plain is not None
        assert plain.similarity != similarity


@pytest.mark.parametrize(
    "said",
    [
        "x", "unrelated=0.1", "unrelated=0.1,topic=0.5,same=0.9,more=1",
        "unrelated=a,topic=1,same=1",
        "unrelated=0.9,topic=0.5,same=0.1", "unrelated=0.1,topic=0.5,same=1.5",
        "unrelated=0.1,topic=0.5,same=0.9,same=0.9",
    ],
)  # fmt: skip
def test_a_setting_that_cannot_be_thresholds_stops_the_start(said):
    with pytest.raises(Misconfigured) as wrong:
        embedder_of(load({"PERDURE_EMBEDDING_SIMILARITY": said}), Meter())
    assert wrong.value.field == "PERDURE_EMBEDDING_SIMILARITY"
