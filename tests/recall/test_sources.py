from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from perdure import text
from perdure.errors import DatabaseUnavailable, ModelUnavailable, Rejected, Unavailable
from perdure.policy import ASSISTANT
from perdure.ports import Similarity
from perdure.recall.question import asked
from perdure.testing.fakes import AskedWhileOpen, WordEmbedder
from perdure.types import Kind, Message, Role, Scope, Switches
from perdure.vectors.table import TableIndex

NOW = datetime(2026, 11, 30, 9, tzinfo=UTC)
ANN = Scope(user="ann")


class Slow:
    """An embedder that thinks until it is let go."""

    model, dimension = "words", 1024
    similarity = Similarity(unrelated=0.1, topic=0.5, same=0.95)

    def __init__(self):
        self.go = threading.Event()

    def embed(self, texts, action):
        self.go.wait(10)
        return WordEmbedder(1024).embed(texts, action)


class Broken:
    """Every part at once, and none of them answers."""

    model, dimension = "words", 1024
    similarity = Similarity(unrelated=0.1, topic=0.5, same=0.95)

    def __init__(self, error=Unavailable):
        self.error = error

    def embed(self, texts, action):
        raise self.error

    def rerank(self, question, texts):
        raise self.error

    def search(self, *args):
        raise self.error

    def get(self, *args):
        raise self.error

    @contextmanager
    def read(self):
        if self.error:
            raise self.error
        yield


# ── what can fail ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.spec("4.3", "4.10")
@pytest.mark.parametrize("broken", ["embedder", "index"])
def test_without_vectors_pinned_rows_and_words_still_answer(world, broken):
    """D "验证方式" 5, C 3.1: the vector store is down; structured and full-text search go on."""
    world.knows("Is allergic to peanuts", kind=Kind.CONSTRAINT)
    world.knows("Orders coffee from Oslo", kind=Kind.TODO_HINT, confidence=0.9)
    world.knows("Drives a red car")
    world.refit(**{broken: Broken()})

    answer = world.asks("Order coffee")

    assert sorted(world.said(answer)) == ["Is allergic to peanuts", "Orders coffee from Oslo"]
    assert world.parts(answer) == [("semantic", "SEARCH_FAILED")]
    assert world.reasons(answer) == {
        "Drives a red car": "LOW_SCORE"
    }  # the newest rows were considered
    assert world.contents(world.finds("coffee")) == ["Orders coffee from Oslo"]
    if broken == "embedder":
        with pytest.raises(Unavailable):
            world.finds("coffee", arms=("semantic",))


@pytest.mark.spec("4.3", "8")
def test_a_deployment_without_vectors_says_so(world):
    world.knows("Orders coffee from Oslo", confidence=0.9)
    for off in ({"embedder": None}, {"switches": Switches(vectors=False)}):
        world.refit(**off)
        answer = world.asks("Order coffee from Oslo")
        assert world.said(answer) == ["Orders coffee from Oslo"]
        assert world.parts(answer) == [("semantic", "VECTORS_OFF")]


@pytest.mark.spec("4.10")
def test_a_late_embedder_costs_only_its_arm(world):
    world.knows("Is allergic to peanuts", kind=Kind.CONSTRAINT)
    slow = Slow()
    world.refit(embedder=slow)
    policy = ASSISTANT.but(search=ASSISTANT.search.but(vector_ms=50))

    start = time.perf_counter()
    answer = world.asks("peanuts?", policy=policy)
    slow.go.set()

    assert time.perf_counter() - start < 5
    assert world.said(answer) == ["Is allergic to peanuts"]
    assert world.parts(answer) == [("semantic", "SEARCH_LATE")]


@pytest.mark.spec("4.10")
def test_a_database_that_hangs_gives_an_empty_answer_by_the_deadline(world):
    world.knows("Is allergic to peanuts", kind=Kind.CONSTRAINT)
    go = threading.Event()
    real = world.database.read

    class Hanging(Broken):
        @contextmanager
        def read(self):
            go.wait(10)
            with real() as tx:
                yield tx

    world.refit(database=Hanging())
    start = time.perf_counter()
    answer = world.asks(
        "peanuts?", policy=ASSISTANT.but(search=ASSISTANT.search.but(deadline_ms=80))
    )
    go.set()

    assert time.perf_counter() - start < 5
    assert (answer.text, answer.kept) == ("", ())
    assert world.parts(answer) == [("recall", "DEADLINE")]


@pytest.mark.spec("4.10")
def test_a_search_that_hangs_still_says_what_is_pinned(world):
    world.knows("Is allergic to peanuts", kind=Kind.CONSTRAINT)
    go, real = threading.Event(), world.index

    class Hanging(Broken):
        def search(self, *args):
            go.wait(10)
            return real.search(*args)

    world.refit(index=Hanging())
    answer = world.asks(
        "peanuts?", policy=ASSISTANT.but(search=ASSISTANT.search.but(deadline_ms=150))
    )
    go.set()

    assert world.said(answer) == ["Is allergic to peanuts"]
    assert world.parts(answer) == [("search", "SEARCH_LATE")]


@pytest.mark.spec("4.10")
def test_a_database_that_fails_is_never_an_exception(world):
    """A 8 P1: the query fails and the conversation starts without memories."""
    world.refit(database=Broken(DatabaseUnavailable))

    answer = world.asks("peanuts?")

    assert (answer.text, answer.kept, answer.dropped) == ("", (), ())
    assert world.parts(answer) == [("database", "DATABASE_UNAVAILABLE")]
    assert world.meter.read("recall_degraded", reason="DATABASE_UNAVAILABLE") == 1
    with pytest.raises(DatabaseUnavailable):
        world.finds("peanuts")


@pytest.mark.spec("4.6")
def test_a_reranker_may_change_the_order_of_what_was_searched(world):
    world.knows("Rule of tea", kind=Kind.CONSTRAINT)
    for name in ("Tea one for ann", "Tea two for bo"):
        world.knows(name, confidence=1.0)
    policy = ASSISTANT.but(rerank=ASSISTANT.rerank.but(enabled=True))
    before = world.said(world.asks("tea", policy=policy))
    assert before[2] == "Rule of tea"  # pinned: it keeps its place

    class Second:
        def rerank(self, question, texts):
            return [1.0 if one == before[1] else 0.0 for one in texts]

    world.refit(reranker=Second())
    assert world.said(world.asks("tea", policy=policy)) == [before[1], before[0], before[2]]
    assert world.said(world.asks("tea")) == before  # off by default

    world.refit(reranker=Broken(ModelUnavailable))
    answer = world.asks("tea", policy=policy)
    assert world.said(answer) == before
    assert world.parts(answer) == [("rerank", "RERANK_FAILED")]
    assert world.meter.read("recall_degraded", part="rerank") == 1


@pytest.mark.spec("4.10")
def test_no_embedder_is_asked_while_a_transaction_is_open(world):
    world.knows("Tea")
    inside = threading.local()
    real = world.database.read

    class Watched(Broken):
        @contextmanager
        def read(self):
            with real() as tx:
                inside.open = True
                yield tx
                inside.open = False

    world.refit(
        database=Watched(),
        embedder=WordEmbedder(1024, while_open=lambda: getattr(inside, "open", False)),
    )
    policy = ASSISTANT.but(search=ASSISTANT.search.but(deadline_ms=0, episodes=True))

    assert world.said(
        world.asks("tea", policy=replace(policy, budget=policy.budget.but(episodes=2)))
    )
    assert world.finds("tea", arms=("semantic", "episodes"))
    with pytest.raises(AskedWhileOpen), world.recaller.database.read():
        world.embedder.embed(["x"], "search")


# ── what was said ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.spec("4.3")
def test_what_was_said_can_be_searched_and_quoted(world):
    world.heard("c-1", "Ann: I bought a red kayak", "Bo: How much was it?", "Ann: 300 euros")
    world.heard("c-2", "Ann: The weather is fine", "Bo: Let us walk", "Ann: Good idea")
    world.heard("c-9", "Bo: secret kayak", user="bo")

    found = world.finds("What did Ann pay for the kayak?", arms=("episodes",))

    assert world.contents(found)[0] == "I bought a red kayak"
    assert {one.episode.conversation for one in found[:3]} == {"c-1"}
    assert "secret kayak" not in world.contents(found)
    inside = world.finds("kayak", arms=("episodes",), scope=Scope(user="ann", conversation="c-2"))
    assert {one.episode.conversation for one in inside} <= {"c-2"}

    quoting = ASSISTANT.but(
        search=ASSISTANT.search.but(episodes=True),
        budget=ASSISTANT.budget.but(episodes=1),
        episodes=ASSISTANT.episodes.but(floor=0.1),
    )
    answer = world.asks("How was the red kayak?", policy=quoting)
    assert "[Said earlier]\n- 2026-11-30 Ann: I bought a red kayak" in answer.text
    assert world.contents(answer.episodes) == ["I bought a red kayak"]
    here = world.asks(
        "How was the red kayak?", Scope(user="ann", conversation="c-1"), policy=quoting
    )
    assert "kayak" not in here.text  # this conversation is in the prompt already
    assert "[Said" not in world.asks("How was the red kayak?").text  # off by default
    strict = quoting.but(episodes=quoting.episodes.but(floor=0.99))
    assert world.asks("How was the red kayak?", policy=strict).text == ""


@pytest.mark.spec("4.3")
def test_a_removed_conversation_is_found_no_more(world):
    world.heard("c-1", "Ann: I bought a red kayak", "Bo: Nice")
    assert world.finds("kayak", arms=("episodes",))

    with world.database.begin() as tx:
        tx.messages.remove(ANN, conversation="c-1")

    assert world.finds("kayak", arms=("episodes",)) == []


@pytest.mark.spec("4.3")
def test_what_words_found_counts_with_its_meaning_too(world):
    world.knows("Collects Roman coins")

    class Shallow(TableIndex):
        """Its search stops before the memory that words find."""

        def search(self, *args):
            return []

    world.refit(index=Shallow("words"))

    (found,) = world.finds("Collects Roman coins")
    assert found.score > 0.99


@pytest.mark.spec("4.3")
def test_a_conversation_leans_to_what_the_user_said_last(world):
    talk = [Message(Role.USER, "tea"), Message(Role.USER, "boat")]
    policy = ASSISTANT.but(search=ASSISTANT.search.but(last_turn=0.5))

    words = asked(talk, 100)
    vector = world.recaller.sources.vector(words, policy.search.last_turn)
    tea, boat = world.embedder.embed(["tea", "boat"], "search")

    assert float(vector @ boat) > float(vector @ tea) > 0.3
    assert float(vector @ vector) == pytest.approx(1)


# ── search ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.case("API-03")
def test_search_scores_lie_in_0_to_1_and_differ_and_the_best_is_first(world):
    world.knows("Collects Roman coins")
    world.knows("Keeps coins in a jar at home for later")
    world.knows("Is afraid of heights")

    found = world.finds("Collects Roman coins")

    assert world.contents(found) == [
        "Collects Roman coins",
        "Keeps coins in a jar at home for later",
    ]
    assert found[0].score > 0.99 > found[1].score > 0
    assert found[0].arms == ("semantic", "fulltext")
    assert world.contents(world.finds("coins", 1)) == ["Collects Roman coins"]


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"limit": 0}, "limit"),
        ({"limit": -1}, "limit"),
        ({"limit": True}, "limit"),
        ({"limit": 1.5}, "limit"),
        ({"arms": ("semantic", "dreams")}, "arms"),
        ({"query": None}, "question"),
        ({"at": datetime(2026, 1, 1)}, "at"),  # noqa: DTZ001 - a time without a zone is the case
    ],
)
def test_what_cannot_be_searched_for_is_refused_by_name(world, arguments, field):
    with pytest.raises(Rejected) as refused:
        world.finds(arguments.pop("query", "x"), **arguments)

    assert refused.value.field == field


def test_no_arms_and_a_blank_query_find_nothing(world):
    world.knows("Tea")

    assert world.finds("tea", arms=()) == []
    assert world.finds("  ") == []


@pytest.mark.parametrize("question", [None, 3, [], [{"role": "user"}]])
def test_a_question_that_cannot_be_meant_is_refused(world, question):
    with pytest.raises(Rejected):
        world.asks(question)


def test_odd_questions_have_a_sane_meaning(world):
    world.knows("Is allergic to peanuts", kind=Kind.CONSTRAINT)

    for question in ("", "\x00", "\ud83d", "x" * 3_000_000, "?" * 50, [Message(Role.SYSTEM, "x")]):
        assert world.said(world.asks(question)) == ["Is allergic to peanuts"]


def test_an_answer_is_whole_while_others_write(world):
    stop, wrong = threading.Event(), []

    def reading():
        while not stop.is_set():
            answer = world.asks("Which tea?")
            if answer.degraded or any(kept.item.user != "ann" for kept in answer.kept):
                wrong.append(answer)

    threads = [threading.Thread(target=reading) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(30):
        world.knows(f"Tea {number}", user="ann" if number % 2 else "bo")
    stop.set()
    for thread in threads:
        thread.join()

    assert wrong == []
    assert len(world.finds("tea", 50)) == 15
    assert text.model_tokens(world.asks("Which tea?").text) <= 1_500
