"""A chat in the terminal that remembers; it talks to the model that the settings name."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime

from openai import OpenAI

from perdure import Memory, Message, Scope


def main() -> None:
    """Talk until the input ends."""
    with Memory.open("chat.db") as memory:
        settings = memory.parts.settings
        if settings.llm_model is None:
            raise SystemExit("Set PERDURE_LLM_BASE_URL, PERDURE_LLM_API_KEY and PERDURE_LLM_MODEL.")
        model = OpenAI(base_url=settings.llm_base_url, api_key=settings.llm_api_key or "unused")
        me, conversation = Scope(user="ann"), f"chat-{uuid.uuid4().hex[:8]}"
        history: list[Message] = []
        while said := read():
            history.append(Message("user", said, at=datetime.now(UTC)))
            answer = memory.recall(me, history)
            messages = [{"role": m.role.value, "content": m.content} for m in history]
            reply = model.chat.completions.create(
                model=settings.llm_model,
                messages=answer.as_system(messages),  # type: ignore[arg-type]  # plain mappings
            )
            history.append(Message("assistant", reply.choices[0].message.content))
            print(history[-1].content)
            memory.capture(me, conversation, history[-2:])  # learns while the next line is typed


def read() -> str:
    """The next line, empty at the end of the input."""
    try:
        return input("> ").strip()
    except EOFError:
        return ""


main()
