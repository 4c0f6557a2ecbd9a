"""The main job in twenty lines: one conversation helps the next."""

from __future__ import annotations

from perdure import Memory, Message, Scope

with Memory.open("quickstart.db") as memory:
    me = Scope(user="ann")

    receipt = memory.capture(
        me,
        "chat-1",
        [
            Message("user", "I moved to Bergen; answer me in Norwegian from now on."),
            Message("assistant", "Noted!"),
        ],
    )
    memory.wait(receipt)  # learning runs in the background

    answer = memory.recall(me, "Where should we meet for coffee?")
    print(answer.text)

    for item in memory.items.list(me):
        print(f"{item.kind}: {item.content} (from {item.origin.conversation})")
