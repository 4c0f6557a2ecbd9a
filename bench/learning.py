"""What learning costs: model calls, prompt tokens and embeddings a turn, on a fixed workload.

50 users, half of them Chinese, say 40 turns each: 60 % hold nothing that lasts, 30 % tell something
new, 10 % change what is stored. Each user starts with 0, 20 or 200 memories. A scripted server on
a socket plays the model and the embedder; all goes through the front door and the worker.

    python bench/learning.py [--json FILE] [--quick]

Exits 1 if a bound is missed. Tokens are our own careful estimate (about one a Chinese character,
one for each four letters of a word, one a sign). Small talk is worded anew each time, since what
was said is embedded as it is, for search in conversations.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import mean
from typing import Any

from measures import arguments, report
from perdure import Memory, Message, Scope, text
from perdure.policy import ASSISTANT
from perdure.ports import Corpus, VectorEntry
from perdure.settings import load
from perdure.testing.delivery import Request
from perdure.testing.fakes import word_vector
from perdure.testing.model_server import CHAT, EMBEDDINGS, ModelServer
from perdure.types import Level, MemoryItem, Source, VectorStatus, content_hash, new_id

USERS, TURNS = 50, 40
SIZES = {0: 900, 20: 900, 200: 1_500}  # memories at the beginning, and prompt tokens at most
STRATEGIES = ("two_call", "one_call")
DIMENSION = 4_096
SIMILARITY = "unrelated=0.5,topic=0.6,same=0.97,answer=0.75"  # of these word vectors
AT = datetime(2026, 1, 1, tzinfo=UTC)

# ── what is said ─────────────────────────────────────────────────────────────────────────────────

ENGLISH = ("Plays {} with {} at {} and {}", "Buys {} from {} near {} and {}",
           "Studies {} beside {} in {} and {}", "Paints {} for {} on {} and {}",
           "Collects {} out of {} by {} and {}", "Teaches {} to {} behind {} and {}")  # fmt: skip
CHINESE = ("和{}一起玩{},在{}和{}", "找{}买{},到{}和{}", "跟{}学{},去{}和{}", "给{}画{},用{}和{}",
           "向{}收集{},从{}和{}", "教{}做{},经{}和{}")  # fmt: skip
SYLLABLES = "ba de fi go ku la me ni po ru sa te vi wo xu ya zo ham lor mer tis pol".split()
SIGNS = (
    "岚岑岱岳峦崧嵩巍沁沂沅沐沛泓泠泽洵浔涵淇淳渊湄溪滢潇澜濯"
    "珂珩琅琛琦琨琪瑄瑾璇璟芊芮苒茜荀荃莞菁萱葳蓁蕴薇蘅"
)
TALK = ("What is the height of the tower in {}?", "Who painted the walls of {}?", "Thanks, {}!")
TALK_ZH = ("{}的塔有多高？", "谁建了{}？", "{}的天气怎么样？")


@dataclass(slots=True)
class Speaker:
    """Says the turns of one user, and knows what a good model would make of them."""

    number: int
    chinese: bool
    rng: random.Random
    facts: dict[str, str] = field(default_factory=dict)
    """What is said, and the statement in it."""
    changes: dict[str, str] = field(default_factory=dict)
    """A statement, and the stored one that it changes."""
    used: set[str] = field(default_factory=set)
    """Names that were used."""

    def word(self) -> str:
        """A name that this user has not used before."""
        drawn = ""
        while not drawn or drawn in self.used:
            signs = self.rng.sample(SIGNS, 3) if self.chinese else self.rng.choices(SYLLABLES, k=3)
            drawn = "".join(signs).capitalize()
        self.used.add(drawn)
        return drawn

    def statement(self) -> tuple[str, ...]:
        """A template and four names."""
        template = self.rng.choice(CHINESE if self.chinese else ENGLISH)
        return template, *(self.word() for _ in range(4))

    def says(self, statement: str) -> str:
        """The sentence in which a person says so."""
        if self.chinese:
            return f"我{statement}。"
        verb, rest = statement.split(" ", 1)
        return f"I {verb.lower().removesuffix('es' if verb.endswith('ches') else 's')} {rest}."

    def stored(self, count: int) -> list[str]:
        """The memories at the beginning."""
        return [template.format(*names) for template, *names in self._some(count)]

    def _some(self, count: int) -> Iterator[tuple[str, ...]]:
        return (self.statement() for _ in range(count))

    def turns(self, known: list[str], count: int) -> Iterator[tuple[str, str]]:
        """What sort of turn it is, and what is said."""
        kinds = ["idle"] * (count * 6 // 10) + ["changed"] * (count // 10)
        kinds += ["new"] * (count - len(kinds))
        self.rng.shuffle(kinds)
        for kind in kinds:
            if kind == "idle":
                talk = self.rng.choice(TALK_ZH if self.chinese else TALK[:2])
                yield kind, talk.format(self.word())
                continue
            statement = self._statement(kind, known)
            said = self.says(statement)
            self.facts[said] = statement
            known.append(statement)
            yield ("changed" if statement in self.changes else "new"), said

    def _statement(self, kind: str, known: list[str]) -> str:
        template, *names = self.statement()
        if kind == "new" or not known:
            return template.format(*names)
        old = known.pop(self.rng.randrange(len(known)))
        end = old.rindex("和" if self.chinese else " ") + 1
        self.changes[old[:end] + names[0]] = old
        return old[:end] + names[0]


# ── the model ────────────────────────────────────────────────────────────────────────────────────


@dataclass(slots=True)
class Script:
    """Answers as a good model would; knows every speaker."""

    speakers: list[Speaker] = field(default_factory=list)

    def __call__(self, request: Request) -> object:
        """The reply to one chat."""
        system, user = (message["content"] for message in request.body["messages"])
        data = json.loads(user)
        if "statements" in data:
            return {"decisions": list(self._decisions(data))}
        if "lines" not in data:
            return {"operations": []}  # nothing to tidy up
        lines = [said for said in data["lines"].values() if said.startswith("[user")]
        said = lines[-1].split("] ", 1)[1]
        statement = next(s.facts[said] for s in self.speakers if said in s.facts)
        fact: dict[str, Any] = {"content": statement, "kind": "fact", "lines": [1]}
        old = self._replaced(statement)
        for number, content in data.get("known", {}).items():
            if content == old and "existing" in system:
                fact |= {"action": "update", "existing": int(number)}
        return {"memories": [fact]}

    def _decisions(self, data: dict[str, Any]) -> Iterator[dict[str, Any]]:
        for number, statement in data["statements"].items():
            old = self._replaced(statement)
            found = [int(n) for n, content in data["memories"].items() if content == old]
            decision: dict[str, Any] = {"statement": int(number), "action": "ADD"}
            if found:
                decision |= {"action": "UPDATE", "memory": found[0], "content": statement}
            yield decision

    def _replaced(self, statement: str) -> str | None:
        return next((s.changes[statement] for s in self.speakers if statement in s.changes), None)


# ── the run ──────────────────────────────────────────────────────────────────────────────────────


@dataclass(slots=True)
class Cost:
    """What the turns of one setting cost."""

    calls: dict[str, Counter[int]] = field(default_factory=dict)
    """How many turns of each sort made how many calls."""
    tokens: dict[str, list[int]] = field(default_factory=lambda: {"en": [], "zh": []})
    """Prompt tokens of each learnt turn."""
    tidied: int = 0
    """Calls that tidied up; they are no turn's."""
    embedding_requests: int = 0
    """Of one job, at most."""
    embedded_twice: int = 0
    unlearnt: int = 0
    """Turns that should have been learnt from and were not."""


def store(memory: Memory, scope: Scope, contents: list[str]) -> None:
    """Put memories there as if they had been learnt, vectors and all."""
    parts = memory.parts
    with parts.database.begin() as tx:
        for content in contents:
            item = MemoryItem(
                id=new_id(AT), namespace=scope.namespace, user=scope.user, content=content,
                content_hash=content_hash(scope, Level.USER, content, "fold"),
                normalized_content=text.normalise(content), source=Source.AUTO,
                created_at=AT, updated_at=AT, vector_status=VectorStatus.SYNCED,
            )  # fmt: skip
            tx.items.add(item)
            tx.fulltext.index(scope, Corpus.MEMORIES, {item.id: text.terms(content)})
            vectors = word_vector(content, DIMENSION)[None, :]
            assert parts.index is not None
            parts.index.upsert(
                tx, scope, Corpus.MEMORIES, [VectorEntry(ref=item.id, vectors=vectors)]
            )


def play(
    memory: Memory,
    server: ModelServer,
    speaker: Speaker,
    known: list[str],
    *,
    turns: int,
    cost: Cost,
) -> None:
    """One user's turns, one after the other, with every job that they promise."""
    scope = Scope(user=f"ann-{speaker.number}")
    embedded: Counter[str] = Counter(known)
    for number, (kind, said) in enumerate(speaker.turns(known, turns)):
        reply = "好的，记住了。" if speaker.chinese else "Noted, thank you for telling me."
        before = len(server.requests)
        messages = [Message("user", said), Message("assistant", reply + str(number))]
        taken = memory.capture(scope, f"chat-{speaker.number}-{number // 8}", messages)
        seen = before
        while memory.parts.worker.run_once():
            new = server.requests[seen:]
            seen += len(new)
            asked = [request for request in new if request.path == EMBEDDINGS]
            cost.embedding_requests = max(cost.embedding_requests, len(asked))
            embedded.update(one for request in asked for one in request.body["input"])
        chats = [request for request in server.requests[before:] if request.path == CHAT]
        tidying = [c for c in chats if '"operations"' in c.body["messages"][0]["content"]]
        cost.tidied += len(tidying)
        chats = [chat for chat in chats if chat not in tidying]
        cost.calls.setdefault(kind, Counter())[len(chats)] += 1
        if kind != "idle":
            told = memory.receipt(scope, taken.trace)
            cost.unlearnt += not told.learnt
            cost.tokens["zh" if speaker.chinese else "en"].append(
                sum(text.model_tokens(m["content"]) for c in chats for m in c.body["messages"])
            )
    cost.embedded_twice += sum(times - 1 for times in embedded.values())


def measure(strategy: str, size: int, users: int, turns: int) -> Cost:
    """The cost of one strategy with so many memories at the beginning."""
    cost = Cost()
    script = Script()
    with (
        tempfile.TemporaryDirectory() as folder,
        ModelServer(
            rule=script, embed=lambda said: word_vector(said, DIMENSION).tolist()
        ) as server,
    ):
        settings = load({}).but(
            database_url=f"sqlite:///{Path(folder) / 'learning.db'}",
            llm_base_url=server.base_url, llm_model="scripted", embedder="openai",
            embedding_model="words", embedding_similarity=SIMILARITY,
            policy=ASSISTANT.turned({"decide": {"strategy": strategy}}, "bench"),
        )  # fmt: skip
        with Memory.open(settings=settings, workers=False) as memory:
            for number in range(users):
                speaker = Speaker(number, number % 2 == 1, random.Random(number))
                script.speakers[:] = [speaker]
                known = speaker.stored(size)
                store(memory, Scope(user=f"ann-{number}"), known)
                play(memory, server, speaker, known, turns=turns, cost=cost)
    return cost


def missed(strategy: str, size: int, cost: Cost) -> Iterator[str]:
    """The bounds that do not hold, as sentences."""
    where = f"{strategy}, {size} memories"
    expected = {"idle": {0}, "new": {1}, "changed": {2 if strategy == "two_call" else 1}}
    for kind, counted in cost.calls.items():
        if set(counted) - expected[kind]:
            yield f"{where}: {kind} turns made {dict(counted)} calls"
    for language, tokens in cost.tokens.items():
        if tokens and mean(tokens) > SIZES[size]:
            yield f"{where}: {mean(tokens):.0f} prompt tokens a learnt turn ({language})"
    if cost.embedding_requests > 1:
        yield f"{where}: {cost.embedding_requests} embedding requests in one job"
    if cost.embedded_twice:
        yield f"{where}: {cost.embedded_twice} texts embedded again"
    if cost.unlearnt:
        yield f"{where}: {cost.unlearnt} turns were not learnt from"


def main() -> int:
    """Run the bench."""
    given = arguments(__doc__ or "").parse_args()
    users, turns = (4, 10) if given.quick else (USERS, TURNS)
    rows: dict[str, Any] = {}
    wrong: list[str] = []
    print(f"{'':<26}{'calls a turn':>14}{'en tokens':>11}{'zh tokens':>11}{'bound':>7}")
    for strategy in STRATEGIES:
        for size, bound in SIZES.items():
            cost = measure(strategy, size, users, turns)
            calls = sum(n * times for one in cost.calls.values() for n, times in one.items())
            row: dict[str, Any] = {
                "calls": {kind: dict(counted) for kind, counted in cost.calls.items()},
                "calls_a_turn": round(calls / (users * turns), 3),
                "tokens_a_learnt_turn": {k: round(mean(v)) for k, v in cost.tokens.items()},
                "bound": bound,
                "tidying_calls": cost.tidied,
                "embedding_requests_a_job": cost.embedding_requests,
                "embedded_twice": cost.embedded_twice,
            }
            rows[f"{strategy} {size}"] = row
            wrong += missed(strategy, size, cost)
            tokens = row["tokens_a_learnt_turn"]
            print(f"{strategy}, {size:>3} memories{'':<5}{row['calls_a_turn']:>11.2f}"
                  f"{tokens['en']:>11}{tokens['zh']:>11}{bound:>7}")  # fmt: skip
    report({"users": users, "turns": turns, "rows": rows, "missed": wrong}, given.json)
    for sentence in wrong:
        print(f"missed: {sentence}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
