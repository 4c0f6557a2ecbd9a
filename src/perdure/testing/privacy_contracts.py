"""What every store must do to forget a user, move one, and account for one; see `contracts`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from perdure.errors import Fenced
from perdure.ports import AuditFilter, Corpus, Database
from perdure.testing.samples import ANN, AWKWARD, BO, NOW, later, memory, promise
from perdure.testing.upkeep_contracts import entry
from perdure.types import (
    Actor,
    Erasure,
    Feedback,
    JobType,
    Message,
    Moved,
    Operation,
    Role,
    Scope,
    Spend,
    Tombstone,
    Verdict,
)

_SPENT = Spend(month="2026-03", model="m", purpose="extract", calls=1, tokens_in=7, cost=0.5)


def _fill(database: Database, scope: Scope) -> None:
    """Something of a user in most places."""
    with database.begin() as tx:
        item = memory(scope, "不吃香菜")
        tx.items.add(item)
        tx.items.bury(scope, memory(scope, "Gone"), NOW)
        tx.messages.add(scope, "c", [Message(Role.USER, "hi", id="m")], NOW, "t")
        tx.fulltext.index(scope, Corpus.MEMORIES, {item.id: ["香", "菜"]})
        tx.audit.add([entry(item.id, scope, after="不吃香菜")])
        tx.feedback.add(scope, Feedback(trace="t", item=item.id, verdict=Verdict.USEFUL, at=NOW))
        tx.jobs.promise(promise(scope, "k"), NOW)
        tx.users.prefer(scope, auto_learn=False)
        tx.spend.add(scope.namespace, scope.user, _SPENT)


class PrivacyContract:
    """Erasing, walking through everything, the audit by page, and what models cost."""

    @pytest.mark.spec("9")
    def test_fields_that_moved_are_kept_and_scrubbed_with_the_text(
        self, database: Database
    ) -> None:
        moved = {"title": Moved("", "茶 👋"), "metadata": Moved({}, {"a": "1"}), "kind": Moved("x")}
        note = replace(entry("i", ANN, after="x"), moved=moved, by="key:7")
        with database.begin() as tx:
            tx.audit.add([note, replace(note, id="e2", item="j"), entry("k", ANN)])
        with database.begin() as tx:
            assert [one.moved for one in tx.audit.every(ANN)] == [moved, moved, {}]
            tx.audit.scrub(ANN, ["i"])
            tx.audit.blank(ANN, ["e2"])
            assert [one.moved for one in tx.audit.every(ANN)] == [{}, {}, {}]

    @pytest.mark.spec("9")
    def test_what_was_handed_in_is_found_by_who_did_that_and_not_by_what_it_says(
        self, database: Database
    ) -> None:
        here = replace(entry("i", ANN), id="e1", actor=Actor.ADMIN, by="key:7")
        claims = replace(here, id="e2", imported_by="key:9")
        with database.begin() as tx:
            tx.audit.add([here, claims])

        def found(which: AuditFilter) -> list[str]:
            with database.read() as tx:
                return [one.id for one in tx.audit.page("default", which).entries]

        assert found(AuditFilter(by="key:7")) == found(AuditFilter(actors={Actor.ADMIN})) == ["e1"]
        assert found(AuditFilter(by="key:9")) == ["e2"]
        with database.read() as tx:
            assert [one.imported_by for one in tx.audit.of(ANN, "i")] == [None, "key:9"]

    @pytest.mark.spec("6", "9")
    def test_the_newest_answers_of_each_user_are_known_and_go_with_the_user(
        self, database: Database
    ) -> None:
        with database.begin() as tx:
            for number in range(4):
                tx.feedback.answered(ANN, {f"t{number}": ["a", "b"]}, NOW, 2)
            tx.feedback.answered(BO, {"t0": ["c"], "t1": []}, NOW, 2)
            tx.feedback.answered(BO, {"t0": ["d"]}, NOW, 2)
        with database.begin() as tx:
            said = [tx.feedback.said(ANN, f"t{number}") for number in range(4)]
            assert said == [frozenset(), frozenset(), {"a", "b"}, {"a", "b"}]
            assert tx.feedback.said(BO, "t0") == {"c"}
            assert tx.feedback.said(BO, "t3") == frozenset()
            assert tx.erasures.wipe(ANN)["answers"] == 2
            assert tx.feedback.said(BO, "t0") == {"c"}
            tx.feedback.answered(BO, {}, NOW, 0)
            assert tx.feedback.said(BO, "t0") == frozenset()

    @pytest.mark.spec("9")
    def test_who_asked_for_an_erasure_outlives_it(self, database: Database) -> None:
        asked = replace(entry("receipt", ANN), operation=Operation.ERASE)
        with database.begin() as tx:
            tx.audit.add([asked, replace(asked, id="e2", operation=Operation.SET)])
            assert tx.erasures.held(ANN)["audit_log"] == 1
            tx.erasures.wipe(ANN)
            assert [one.operation for one in tx.audit.every(ANN)] == [Operation.ERASE]

    @pytest.mark.spec("9")
    def test_a_wiped_user_is_gone_and_nobody_else(self, database: Database) -> None:
        for user in AWKWARD:
            _fill(database, Scope(user=user))
        gone = Scope(user=AWKWARD[5])
        with database.begin() as tx:
            held = tx.erasures.held(gone)
            assert sum(1 for count in held.values() if count) >= 10
            assert tx.erasures.wipe(gone) == held
            assert not any(tx.erasures.held(gone).values())
            assert tx.fulltext.postings(gone, Corpus.MEMORIES, ["香"]).found == ()
        with database.read() as tx:
            for user in AWKWARD:
                if user != gone.user:
                    assert tx.erasures.held(Scope(user=user)) == held, user
            together = tx.spend.together("default", "2026-03")
        assert [one.calls for one in together] == [len(AWKWARD)]

    @pytest.mark.spec("9")
    def test_a_receipt_outlives_what_it_is_about(self, database: Database) -> None:
        first = Erasure(id="e1", namespace="default", user="ann", by="ann", asked_at=NOW)
        with database.begin() as tx:
            assert tx.erasures.last(ANN) is None
            assert not tx.erasures.since(ANN, later(-99))
            tx.erasures.add(first)
            assert tx.erasures.since(ANN, later(99))
            done = replace(first, done_at=later(5), removed={"memories": 2})
            tx.erasures.put(done)
            tx.erasures.wipe(ANN)
            assert tx.erasures.last(ANN) == done
            assert tx.erasures.since(ANN, later(5))
            assert not tx.erasures.since(ANN, later(6))
            assert not tx.erasures.since(BO, later(-99))

    @pytest.mark.spec("5", "9")
    def test_who_runs_a_job_that_was_taken_away_may_not_write(self, database: Database) -> None:
        with database.begin() as tx:
            tx.jobs.promise(promise(ANN, "k"), NOW)
            tx.jobs.promise(promise(ANN, "e", type=JobType.ERASE, ordered=False), NOW)
            job = tx.jobs.claim(NOW, 30, [JobType.EXTRACT])
            assert job is not None
            assert tx.jobs.take_away(ANN) == {"jobs": 1}
            assert not tx.jobs.beat(job, later(30))
            with pytest.raises(Fenced):
                tx.jobs.finish(job, {}, NOW)
            assert tx.jobs.claim(NOW, 30, [JobType.ERASE]) is not None

    @pytest.mark.spec("9")
    def test_walks_reach_everything_once_and_in_order(self, database: Database) -> None:
        stones = [
            Tombstone(content_hash=hashed, at=NOW, conversation=conversation, message=message)
            for hashed in ("a", "b")
            for conversation, message in (("", ""), ("c", "m1"), ("小", "m1"))
        ]
        items = sorted((memory(ANN, f"Number {n}") for n in range(5)), key=lambda one: one.id)
        with database.begin() as tx:
            for item in items:
                tx.items.add(item)
                tx.audit.add([entry(item.id)])
            assert all(tx.items.entomb(ANN, stone) for stone in stones)
            assert not any(tx.items.entomb(ANN, stone) for stone in stones)
            assert tx.items.entomb(ANN, replace(stones[0], at=later(1)))
        with database.read() as tx:
            walked = tx.items.walk(ANN, "", 3)
            walked += tx.items.walk(ANN, walked[-1].id, 3)
            graves = tx.items.graves(ANN, None, 4)
            graves += tx.items.graves(ANN, graves[-1], 4)
            past = tx.audit.after(ANN, 0, 3)
            past += tx.audit.after(ANN, past[-1][0], 3)
            assert tx.items.walk(BO, "", 9) == []
            assert tx.items.graves(BO, None, 9) == []
        assert walked == items
        assert [(g.content_hash, g.conversation) for g in graves] == [
            (s.content_hash, s.conversation) for s in stones
        ]
        assert [one.item for _, one in past] == [item.id for item in items]

    @pytest.mark.spec("9")
    def test_the_audit_is_paged_within_its_namespace(self, database: Database) -> None:
        elsewhere = Scope(user="ann", namespace="other")
        with database.begin() as tx:
            tx.audit.add([entry("1"), entry("2", BO), entry("3"), entry("4", elsewhere)])
            tx.audit.add([replace(entry("5"), operation=Operation.READ, by="key", at=later(9))])
            first = tx.audit.page("default", AuditFilter(), 3)
            rest = tx.audit.page("default", AuditFilter(), 3, first.next)
            assert [one.item for one in (*first.entries, *rest.entries)] == ["5", "3", "2", "1"]
            assert rest.next is None
            for which, found in (
                (AuditFilter(user="ann", until=later(5)), ["3", "1"]),
                (AuditFilter(by="key"), ["5"]),
                (AuditFilter(operations=[Operation.READ]), ["5"]),
                (AuditFilter(operations=[]), []),
            ):
                page = tx.audit.page("default", which)
                assert [one.item for one in page.entries] == found

    @pytest.mark.spec("10")
    def test_what_was_spent_adds_up_by_user_month_model_and_purpose(
        self, database: Database
    ) -> None:
        with database.begin() as tx:
            tx.spend.add("default", "ann", _SPENT)
            tx.spend.add("default", "ann", replace(_SPENT, calls=2, tokens_out=3))
            tx.spend.add("default", None, _SPENT)
            tx.spend.add("default", "bo", replace(_SPENT, model="n"))
            tx.spend.add("default", "ann", replace(_SPENT, month="2026-04"))
            (own,) = tx.spend.of(ANN, "2026-03")
            together = tx.spend.together("default", "2026-03")
            assert tx.spend.together("other", "2026-03") == []
        assert own == replace(_SPENT, calls=3, tokens_in=14, tokens_out=3, cost=1.0)
        assert [(one.model, one.calls) for one in together] == [("m", 4), ("n", 1)]
