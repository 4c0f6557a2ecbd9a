"""What every store of conversations and of what finds them must do; see `contracts`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from perdure.errors import Corrupt
from perdure.ports import Corpus, Database, Posting, Transaction, VectorEntry
from perdure.testing.samples import ANN, BO, NOW, later, memory, unit
from perdure.types import Message, Role


class MessageStoreContract:
    """What was said: in order, once, and gone for good when it goes."""

    def test_messages_come_back_in_order_with_what_was_known_of_them(
        self, database: Database
    ) -> None:
        said = [
            Message(Role.USER, "你好 👋", at=later(-60), id="h1", name="小林"),
            Message(Role.ASSISTANT, ""),
        ]
        with database.begin() as tx:
            first = tx.messages.add(ANN.within(project="p"), "c", said, NOW, "t1")
            second = tx.messages.add(ANN, "c", [Message(Role.USER, "more")], later(1), "t2")
            other = tx.messages.add(ANN, "d", [Message(Role.USER, "there")], NOW, "t3")
            tx.messages.add(BO, "c", [Message(Role.USER, "not hers")], NOW, "t1")
        everything = [*first, *second]
        seqs = [one.seq for one in everything]
        with database.read() as tx:
            assert tx.messages.since(ANN, "c", 0) == everything
            assert tx.messages.since(ANN, "c", seqs[0], limit=1) == [everything[1]]
            assert tx.messages.before(ANN, "c", seqs[2], 2) == everything[1:]
            assert tx.messages.turn(ANN, "c", "t1") == first
            assert tx.messages.by_id(ANN, "c", ["h1", "h2"]) == [first[0]]
            assert tx.messages.by_seq(ANN, [other[0].seq, *seqs]) == [*everything, *other]
            assert [row[:3] for row in tx.messages.outline(ANN)] == [
                (seqs[0], "c", "小林"),
                (seqs[1], "c", "assistant"),
                (seqs[2], "c", "user"),
                (other[0].seq, "d", "user"),
            ]
            assert tx.messages.bindings(ANN) == {"c": ANN.within(project="p"), "d": ANN}
            state = tx.messages.conversation(ANN, "c")
        assert seqs == sorted(set(seqs))
        assert (first[0].at, first[1].at) == (later(-60), NOW)
        assert state is not None
        assert (state.project, state.watermark, state.waiting_chars) == ("p", 0, 8)

    @pytest.mark.spec("3.2")
    def test_a_message_delivered_again_is_kept_once(self, database: Database) -> None:
        one, two = Message(Role.USER, "a", id="1"), Message(Role.USER, "b", id="2")
        with database.begin() as tx:
            assert len(tx.messages.add(ANN, "c", [one, one], NOW, "t1")) == 1
            assert [u.id for u in tx.messages.add(ANN, "c", [one, two], NOW, "t2")] == ["2"]
            assert tx.messages.add(ANN, "c", [one, two], NOW, "t3") == []
            assert len(tx.messages.add(ANN, "d", [one], NOW, "t4")) == 1
            assert tx.messages.add(ANN, "d", [], NOW, "t5") == []
        with database.read() as tx:
            state = tx.messages.conversation(ANN, "c")
            assert [u.trace for u in tx.messages.since(ANN, "c", 0)] == ["t1", "t2"]
        assert state is not None
        assert state.waiting_chars == 2

    @pytest.mark.spec("3.1")
    def test_the_watermark_moves_forward_only_and_outlives_the_messages(
        self, database: Database
    ) -> None:
        """B 6.4: the watermark survives a restart; a place is never given out twice."""
        with database.begin() as tx:
            kept = tx.messages.add(
                ANN, "c", [Message(Role.USER, x) for x in ("one", "three", "five!")], NOW, "t"
            )
            tx.messages.learnt(ANN, "c", kept[1].seq)
            tx.messages.learnt(ANN, "c", kept[0].seq)
            tx.messages.learnt(BO, "c", kept[2].seq)
            state = tx.messages.conversation(ANN, "c")
            assert state is not None
            assert (state.watermark, state.waiting_chars) == (kept[1].seq, 5)
            assert tx.messages.remove(ANN, upto=kept[2].seq) == 3
        with database.begin() as tx:
            again = tx.messages.add(ANN, "c", [Message(Role.USER, "six")], NOW, "t2")
            state = tx.messages.conversation(ANN, "c")
        assert again[0].seq > kept[2].seq
        assert state is not None
        assert (state.watermark, state.waiting_chars) == (kept[1].seq, 3)

    @pytest.mark.spec("9")
    def test_removed_messages_take_vectors_and_terms_along(self, database: Database) -> None:
        with database.begin() as tx:
            old = tx.messages.add(ANN, "c", [Message(Role.USER, "old", at=later(-9))], NOW, "t")
            new = tx.messages.add(ANN, "c", [Message(Role.USER, "new")], NOW, "t")
            for one in (*old, *new):
                ref = str(one.seq)
                entry = VectorEntry(ref=ref, vectors=unit(1, 0))
                tx.vectors.write(ANN, Corpus.EPISODES, "m", [entry])
                tx.fulltext.index(ANN, Corpus.EPISODES, {ref: [one.content]})
            assert tx.messages.remove(ANN) == 0  # no condition never means all
            assert tx.messages.remove(ANN, before=NOW, conversation="d") == 0
            revision = tx.users.revision(ANN, Corpus.EPISODES)
            assert tx.messages.remove(ANN, before=NOW, conversation="c") == 1
            assert tx.users.revision(ANN, Corpus.EPISODES) > revision
        with database.read() as tx:
            assert tx.messages.since(ANN, "c", 0) == new
            assert tx.vectors.read(ANN, Corpus.EPISODES, "m").refs == (str(new[0].seq),)
            left = tx.fulltext.postings(ANN, Corpus.EPISODES, ["old", "new"])
            assert [p.ref for p in left.found] == [str(new[0].seq)]


class IndexContract:
    """Vectors and terms: one owner at a time, in the same commit, never a stale answer."""

    @pytest.mark.spec("4.3")
    def test_words_are_found_with_the_owner_s_own_counts(self, database: Database) -> None:
        with database.begin() as tx:
            tx.fulltext.index(
                ANN,
                Corpus.MEMORIES,
                {
                    "1": ["卑", "尔", "卑尔", "bergen", "rain"],
                    "2": ["bergen", "bergen"],
                    "3": [],
                },
            )
            tx.fulltext.index(ANN, Corpus.EPISODES, {"1": ["bergen"]})
            for n in range(20):
                tx.fulltext.index(BO, Corpus.MEMORIES, {str(n): ["bergen", "卑"]})
        with database.read() as tx:
            hers = tx.fulltext.postings(ANN, Corpus.MEMORIES, ["卑尔", "bergen", "oslo"])
        assert hers.texts == 3
        assert hers.average_length == pytest.approx(7 / 3)
        assert hers.found == (
            Posting(ref="1", length=5, counts={"卑尔": 1, "bergen": 1}),
            Posting(ref="2", length=2, counts={"bergen": 2}),
        )

    @pytest.mark.case("ISO-05", "ISO-07")
    def test_a_term_is_a_value_and_different_terms_stay_apart(self, database: Database) -> None:
        awkward = [
            "a", "A", "á", "a\u0301", "z", "z7a", "zz", "don't", "a b", "a*", '"a"', "a OR b",
            "%", "_", "\\", "a\u200b", "👨‍👩‍👧", "ß", "ss", "\u3000", "x" * 500, "x" * 501,
            "林" * 300, "NEAR(a)",
        ]  # fmt: skip
        with database.begin() as tx:
            for number, term in enumerate(awkward):
                tx.fulltext.index(ANN, Corpus.MEMORIES, {str(number): [term]})
        with database.read() as tx:
            for number, term in enumerate(awkward):
                found = tx.fulltext.postings(ANN, Corpus.MEMORIES, [term, "unknown"]).found
                assert [p.ref for p in found] == [str(number)], term
                assert found[0].counts == {term: 1}
            assert tx.fulltext.postings(ANN, Corpus.MEMORIES, []).found == ()

    def test_terms_are_replaced_and_removed(self, database: Database) -> None:
        with database.begin() as tx:
            tx.fulltext.index(ANN, Corpus.MEMORIES, {"1": ["old"], "2": ["old", "kept"]})
            tx.fulltext.index(ANN, Corpus.MEMORIES, {"1": ["new", "new"]})
            tx.fulltext.remove(BO, Corpus.MEMORIES, ["1"])
            tx.fulltext.remove(ANN, Corpus.EPISODES, ["1"])
            tx.fulltext.remove(ANN, Corpus.MEMORIES, ["2"])
        with database.read() as tx:
            found = tx.fulltext.postings(ANN, Corpus.MEMORIES, ["old", "new", "kept"])
        assert found.found == (Posting(ref="1", length=2, counts={"new": 2}),)
        assert (found.texts, found.average_length) == (1, 2.0)

    def test_vectors_keep_their_model_and_their_parts(self, database: Database) -> None:
        """STO-03, in the store: vectors of different models are never compared."""
        long = np.concatenate([unit(1, 0, 0), unit(0, 1, 0)])
        with database.begin() as tx:
            write = tx.vectors.write
            write(ANN, Corpus.MEMORIES, "m", [VectorEntry(ref="b", vectors=unit(0, 0, 1))])
            write(ANN, Corpus.MEMORIES, "m", [VectorEntry(ref="a", vectors=long)])
            write(ANN, Corpus.MEMORIES, "other", [VectorEntry(ref="a", vectors=unit(1, 0))])
            write(BO, Corpus.MEMORIES, "m", [VectorEntry(ref="a", vectors=unit(1, 1, 1))])
            write(ANN, Corpus.EPISODES, "m", [VectorEntry(ref="a", vectors=unit(1, 1, 1))])
        with database.read() as tx:
            rows = tx.vectors.read(ANN, Corpus.MEMORIES, "m")
            nothing = tx.vectors.read(ANN, Corpus.MEMORIES, "unknown")
        assert rows.refs == ("a", "a", "b")
        np.testing.assert_array_equal(rows.matrix, np.eye(3, dtype=np.float32))
        assert (nothing.refs, len(nothing.matrix)) == ((), 0)
        with database.begin() as tx:
            tx.vectors.write(ANN, Corpus.MEMORIES, "m", [VectorEntry(ref="a", vectors=unit(1, 0))])
            with pytest.raises(Corrupt):
                tx.vectors.read(ANN, Corpus.MEMORIES, "m")
            assert tx.vectors.remove(ANN, Corpus.MEMORIES, ["a"]) == 2  # whatever the model
            assert tx.vectors.read(ANN, Corpus.MEMORIES, "m").refs == ("b",)

    def test_it_is_known_which_model_has_what(self, database: Database) -> None:
        """STO-03, in the store: what a new model lacks is known, and an old one can go."""
        two, three = unit(1, 0), unit(1, 0, 0)
        with database.begin() as tx:
            assert tx.vectors.dimension("old") is None
            assert not tx.vectors.lacking("new", than="old")
            for scope, corpus in ((ANN, Corpus.MEMORIES), (BO, Corpus.EPISODES)):
                tx.vectors.write(scope, corpus, "old", [VectorEntry(ref="a", vectors=two)])
            tx.vectors.write(ANN, Corpus.MEMORIES, "new", [VectorEntry(ref="a", vectors=three)])
            assert tx.vectors.lacking("new", than="old")
            noted = VectorEntry(ref="a", vectors=three[:0])  # kept elsewhere
            tx.vectors.write(BO, Corpus.EPISODES, "new", [noted])
            assert not tx.vectors.lacking("new", than="old")
            assert (tx.vectors.dimension("old"), tx.vectors.dimension("new")) == (2, 3)
            assert tx.vectors.read(BO, Corpus.EPISODES, "new").refs == ()
            assert tx.vectors.refs(BO, Corpus.EPISODES, "new") == {"a"}
            tx.vectors.write(BO, Corpus.EPISODES, "old", [VectorEntry(ref="b", vectors=two)])
            assert tx.vectors.refs(BO, Corpus.EPISODES, "new") == {"a"}
            tx.vectors.forget("old")
            assert tx.vectors.dimension("old") is None
            assert tx.vectors.refs(ANN, Corpus.MEMORIES) == {"a"}

    def test_the_revision_rises_with_every_change_that_can_be_found(
        self, database: Database
    ) -> None:
        item = memory(ANN, "Likes tea")
        entry = VectorEntry(ref=item.id, vectors=unit(1, 0))
        seen = [0]
        with database.read() as tx:
            assert tx.users.revision(ANN, Corpus.MEMORIES) == 0
        changes: tuple[Callable[[Transaction], object], ...] = (
            lambda tx: tx.items.add(item),
            lambda tx: tx.items.put(item),
            lambda tx: tx.vectors.write(ANN, Corpus.MEMORIES, "m", [entry]),
            lambda tx: tx.fulltext.index(ANN, Corpus.MEMORIES, {item.id: ["tea"]}),
            lambda tx: tx.fulltext.remove(ANN, Corpus.MEMORIES, [item.id]),
            lambda tx: tx.vectors.remove(ANN, Corpus.MEMORIES, [item.id]),
            lambda tx: tx.items.remove(ANN, [item.id]),
            lambda tx: tx.users.changed(ANN, Corpus.MEMORIES),
        )
        for change in changes:
            with database.begin() as tx:
                change(tx)
            with database.read() as tx:
                seen.append(tx.users.revision(ANN, Corpus.MEMORIES))
        with database.begin() as tx:
            tx.items.used(ANN, [item.id], NOW)
            tx.items.remove(ANN, [item.id])
            assert tx.users.revision(ANN, Corpus.MEMORIES) == seen[-1]
            assert tx.users.revision(ANN, Corpus.EPISODES) == 0
            assert tx.users.revision(BO, Corpus.MEMORIES) == 0
        assert seen == sorted(set(seen))

    def test_a_revision_that_was_rolled_back_never_comes_again(self, database: Database) -> None:
        seen: list[int] = []

        def fails() -> None:
            with database.begin() as tx:
                tx.users.changed(ANN, Corpus.MEMORIES)
                seen.append(tx.users.revision(ANN, Corpus.MEMORIES))
                raise KeyboardInterrupt

        for _ in range(3):
            with pytest.raises(KeyboardInterrupt):
                fails()
        assert len(set(seen)) == 3
