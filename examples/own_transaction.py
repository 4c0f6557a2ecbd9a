"""A host with a chat table of its own: its row and the turn are kept together, or neither is."""

from __future__ import annotations

from sqlalchemy import Column, Integer, MetaData, Table, Text, func, insert, select

from perdure import Memory, Message, Scope

chats = Table("chats", MetaData(), Column("id", Integer, primary_key=True), Column("said", Text))


def main() -> None:
    """Say two things, and take the first one back."""
    with Memory.open("sqlite:///app.db") as memory:
        chats.create(memory.engine, checkfirst=True)
        talk(memory, Scope(user="ann"))


def talk(memory: Memory, me: Scope) -> None:
    """The host's transactions: one that it rolls back, one that it commits."""
    with memory.engine.connect() as connection:
        said = "I don't eat meat."
        connection.execute(insert(chats).values(said=said))
        memory.capture(me, "chat-1", [Message("user", said)], connection=connection)
        connection.rollback()  # the host changes its mind: nothing was said

        said = "I don't eat fish."
        connection.execute(insert(chats).values(said=said))
        receipt = memory.capture(me, "chat-1", [Message("user", said)], connection=connection)
        connection.commit()

        memory.wait(receipt)
        print("chats:", connection.scalar(select(func.count()).select_from(chats)))
        print("memories:", [item.content for item in memory.items.list(me)])


main()
