"""The desktop preset from end to end: one person, memory.json, a model that is asked seldom."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from perdure import ItemFilter, Memory, Message, Scope, Status
from perdure.errors import ContentTooLong, Duplicate, Misconfigured, Rejected
from perdure.testing.model_server import ModelServer, failing
from perdure.text import utf8_length
from perdure.types import Reason, ReceiptState

ann = Scope(user="ann")
lin = Scope(user="小林")
FILE = Path("memory.json")  # each test has a folder of its own
TALK = "So we went on talking about one thing and another. "


def user(content, name=None):
    return Message("user", content, id=name)


def lasting(begin, characters=4_000):
    """A message of the user that is exactly so long."""
    return user((begin + " " + TALK * 100)[:characters])


def merged(*contents):
    """What a model replies that was asked for the merged list."""
    return [{"content": content} for content in contents]


def entries():
    return json.loads(FILE.read_text("utf-8"))


def contents():
    return [entry["content"] for entry in entries()]


def watermark(memory, conversation="chat-1"):
    with memory.parts.database.read() as tx:
        return tx.messages.conversation(ann, conversation).watermark


@pytest.fixture
def server():
    with ModelServer() as server:
        yield server


@pytest.fixture
def replies(server):
    """Tells the model what to reply, in order."""
    return server._script


@pytest.fixture
def opened(server, monkeypatch):
    """Opens the memory, as often as the application is started; the settings of a test first."""
    monkeypatch.setenv("PERDURE_LLM_BASE_URL", server.base_url)
    monkeypatch.setenv("PERDURE_LLM_MODEL", "scripted")
    monkeypatch.setenv("PERDURE_POLICY__JOBS__BACKOFF_S", "0.05")
    running = []

    def start():
        memory = Memory.open("memory.json", preset="desktop")
        running.append(memory)
        return memory

    yield start
    for memory in running:
        memory.close()


# ── learning ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.spec("11", "3.1")
@pytest.mark.point("B8.4", "B8.7")
def test_below_4000_new_characters_no_model_is_asked_and_then_once(opened, server, replies):
    """B 8: the trigger. B 1: one extraction for 4,000 characters, at most one a turn."""
    replies += [merged("Lives in Bergen"), merged("Lives in Bergen", "Uses pnpm")]
    memory = opened()

    early = memory.capture(ann, "chat-1", [lasting("I live in Bergen.", 3_990)])
    other = memory.capture(ann, "chat-2", [lasting("I live in Bergen.", 3_990)])
    assert (early.reason, other.reason) == (Reason.NOT_ENOUGH_NEW, Reason.NOT_ENOUGH_NEW)
    assert not server.chats

    assert memory.wait(memory.capture(ann, "chat-1", [user("ten more..")])).state == "learnt"
    late = memory.capture(ann, "chat-1", [user("And one more word.")])
    assert late.reason is Reason.NOT_ENOUGH_NEW
    assert contents() == ["Lives in Bergen"]

    memory.wait(memory.capture(ann, "chat-1", [lasting("I use pnpm.")]))
    assert contents() == ["Lives in Bergen", "Uses pnpm"]
    first, second = (request.body["messages"][1]["content"] for request in server.chats)
    assert '"known"' not in first
    known, lines = second.split('"lines"')
    assert "Lives in Bergen" in known  # the current texts
    assert "ten more.." not in lines
    assert "And one more word." in lines  # everything after the watermark


@pytest.mark.spec("11", "3.4")
@pytest.mark.point("B8.5")
def test_the_same_content_keeps_its_row_and_what_is_left_out_stays(opened, replies):
    """B 8: merging keeps the old id and time. B 6.4: the source is the conversation."""
    replies += [merged("偏好 zsh"), merged("偏好 zsh", "项目用 pnpm"), merged("住在杭州")]
    memory = opened()
    memory.wait(memory.capture(lin, "ssh-7f3e0c11", [lasting("我偏好 zsh。" + "聊天。" * 1_400)]))
    (before,) = entries()
    for said, conversation in (("我项目用 pnpm。", "home"), ("我住在杭州。", "home")):
        memory.wait(memory.capture(lin, conversation, [lasting(said + "聊天。" * 1_400)]))

    assert entries()[0] == before
    assert before["sourceScope"] == "ssh-7f3e0c11"
    assert [(e["content"], e["sourceScope"]) for e in entries()[1:]] == [
        ("项目用 pnpm", "home"), ("住在杭州", "home"),
    ]  # fmt: skip
    times = [entry["createdAt"] for entry in entries()]
    assert times == sorted(times)
    assert abs(times[0] / 1_000 - datetime.now(UTC).timestamp()) < 60


@pytest.mark.spec("11", "3.3")
def test_an_unusable_reply_leaves_the_watermark_and_the_next_turn_tries_again(
    opened, server, replies
):
    """B 7: a reply that is no JSON is skipped, and no conversation notices."""
    replies += ["I could not find anything, sorry!", merged("Lives in Bergen")]
    memory = opened()

    told = memory.wait(memory.capture(ann, "chat-1", [lasting("I live in Bergen.")]))
    assert told.error is not None
    assert watermark(memory) == 0

    memory.wait(memory.capture(ann, "chat-1", [user("Short.")]))
    assert contents() == ["Lives in Bergen"]
    assert "I live in Bergen." in server.chats[1].said
    assert watermark(memory) > 0


@pytest.mark.spec("11", "3.1")
def test_a_model_that_is_away_costs_the_conversation_nothing(opened, replies):
    """B 7: the call fails, the turn goes on, and a later try learns."""
    replies += [failing(500), merged("Lives in Bergen")]
    memory = opened()

    taken = memory.capture(ann, "chat-1", [lasting("I live in Bergen.")])
    assert memory.recall(ann, "Where do I live?").text == ""
    assert memory.wait(taken).state == "learnt"
    assert contents() == ["Lives in Bergen"]


@pytest.mark.spec("11", "3.1", "3.5")
def test_while_one_extraction_runs_no_other_one_starts_for_what_it_reads(opened, server, replies):
    """B 6.4: not re-entered while it runs; at most one a turn."""
    memory = opened()
    taken = []

    def thinking(_request):
        taken.append(memory.capture(ann, "chat-1", [user("Meanwhile, a short turn.")]))
        return merged("Lives in Bergen")

    replies.append(thinking)
    memory.wait(memory.capture(ann, "chat-1", [lasting("I live in Bergen.")]))

    second = memory.wait(taken[0])
    assert (second.state, second.reason) == (ReceiptState.SKIPPED, Reason.NOT_ENOUGH_NEW)
    assert len(server.chats) == 1


@pytest.mark.spec("11", "3.1")
@pytest.mark.point("B8.10")
def test_after_a_restart_learning_goes_on_where_it_was(opened, server, replies):
    """B 8: nothing before the watermark is read again, though the host sends its whole history."""
    replies += [merged("Lives in Bergen"), merged("Lives in Bergen", "Uses pnpm")]
    history = [user(lasting("I live in Bergen.", 2_500).content, "1"), user(TALK * 20, "2")]
    memory = opened()
    assert memory.capture(ann, "chat-1", history).reason is Reason.NOT_ENOUGH_NEW
    memory.close()

    memory = opened()
    history.append(user(TALK * 20, "3"))
    memory.wait(memory.capture(ann, "chat-1", history))
    reached = watermark(memory)
    memory.close()

    memory = opened()
    history.append(user("And a word.", "4"))
    told = memory.wait(memory.capture(ann, "chat-1", history))
    assert (told.reason, len(server.chats)) == (Reason.NOT_ENOUGH_NEW, 1)
    assert watermark(memory) == reached
    history.append(user(lasting("I use pnpm.").content, "5"))
    memory.wait(memory.capture(ann, "chat-1", history))
    assert contents() == ["Lives in Bergen", "Uses pnpm"]
    assert [request.said.count("I live in Bergen.") for request in server.chats] == [1, 0]
    state = FILE.with_name("memory.state.json").read_text("utf-8")
    assert TALK not in state  # what was learnt from is not kept


@pytest.mark.spec("11", "3.5")
def test_what_cannot_be_saved_is_recalled_from_memory_and_saved_later(
    opened, server, replies, monkeypatch, caplog
):
    """B 7: the list stays in memory and goes with the next save; the watermark does not move."""
    monkeypatch.setenv("PERDURE_POLICY__JOBS__LEASE_S", "3")  # a machine may stand still for one
    monkeypatch.setenv("PERDURE_POLICY__JOBS__POLL_S", "0.1")
    blocked = FILE.with_name(".memory.state.json.new")

    def thinking(_request):
        blocked.mkdir()  # the disk takes nothing from now on
        return merged("Lives in Bergen")

    replies += [thinking, merged("Lives in Bergen")]
    memory = opened()
    taken = memory.capture(ann, "chat-1", [lasting("I live in Bergen.")])
    until = time.monotonic() + 10
    while not memory.recall(ann, "x").text and time.monotonic() < until:
        time.sleep(0.02)

    assert "Lives in Bergen" in memory.recall(ann, "Where do I live?").text
    assert contents() == []
    assert watermark(memory) == 0
    with pytest.raises(Exception, match=r"memory\.json"):
        memory.items.add(ann, "Likes tea")
    assert "could not be saved" in caplog.text
    assert "Bergen" not in caplog.text

    blocked.rmdir()
    assert memory.wait(taken).state == "learnt"
    assert contents() == ["Lives in Bergen"]
    assert watermark(memory) > 0
    assert len(server.chats) == 2


# ── saying ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.spec("11", "4.7", "4.8")
@pytest.mark.point("B8.6")
def test_everything_is_said_oldest_first_and_above_8_kb_the_oldest_is_left_out(opened):
    """B 8: the budget; the closing line says how many are not in."""
    memory = opened()
    for number in range(100):
        memory.items.add(lin, f"{number:03} " + "记" * 196)

    said = memory.recall(lin, "随便").text

    assert utf8_length(said) <= 8 * 1024
    numbers = [line[2:5] for line in said.splitlines() if line.startswith("- ")]
    assert numbers == [f"{n:03}" for n in range(100 - len(numbers), 100)]
    assert len(numbers) > 10
    assert f"其余 {100 - len(numbers)} 条" in said


@pytest.mark.spec("11", "8")
@pytest.mark.point("B8.8")
def test_with_the_switch_off_nothing_is_said_or_learnt_and_everything_can_be_managed(
    opened, server
):
    """B 8: switched off."""
    memory = opened()
    item = memory.items.add(ann, "Lives in Bergen")
    memory.preferences.set(ann, memory_enabled=False)

    assert memory.recall(ann, "Where do I live?").text == ""
    assert memory.capture(ann, "chat-1", [lasting("I live in Oslo.")]).reason is Reason.DISABLED
    memory.items.edit(ann, item.id, content="Lives in Oslo")
    assert contents() == ["Lives in Oslo"]

    memory.preferences.set(ann, memory_enabled=True, auto_learn=False)
    taken = memory.capture(ann, "chat-1", [lasting("Remember that I live in Rome.")])
    assert taken.reason is Reason.AUTO_LEARN_OFF
    assert "Oslo" in memory.recall(ann, "Where do I live?").text
    assert not server.chats


# ── looking after the file ───────────────────────────────────────────────────────────────────────


@pytest.mark.spec("11", "3.6")
@pytest.mark.point("B8.1")
def test_over_the_limit_the_oldest_leave_whoever_adds(opened, replies, monkeypatch):
    """B 8: the limit is kept at every save, for a hand, a file and a model alike."""
    monkeypatch.setenv("PERDURE_POLICY__CAPACITY__ACTIVE_LIMIT", "10")
    memory = opened()
    for number in range(11):
        memory.items.add(ann, f"fact {number}")
    assert contents() == [f"fact {n}" for n in range(1, 11)]

    by_hand = [{"content": f"by hand {n}"} for n in range(4)]
    FILE.write_text(json.dumps([*entries(), *by_hand]), "utf-8")
    assert len(memory.items.list(ann)) == 14
    replies.append(merged("Lives in Bergen"))
    memory.wait(memory.capture(ann, "chat-1", [lasting("I live in Bergen.")]))

    assert contents() == [
        *(f"fact {n}" for n in range(6, 11)),
        *(f"by hand {n}" for n in range(4)),
        "Lives in Bergen",
    ]  # fmt: skip
    crowded = memory.items.list(ann, ItemFilter(statuses=[Status.ARCHIVED]))
    assert {item.content for item in crowded} == {f"fact {n}" for n in range(6)}
    memory.items.restore(ann, next(i.id for i in crowded if i.content == "fact 3"))
    assert contents()[:2] == ["fact 3", "fact 7"]


@pytest.mark.spec("11", "3.6", "8")
def test_a_limit_that_the_file_cannot_have_is_refused(opened, monkeypatch):
    memory = opened()
    with pytest.raises(Misconfigured, match=r"10 to 1,000"):
        memory.parts.runtime.set("default", "capacity.active_limit", 1_001)
    assert memory.parts.runtime.set("default", "capacity.active_limit", 1_000).capacity.active_limit

    monkeypatch.setenv("PERDURE_POLICY__CAPACITY__ACTIVE_LIMIT", "9")
    with pytest.raises(Misconfigured) as refused:
        opened()
    assert refused.value.field == "capacity.active_limit"
    with pytest.raises(Misconfigured, match="desktop"):
        Memory.open("memory.json")


@pytest.mark.spec("11", "6")
def test_a_memory_added_by_hand_has_at_most_200_characters(opened):
    """B 6.5: not blank, at most 200 as a person counts."""
    memory = opened()
    family = "👨‍👩‍👧"
    memory.items.add(ann, family * 200)
    for content, error in (
        (family * 201, ContentTooLong),
        ("  ", Rejected),
        (family * 200, Duplicate),
    ):
        with pytest.raises(error):
            memory.items.add(ann, content)
    assert contents() == [family * 200]


@pytest.mark.spec("11")
@pytest.mark.point("B8.9")
def test_a_hand_adds_deletes_one_and_clears_the_rest(opened):
    """B 8, by hand: in the list and in the file."""
    memory = opened()
    oslo, _ = (memory.items.add(ann, said) for said in ("Lives in Oslo", "不吃香菜"))
    assert contents() == ["Lives in Oslo", "不吃香菜"]

    memory.items.delete(ann, oslo.id)
    assert contents() == ["不吃香菜"]

    memory.items.clear(ann)
    assert contents() == []
    assert memory.items.list(ann).items == ()


@pytest.mark.spec("11")
@pytest.mark.point("B8.3")
def test_clearing_twice_is_clearing_once_and_leaves_the_watermark(opened, server, replies):
    """B 8: clearing what is empty, or not there, is no error."""
    replies.append(merged("Lives in Bergen"))
    memory = opened()
    memory.items.clear(ann)
    memory.wait(memory.capture(ann, "chat-1", [lasting("I live in Bergen.")]))
    reached = watermark(memory)

    assert [memory.items.clear(ann) for _ in range(2)] == [1, 0]
    assert entries() == []
    FILE.unlink()
    assert memory.items.clear(ann) == 0
    assert memory.recall(ann, "Where do I live?").text == ""
    assert watermark(memory) == reached
    assert memory.capture(ann, "chat-1", [user("Short.")]).reason is Reason.NOT_ENOUGH_NEW
    assert len(server.chats) == 1


@pytest.mark.spec("11")
def test_an_edit_in_the_file_is_said_in_the_next_answer(opened):
    memory = opened()
    memory.items.add(ann, "Lives in Bergen")
    (entry,) = entries()

    FILE.write_text(json.dumps([entry | {"content": "Lives in Oslo"}]), "utf-8")

    assert "Lives in Oslo" in memory.recall(ann, "Where do I live?").text


@pytest.mark.spec("11", "3.4")
def test_what_was_removed_from_the_file_is_not_learnt_from_the_same_words_again(
    opened, replies, server
):
    replies += [merged("Lives in Bergen"), merged("Lives in Bergen")]
    memory = opened()
    memory.wait(memory.capture(ann, "chat-1", [lasting("I live in Bergen.")]))
    other = memory.capture(ann, "chat-2", [user(TALK * 10), user("I live in Bergen.")])
    assert other.reason is Reason.NOT_ENOUGH_NEW

    FILE.write_text("[]", "utf-8")
    memory.wait(memory.capture(ann, "chat-2", [lasting("Nothing new.")]))

    assert len(server.chats) == 2
    assert contents() == []


@pytest.mark.spec("11")
def test_two_applications_on_one_file_lose_nothing_of_each_other(opened, replies):
    one, two = opened(), opened()
    replies.append(merged("Lives in Bergen"))
    taken = one.capture(ann, "chat-1", [lasting("I live in Bergen.")])
    for number in range(10):
        (one, two)[number % 2].items.add(ann, f"fact {number}")

    assert two.wait(taken).state == "learnt"  # whichever of them learnt it
    assert len(one.items.list(ann)) == len(two.items.list(ann)) == 11
    assert set(contents()) == {"Lives in Bergen", *(f"fact {n}" for n in range(10))}


@pytest.mark.spec("11", "1")
def test_a_second_user_and_a_host_s_connection_are_refused_by_name(opened):
    memory = opened()
    memory.items.add(ann, "Lives in Bergen")
    for ask in (
        lambda: memory.recall(Scope(user="bo"), "Where do I live?"),
        lambda: memory.items.list(Scope(user="bo")),
        lambda: memory.items.add(Scope(user="bo"), "Likes tea"),
        lambda: memory.capture(Scope(user="bo"), "chat-1", [user("Hi")]),
    ):
        with pytest.raises(Rejected) as refused:
            ask()
        assert refused.value.field == "user"
    with pytest.raises(Rejected) as refused:
        memory.capture(ann, "chat-1", [user("Hi")], connection=object())
    assert refused.value.field == "connection"
    assert contents() == ["Lives in Bergen"]


@pytest.mark.spec("11")
def test_without_a_model_the_built_in_extractor_learns_into_the_file():
    with Memory.open("memory.json", preset="desktop") as memory:
        memory.wait(memory.capture(ann, "chat-1", [lasting("I live in Bergen.")]))
    assert contents() == ["Lives in Bergen"]
