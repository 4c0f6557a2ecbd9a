"""The same in an event loop: two people at once, each with memories of their own."""

from __future__ import annotations

import asyncio

from perdure import AsyncMemory, Message, Scope


async def meet(memory: AsyncMemory, user: str, said: str, question: str) -> None:
    """Learn from one message and ask one question."""
    me = Scope(user=user)
    await memory.wait(await memory.capture(me, "chat-1", [Message("user", said)]))
    answer = await memory.recall(me, question)
    print(f"{user}: {question}\n{answer.text}\n")


async def main() -> None:
    """Meet two people."""
    async with await AsyncMemory.open("quickstart.db") as memory:
        await asyncio.gather(
            meet(memory, "ann", "I don't eat meat.", "What could we cook tonight?"),
            meet(memory, "小林", "我不吃香菜。", "今晚做什么菜？"),
        )


asyncio.run(main())
