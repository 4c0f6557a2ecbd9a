from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from perdure import text
from perdure.errors import DatabaseUnavailable, ModelUnavailable, Rejected, Unavailable
from perdure.policy import ASSISTANT
from perdure.ports import Similarity
from perdure.recall.question import asked
from perdure.recall.sources import Sources
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
@pytest.mark.point("D.5")
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
        "peanuts?", policy=ASSISTANT.but(search=ASSISTANT.search.but(deadline_ms=600))
    )
    go.set()

    assert world.said(answer) == ["Is allergic to peanuts"]
    assert world.parts(answer) == [("semantic", "SEARCH_LATE")]


@pytest.mark.spec("4.3", "4.10")
@pytest.mark.parametrize("part", ["fulltext", "semantic", "episodes"])
def test_each_arm_that_hangs_is_left_out_alone_and_the_answer_comes_in_time(world, part):
    world.knows("Is allergic to peanuts", kind=Kind.CONSTRAINT)
    world.knows("Orders coffee beans from Oslo", confidence=1.0)
    world.heard("c-1", "Ann: I like the coffee beans of Oslo", "Bo: Me too", "Ann: So good")
    go = threading.Event()
    reads = {"fulltext": "words", "semantic": "meaning", "episodes": "said"}
    real = getattr(Sources, reads[part])

    class Slow(Sources):
        pass

    def late(self, *args, **options):
        go.wait(10)
        return real(self, *args, **options)

    setattr(Slow, reads[part], late)
    known = world.recaller.sources
    object.__setattr__(
        world.recaller,
        "sources",
        Slow(database=known.database, embedder=known.embedder, index=known.index,
             switches=known.switches),
    )  # fmt: skip
    policy = ASSISTANT.but(
        search=ASSISTANT.search.but(arm_ms=400, episodes=True),
        budget=ASSISTANT.budget.but(episodes=1),
        episodes=ASSISTANT.episodes.but(floor=0.1),
    )

    start = time.perf_counter()
    answer = world.asks("coffee beans from Oslo?", policy=policy)
    took = time.perf_counter() - start
    go.set()

    assert took < 5
    assert world.parts(answer) == [(part, "SEARCH_LATE")]
    assert set(world.said(answer)) == {"Is allergic to peanuts", "Orders coffee beans from Oslo"}
    assert bool(answer.episodes) == (part != "episodes")


STRANGE = [RuntimeError("my tea"), TimeoutError("my tea"), ConnectionError(), KeyError("tea")]


@pytest.mark.spec("4.10")
@pytest.mark.parametrize("broken", ["embedder", "index", "reranker"])
@pytest.mark.parametrize("error", STRANGE, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize(
    "said",
    [
        ("Is allergic to peanuts", "Orders coffee in May", "Orders coffee in June", "coffee?"),
        ("对花生过敏", "五月订咖啡", "六月订咖啡", "咖啡？"),
    ],
)
def test_a_part_that_fails_in_a_way_of_its_own_costs_only_that_part(
    world, broken, error, said, caplog
):
    rule, one, two, question = said
    world.knows(rule, kind=Kind.CONSTRAINT)
    for content in (one, two):
        world.knows(content, confidence=1.0)
    world.refit(**{broken: Broken(error)})
    unhurried = ASSISTANT.but(
        search=ASSISTANT.search.but(deadline_ms=0, vector_ms=20_000, arm_ms=20_000, episodes=True),
        rerank=ASSISTANT.rerank.but(timeout_ms=20_000),
        budget=ASSISTANT.budget.but(episodes=1),
    )

    answer = world.asks(question, policy=unhurried)

    assert set(world.said(answer)) == {rule, one, two}
    part, reason = ("semantic", "SEARCH_FAILED")
    if broken == "reranker":
        part, reason = ("rerank", "RERANK_FAILED")
    assert (part, reason) in world.parts(answer)
    assert type(error).__name__ in caplog.text
    assert "my tea" not in caplog.text


@pytest.mark.spec("4.10")
@pytest.mark.parametrize("nonsense", [None, ["good", 1.0], [1.0], [None, None]])
def test_a_reranker_that_answers_nonsense_costs_only_its_order(world, nonsense):
    for name in ("Tea one for ann", "Tea two for bo"):
        world.knows(name, confidence=1.0)
    before = world.said(world.asks("tea"))

    class Odd:
        def rerank(self, question, texts):
            return nonsense

    world.refit(reranker=Odd())
    answer = world.asks("tea")

    assert world.said(answer) == before
    assert world.parts(answer) == [("rerank", "RERANK_FAILED")]


@pytest.mark.spec("4.10")
@pytest.mark.parametrize("error", STRANGE, ids=lambda error: type(error).__name__)
def test_a_search_whose_embedder_fails_in_a_way_of_its_own_goes_on_by_words(world, error):
    world.knows("Drinks tea")
    world.refit(embedder=Broken(error))

    assert world.contents(world.finds("tea")) == ["Drinks tea"]
    with pytest.raises(Unavailable):
        world.finds("tea", arms=("semantic",))


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
    off = ASSISTANT.but(rerank=ASSISTANT.rerank.but(enabled=False))
    before = world.said(world.asks("tea"))
    assert before[2] == "Rule of tea"  # pinned: it keeps its place

    class Second:
        def rerank(self, question, texts):
            return [1.0 if one == before[1] else 0.0 for one in texts]

    world.refit(reranker=Second())
    assert world.said(world.asks("tea")) == [before[1], before[0], before[2]]
    assert world.said(world.asks("tea", policy=off)) == before

    class Short:
        def rerank(self, question, texts):
            return [0.5]

    for failed, broken in enumerate((Broken(ModelUnavailable), Short()), start=1):
        world.refit(reranker=broken)
        answer = world.asks("tea")
        assert world.said(answer) == before
        assert world.parts(answer) == [("rerank", "RERANK_FAILED")]
        assert world.meter.read("recall_degraded", part="rerank") == failed


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


@pytest.mark.spec("4.3", "1")
def test_what_was_said_in_a_project_is_found_only_there(world):
    """A binding given in a query is applied, always (C 6.2.4)."""
    world.heard("everywhere", "Ann: a red kayak")
    world.heard("in-mao", "Ann: a blue kayak", project="mao")
    world.heard("by-run", "Ann: a green kayak", assistant="a", run="7")
    world.heard("in-chat", "Ann: a white kayak", project="chat-robot-7")

    def found(policy=ASSISTANT, **where):
        scope = Scope(user="ann", **where)
        hits = world.finds("kayak", arms=("episodes",), scope=scope, policy=policy)
        return {one.content.split()[1] for one in hits}

    assert found() == {"red"}
    assert found(project="mao") == {"red", "blue"}
    assert found(assistant="a", run="7") == {"red", "green"}
    assert found(assistant="a", run="8") == found(assistant="b", run="7") == {"red"}
    loose = ASSISTANT.but(episodes=ASSISTANT.episodes.but(walls=("project",)))
    assert found(loose, assistant="b") == {"red", "green"}
    channels = ASSISTANT.but(item=ASSISTANT.item.but(channel_projects=("chat-*",)))
    assert found(channels) == {"red", "white"}


@pytest.mark.spec("4.3", "4.7")
def test_a_quoted_message_brings_its_neighbours_along_where_there_is_room(world):
    world.heard(
        "c-1", "Ann: hello", "Bo: How much was the red kayak?", "Ann: 300 euros", "Bo: Fine"
    )
    quoting = ASSISTANT.but(
        search=ASSISTANT.search.but(episodes=True),
        budget=ASSISTANT.budget.but(episodes=2),
        episodes=ASSISTANT.episodes.but(floor=0.1, words_weight=1.0, dense_weight=0.0),
    )

    answer = world.asks("the red kayak", policy=quoting)
    assert answer.text.splitlines()[-5:-1] == [
        "[Said earlier]",
        "- 2026-11-30 Ann: hello",
        "- 2026-11-30 Bo: How much was the red kayak?",
        "- 2026-11-30 Ann: 300 euros",
    ]
    assert [one.content for one in answer.episodes[0].around] == ["hello", "300 euros"]

    tight = quoting.but(budget=quoting.budget.but(tokens=text.model_tokens(answer.text) - 12))
    assert "300 euros" not in world.asks("the red kayak", policy=tight).text
    assert "How much was the red kayak?" in world.asks("the red kayak", policy=tight).text
    alone = quoting.but(
        episodes=quoting.episodes.but(around=0), budget=quoting.budget.but(episodes=1)
    )
    assert "hello" not in world.asks("the red kayak", policy=alone).text


@pytest.mark.spec("4.3")
def test_time_words_prefer_what_is_of_that_time_and_never_empty_an_answer(world):
    world.knows("Went kayaking on the fjord", age=40, confidence=0.9)
    world.knows("Went kayaking on the river", age=1, confidence=0.9)
    for words in ("last month", "上个月"):
        answer = world.asks(f"Went kayaking {words}?", explain=True)
        assert world.said(answer) == ["Went kayaking on the fjord", "Went kayaking on the river"]
        assert answer.considered[0].score.terms["time"] == 0.2
    assert len(world.asks("Went kayaking in 1999?").kept) == 2
    assert world.said(world.asks("Went kayaking?"))[0] == "Went kayaking on the river"
    off = ASSISTANT.but(search=ASSISTANT.search.but(time_words=False))
    late = world.asks("Went kayaking last month?", policy=off)
    assert world.said(late)[0] == "Went kayaking on the river"

    world.at -= timedelta(days=35)
    world.heard("c-2", "Ann: a red kayak")
    world.at += timedelta(days=35)
    world.heard("c-1", "Ann: a red kayak")
    assert world.finds("red kayak", arms=("episodes",))[0].episode.conversation == "c-1"
    found = world.finds("the red kayak of last month", arms=("episodes",))
    assert [one.episode.conversation for one in found] == ["c-2", "c-1"][: len(found)]


@pytest.mark.spec("4.3")
def test_a_removed_conversation_is_found_no_more(world):
    world.heard("c-1", "Ann: I bought a red kayak", "Bo: Nice")
    assert world.finds("kayak", arms=("episodes",))

    with world.database.begin() as tx:
        tx.messages.remove(ANN, conversation="c-1")

    assert list(world.finds("kayak", arms=("episodes",))) == []


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


@pytest.mark.case("API-03")
def test_a_floor_keeps_what_is_as_good_and_0_is_a_value_and_says_how_many_it_hides(world):
    world.knows("Collects Roman coins")
    world.knows("Keeps coins in a jar at home for later")
    query = "Collects Roman coins"
    scores = [one.score for one in world.finds(query)]

    assert [len(world.finds(query, floor=f)) for f in (0, 0.01, scores[1], 0.9, 1.0)] == [
        2, 2, 2, 1, sum(score >= 1 for score in scores),
    ]  # fmt: skip
    assert [world.finds(query, floor=f).hidden for f in (0, scores[1], 0.9)] == [0, 0, 1]
    assert world.finds(query, 1, floor=0.9).hidden == 0  # the other would not be there anyway
    assert world.finds("gardens", floor=0.9).hidden == 0  # there is nothing to hide


@pytest.mark.spec("4.10")
@pytest.mark.case("STO-07")
@pytest.mark.parametrize("arms", [("semantic", "fulltext"), ("episodes",)])
def test_a_search_says_what_failed_so_that_nothing_found_and_a_failure_are_two_things(world, arms):
    world.knows("Collects Roman coins")
    world.heard("c-1", "Ann: I collect Roman coins", "Bo: Me too", "Ann: Nice")

    def told(query, **parts):
        world.refit(**parts)
        found = world.finds(query, arms=arms)
        return len(found), [(one.part, str(one.reason)) for one in found.degraded]

    embedder, index = world.recaller.sources.embedder, world.recaller.sources.index
    assert told("Roman coins")[1] == []
    failed = [("semantic", "SEARCH_FAILED")]
    assert told("money of antiquity", embedder=Broken()) == (0, failed)
    assert told("Roman coins", embedder=embedder, index=Broken())[1] == failed
    assert told("Roman coins", embedder=None, index=index)[1] == [("semantic", "VECTORS_OFF")]
    assert told("Roman coins", embedder=embedder, index=index)[1] == []


@pytest.mark.spec("4.10")
def test_an_answer_that_quotes_by_words_alone_names_the_index_that_failed(world):
    world.heard("c-1", "Ann: I collect Roman coins", "Bo: Me too", "Ann: Nice")
    world.refit(index=Broken())
    answer = world.asks("Roman coins?", policy=ASSISTANT.but(
        search=ASSISTANT.search.but(episodes=True), budget=ASSISTANT.budget.but(episodes=1),
    ))  # fmt: skip
    assert world.parts(answer) == [("semantic", "SEARCH_FAILED")]


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"floor": 1.5}, "floor"),
        ({"floor": -0.2}, "floor"),
        ({"floor": float("nan")}, "floor"),
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

    assert list(world.finds("tea", arms=())) == []
    assert list(world.finds("  ")) == []


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
