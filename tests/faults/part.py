"""One process that may be killed: a producer, a worker, a relay or a consumer; started by run.py.

Its settings stand in the environment. A producer says each turn on its standard output once it was
acknowledged, and ends when its standard input does; the others work until they are killed.
"""

from __future__ import annotations

import random
import sys
import threading
import time
from contextlib import suppress

from perdure import Memory, Message, Scope
from perdure.errors import Unavailable
from perdure.types import Role

USERS = ("ann", "bo", "小林")
AGAIN_S = 0.1


def main(role: str, number: int, pause_s: float) -> None:
    memory = opened()
    if role == "producer":
        produce(memory, number, pause_s)
        return
    never = threading.Event()
    parts = memory.parts
    if role == "worker":
        threading.Thread(target=parts.upkeep.run, args=(never,), daemon=True).start()
        parts.worker.run(never)
    elif parts.way is not None:
        part = parts.way.relay if role == "relay" else parts.way.consumer
        part.run(never)


def opened() -> Memory:
    """The memory, as soon as its database answers."""
    while True:
        try:
            return Memory.open(workers=False)
        except Unavailable:
            time.sleep(AGAIN_S)


def produce(memory: Memory, number: int, pause_s: float) -> None:
    """Turn after turn, with up to so many seconds between two."""
    stop = threading.Event()

    def listen() -> None:
        sys.stdin.read()
        stop.set()

    threading.Thread(target=listen, daemon=True).start()
    chance = random.Random(number)
    turn = 0
    while not stop.is_set():
        user = chance.choice(USERS)
        name = f"{number}{turn:05}"
        said = f"我喜欢数字{name}。" if turn % 2 else f"I like number {name}."
        acknowledged = False
        while not acknowledged:
            with suppress(Unavailable):
                memory.capture(
                    Scope(user=user), f"chat-{number}", [Message(Role.USER, said, id=name)]
                )
                acknowledged = True
            time.sleep(0 if acknowledged else AGAIN_S)
        sys.stdout.write(f"{user} {name}\n")
        sys.stdout.flush()
        turn += 1
        time.sleep(chance.random() * pause_s)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))
