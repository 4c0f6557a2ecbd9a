"""What every store of memories must do: subclass, provide ``database``, inherit the tests."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from perdure import text
from perdure.errors import Duplicate, Rejected
from perdure.ports import Corpus, Database, Due, ItemFilter, Transaction, VectorEntry
from perdure.testing.samples import ANN, AWKWARD, BO, NOW, contents, later, memory, unit
from perdure.types import (
    Actor,
    AuditEntry,
    Kind,
    Level,
    Message,
    Operation,
    Origin,
    Preferences,
    Role,
    Scope,
    Source,
    Status,
    VectorStatus,
)


class MemoryStoreContract:
    """Memories: one owner's wall, one row a statement, newest first, nothing lost unseen."""

    def test_a_memory_comes_back_as_it_went_in(self, database: Database) -> None:
        item = memory(
            Scope(user="小林", project="p", assistant="a", run="r", conversation="c"),
            "在 Bergen 住 👨‍👩‍👧 — “quoted”\n",
            title="住处",
            kind=Kind.CONSTRAINT,
            confidence=0.25,
            importance=1.0,
            sensitivity=2,
            explicit=True,
            source=Source.AUTO,
            edited_by_user=True,
            suspicious=True,
            status=Status.ARCHIVED,
            expires_at=later(3600),
            last_access_at=later(1),
            use_count=7,
            metadata={'k"\n': "v%", "标签": "值"},
            vector_status=VectorStatus.FAILED,
            origin=Origin(
                conversation="c", messages=("m1", "m2"), event="e", job="j", trace="t",
                model="basic", prompt="extract-1",
            ),
        )  # fmt: skip
        with database.begin() as tx:
            tx.items.add(item)
        with database.read() as tx:
            assert tx.items.get(Scope(user="小林"), [item.id]) == [item]
            assert tx.items.by_hash(Scope(user="小林"), item.content_hash) == item

    @pytest.mark.spec("3.5")
    def test_a_unit_of_work_gives_its_result_and_leaves_nothing_where_it_fails(
        self, database: Database
    ) -> None:
        def fail(tx: Transaction) -> None:
            tx.items.add(memory(ANN, "Likes coffee"))
            raise LookupError

        def work(tx: Transaction) -> int:
            tx.items.add(memory(ANN, "Likes tea"))
            return tx.items.count(ANN, ItemFilter())

        with pytest.raises(LookupError):
            database.run(fail, ANN)
        assert database.run(work, ANN) == 1

    @pytest.mark.spec("1")
    @pytest.mark.case("ISO-05", "ISO-07")
    def test_users_whose_ids_look_alike_never_meet(self, database: Database) -> None:
        with database.begin() as tx:
            for user in AWKWARD:
                tx.items.add(memory(Scope(user=user), "Likes tea", id="same", title=user))
                tx.fulltext.index(Scope(user=user), Corpus.MEMORIES, {"same": ["tea", user]})
        with database.read() as tx:
            for user in AWKWARD:
                scope = Scope(user=user)
                assert [i.title for i in tx.items.page(scope, ItemFilter()).items] == [user]
                assert [i.user for i in tx.items.get(scope, ["same"])] == [user]
                assert tx.fulltext.postings(scope, Corpus.MEMORIES, ["tea"]).texts == 1
        with database.begin() as tx:
            for user in AWKWARD[::2]:
                assert tx.items.remove(Scope(user=user), ["same"]) == 1
        with database.read() as tx:
            left = [u for u in AWKWARD if tx.items.count(Scope(user=u), ItemFilter())]
            assert left == list(AWKWARD[1::2])

    @pytest.mark.spec("1", "9")
    def test_no_statement_reaches_another_owner(self, database: Database) -> None:
        hers = memory(ANN, "Lives in Bergen", origin=Origin(messages=("m",)))
        elsewhere = Scope(user="ann", namespace="other")
        with database.begin() as tx:
            tx.items.add(hers)
            tx.items.bury(ANN, hers, NOW)
            said = tx.messages.add(ANN, "c", [Message(Role.USER, "hello", id="m")], NOW, "t")
        for stranger in (BO, elsewhere):
            with database.begin() as tx:
                assert tx.items.get(stranger, [hers.id]) == []
                assert tx.items.by_hash(stranger, hers.content_hash) is None
                assert tx.items.active(stranger) == []
                assert tx.items.every(stranger, ItemFilter()) == []
                assert tx.items.remove(stranger, [hers.id]) == 0
                assert not tx.items.put(replace(hers, user=stranger.user, namespace="other"))
                tx.items.used(stranger, [hers.id], NOW)
                tx.items.mark_vectors(stranger, [hers.id], VectorStatus.SYNCED)
                tx.items.unbury(stranger, hers.content_hash)
                assert tx.items.buried(stranger, [hers.content_hash]) == {}
                assert tx.items.buried_messages(stranger, ["m"]) == {}
                assert tx.messages.by_seq(stranger, [said[0].seq]) == []
                assert tx.messages.conversation(stranger, "c") is None
                assert tx.messages.turn(stranger, "c", "t") == []
                assert tx.messages.remove(stranger, conversation="c") == 0
                assert tx.messages.outline(stranger) == []
        with database.read() as tx:
            assert tx.items.get(ANN, [hers.id]) == [hers]
            assert tx.messages.by_seq(ANN, [said[0].seq]) == said
            assert tx.items.buried(ANN, [hers.content_hash]) == {hers.content_hash: NOW}

    @pytest.mark.spec("1")
    def test_what_is_bound_is_active_only_inside_its_binding(self, database: Database) -> None:
        mao, weixin = ANN.within(project="mao"), ANN.within(project="weixin")
        bound = memory(mao, "Tests run on Vitest")
        with database.begin() as tx:
            tx.items.add(memory(ANN, "Likes tea", updated_at=later(-1)))
            tx.items.add(bound)
        with database.read() as tx:
            assert contents(tx.items.active(mao)) == ["Tests run on Vitest", "Likes tea"]
            assert contents(tx.items.active(ANN)) == ["Likes tea"]
            assert contents(tx.items.active(weixin)) == ["Likes tea"]
            assert tx.items.get(weixin, [bound.id]) == []
            assert tx.items.get(ANN, [bound.id]) == [bound]  # the owner looks after everything

    @pytest.mark.spec("1")
    def test_a_binding_in_a_list_is_applied_always(self, database: Database) -> None:
        """ISO-01, in the store: clearing a part leaves the rest and everybody else alone."""
        scopes = (ANN, ANN.within(project="p2"), ANN.within(assistant="a1"), BO)
        with database.begin() as tx:
            for number, scope in enumerate(scopes):
                tx.items.add(memory(scope, f"fact {number}"))
        with database.begin() as tx:
            for scope in scopes[1:3]:
                doomed = [item.id for item in tx.items.every(scope, ItemFilter())]
                assert tx.items.remove(scope, doomed) == 1
        with database.read() as tx:
            assert contents(tx.items.every(ANN, ItemFilter())) == ["fact 0"]
            assert contents(tx.items.every(BO, ItemFilter())) == ["fact 3"]

    @pytest.mark.spec("3.5", "6")
    def test_a_statement_is_stored_once_and_the_transaction_goes_on(
        self, database: Database
    ) -> None:
        with database.begin() as tx:
            first = memory(ANN, "Lives in Bergen", status=Status.DISMISSED)
            tx.items.add(first)
            with pytest.raises(Duplicate) as refused:
                tx.items.add(memory(ANN, "lives  in BERGEN"))
            assert (refused.value.item, refused.value.restorable) == (first.id, True)
            second = memory(ANN, "Lives in Oslo")
            tx.items.add(second)
            with pytest.raises(Duplicate):
                tx.items.put(replace(second, content_hash=first.content_hash))
            with pytest.raises(Rejected):
                tx.items.add(memory(ANN, "Another text", id=second.id))
            tx.items.add(memory(ANN, "Plays the oboe"))
        with database.read() as tx:
            assert tx.items.count(ANN, ItemFilter()) == 3

    @pytest.mark.spec("3.5")
    def test_a_row_changed_since_it_was_shown_is_left_alone(self, database: Database) -> None:
        item = memory(ANN, "Lives in Oslo")
        edited = replace(item, title="by hand", updated_at=later(0.000001))
        with database.begin() as tx:
            tx.items.add(item)
            assert tx.items.put(edited, shown=item.updated_at)
            assert not tx.items.put(replace(item, title="late"), shown=item.updated_at)
            assert not tx.items.put(memory(ANN, "never stored"))
        with database.read() as tx:
            assert tx.items.get(ANN, [item.id]) == [edited]

    @pytest.mark.spec("4.11")
    def test_a_use_is_counted_and_moves_nothing(self, database: Database) -> None:
        item = memory(ANN, "Likes tea")
        with database.begin() as tx:
            tx.items.add(item)
            tx.items.used(ANN, [item.id], later(1))
            tx.items.used(ANN, [item.id, item.id], later(2))
            tx.items.put(replace(item, title="edited with an old count"))
        with database.read() as tx:
            (found,) = tx.items.get(ANN, [item.id])
        assert (found.use_count, found.last_access_at) == (2, later(2))
        assert found.updated_at == item.updated_at

    @pytest.mark.spec("6")
    @pytest.mark.case("ISO-07")
    def test_words_are_literal_and_nothing_empty_means_all(self, database: Database) -> None:
        with database.begin() as tx:
            for content in ("Discount is 35%", "Discount is 3500 points", "Prefixes with z_run",
                            r"Path C:\temp", "会员号 ＫＬＭ４５６"):  # fmt: skip
                tx.items.add(memory(ANN, content))

        def found(**which: Any) -> list[str]:
            with database.read() as tx:
                return sorted(contents(tx.items.every(ANN, ItemFilter(**which))))

        assert found(words="35%") == ["Discount is 35%"]
        assert found(words="z_RUN") == ["Prefixes with z_run"]
        assert found(words="zxrun") == []
        assert found(words="%") == ["Discount is 35%"]
        assert found(words="\\") == [r"Path C:\temp"]
        assert found(words="klm456") == ["会员号 ＫＬＭ４５６"]
        assert found(words="") == found(words="  ") == []
        assert found(statuses=()) == found(kinds=()) == found(sources=()) == []
        assert len(found()) == 5

    @pytest.mark.spec("2", "6")
    def test_a_filter_means_what_it_says(self, database: Database) -> None:
        rows = [
            memory(ANN, "a", kind=Kind.PREFERENCE, source=Source.AUTO, metadata={"k": "v"}),
            memory(ANN, "b", source=Source.AUTO, edited_by_user=True, metadata={"k": "V"}),
            memory(
                ANN, "c", updated_at=later(60), metadata={"k": "v", "l": 'w"]'}, suspicious=True
            ),
            memory(ANN.within(project="p"), "d", status=Status.ARCHIVED),
        ]
        with database.begin() as tx:
            for row in rows:
                tx.items.add(row)
        for which, expected in (
            (ItemFilter(kinds=[Kind.PREFERENCE]), "a"),
            (ItemFilter(machine_written=True), "a"),
            (ItemFilter(machine_written=False), "bcd"),
            (ItemFilter(suspicious=True), "c"),
            (ItemFilter(suspicious=False), "abd"),
            (ItemFilter(sources=[Source.AUTO]), "ab"),
            (ItemFilter(statuses=[Status.ARCHIVED, Status.DISMISSED]), "d"),
            (ItemFilter(level=Level.PROJECT), "d"),
            (ItemFilter(project="p"), "d"),
            (ItemFilter(since=later(60)), "c"),
            (ItemFilter(until=later(60)), "abd"),
            (ItemFilter(metadata={"k": "v"}), "ac"),
            (ItemFilter(metadata={"k": "v", "l": 'w"]'}), "c"),
            (ItemFilter(metadata={"k' = 'v' OR '1'='1' --": "v"}), ""),
            (ItemFilter(metadata={"v": "k"}), ""),
        ):
            with database.read() as tx:
                assert "".join(sorted(contents(tx.items.every(ANN, which)))) == expected, which
                assert tx.items.count(ANN, which) == len(expected)

    @pytest.mark.spec("3.4", "9")
    def test_a_tombstone_keeps_hash_messages_and_time(self, database: Database) -> None:
        item = memory(ANN, "In Oslo", origin=Origin(conversation="c1", messages=("1", "2")))
        with database.begin() as tx:
            tx.items.bury(ANN, item, NOW)
            tx.items.bury(ANN, item, later(5))
        with database.begin() as tx:
            assert tx.items.buried(ANN, [item.content_hash, "x"]) == {item.content_hash: later(5)}
            assert tx.items.buried_messages(ANN, ["1", "3", ""]) == {"1": later(5)}
            assert tx.items.buried_messages(ANN.within(conversation="c2"), ["1"]) == {}
            tx.items.unbury(ANN, item.content_hash)
            assert tx.items.buried(ANN, [item.content_hash]) == {}
            assert tx.items.buried_messages(ANN, ["1"]) == {}

    @pytest.mark.spec("5", "9")
    def test_what_is_removed_leaves_no_vector_and_no_term(self, database: Database) -> None:
        """STO-01, in the store: rows, vectors and terms agree."""
        item, other = memory(ANN, "Keeps a diary"), memory(ANN, "Turned 37")
        with database.begin() as tx:
            for one in (item, other):
                tx.items.add(one)
                tx.fulltext.index(ANN, Corpus.MEMORIES, {one.id: text.terms(one.content)})
                tx.vectors.write(
                    ANN, Corpus.MEMORIES, "m", [VectorEntry(ref=one.id, vectors=unit(1, 0))]
                )
            assert tx.items.remove(ANN, [item.id, "unknown"]) == 1
        with database.read() as tx:
            assert tx.vectors.read(ANN, Corpus.MEMORIES, "m").refs == (other.id,)
            left = tx.fulltext.postings(ANN, Corpus.MEMORIES, text.terms("diary 37"))
            assert ([p.ref for p in left.found], left.texts) == ([other.id], 1)

    def test_projects_come_from_memories_and_conversations(self, database: Database) -> None:
        with database.begin() as tx:
            tx.items.add(memory(ANN.within(project="mao"), "x"))
            tx.messages.add(ANN.within(project="bergen"), "c", [Message(Role.USER, "hi")], NOW, "t")
            tx.items.add(memory(BO.within(project="secret"), "x"))
        with database.read() as tx:
            assert tx.items.projects(ANN) == ["bergen", "mao"]

    @pytest.mark.spec("8")
    def test_switches_come_from_the_user_then_from_the_default(self, database: Database) -> None:
        with database.begin() as tx:
            tx.users.prefer(ANN, auto_learn=False, sensitive_allowed=True)
            tx.users.prefer(ANN, sensitive_allowed=False)
            tx.users.changed(ANN, Corpus.MEMORIES)
            with pytest.raises(Rejected):
                tx.users.prefer(ANN, telepathy=True)
        with database.read() as tx:
            default = Preferences(memory_enabled=False, sensitive_allowed=True)
            assert tx.users.preferences(ANN, default) == Preferences(
                memory_enabled=False, auto_learn=False, sensitive_allowed=False
            )
            assert tx.users.preferences(BO, default) == default

    @pytest.mark.spec("3.7", "9")
    def test_what_can_no_longer_be_brought_back_is_let_go_and_still_scrubbed(
        self, database: Database
    ) -> None:
        gone = memory(ANN, "喜欢茶")
        note = AuditEntry(
            id="e", item="into", namespace="default", user="ann", operation=Operation.MERGE,
            actor=Actor.SYSTEM, reason="r", before="喜欢茶", after="x", at=NOW,
            trace="run", was=gone,
        )  # fmt: skip
        never = Due(expired=None, deleted=later(-9), kept=None, merged=later(-1))
        other = replace(note, id="g", item="else", trace="other run", after=None, was=None)
        with database.begin() as tx:
            tx.audit.add([note, replace(note, id="f", item=gone.id, after=None, was=None), other])
            assert tx.owners.overdue("default", never) == []
            assert [o.user for o in tx.owners.overdue("default", replace(never, merged=NOW))] == [
                "ann"
            ]
            assert (tx.audit.forget(ANN, later(-1)), tx.audit.forget(BO, NOW)) == (0, 0)
            assert (tx.audit.forget(ANN, NOW), tx.audit.forget(ANN, NOW)) == (1, 0)
            assert [(e.before, e.was) for e in tx.audit.of(ANN, "into")] == [("喜欢茶", None)]
            tx.audit.scrub(ANN, ["into"])
            assert [e.before for e in tx.audit.every(ANN)] == [None, None, "喜欢茶"]
            tx.audit.blank(BO, ["g"])
            tx.audit.blank(ANN, ["g"])
            assert [e.before for e in tx.audit.every(ANN)] == [None, None, None]

    @pytest.mark.spec("3.7", "9")
    def test_what_was_merged_is_kept_whole_until_it_is_scrubbed(self, database: Database) -> None:
        gone = memory(ANN, "喜欢茶", expires_at=later(60), metadata={"k": "v"})
        note = AuditEntry(
            id="e", item="into", namespace="default", user="ann", operation=Operation.MERGE,
            actor=Actor.SYSTEM, reason="r", before="喜欢茶", after="x", at=NOW,
            trace="run", was=gone,
        )  # fmt: skip
        with database.begin() as tx:
            assert tx.users.consolidated(ANN) is None
            tx.users.consolidate(ANN, "run", NOW)
            tx.audit.add([note, replace(note, id="f", item=gone.id, after=None, was=None)])
        with database.begin() as tx:
            assert tx.users.consolidated(ANN) == (NOW, "run")
            assert tx.users.consolidated(BO) is None
            assert [entry.was for entry in tx.audit.of(ANN, "into")] == [gone]
            tx.audit.scrub(ANN, ["into"])
            left = [(e.before, e.after, e.was) for e in tx.audit.every(ANN)]
        assert left == [(None, None, None)] * 2

    def test_nothing_of_a_failed_unit_of_work_stays(self, database: Database) -> None:
        def changes_its_mind() -> None:
            with database.begin() as tx:
                tx.items.add(memory(ANN, "Likes tea"))
                tx.messages.add(ANN, "c", [Message(Role.USER, "hi")], NOW, "t")
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            changes_its_mind()
        with database.read() as tx:
            assert tx.items.active(ANN) == []
            assert tx.messages.conversation(ANN, "c") is None
