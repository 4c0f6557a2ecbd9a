"""Every option does something: each setting has an effect here, each number is read and tried."""

from __future__ import annotations

import ast
import dataclasses
import logging
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from perdure import policy
from perdure.models.calibrate import written
from perdure.models.embed import USUAL
from perdure.settings import Settings
from perdure.types import Kind

ROOT = Path(__file__).parents[2]
SIGNS = "s" * 40  # as the tokens of the looks are signed
OWN = dataclasses.replace(USUAL, unrelated=0.123)


# ── the table ────────────────────────────────────────────────────────────────────────────────────


@dataclasses.dataclass(frozen=True, kw_only=True)
class Effect:
    """What is seen with a value that is not the default, and not without it."""

    value: str
    sees: str
    """Which look of conftest.py."""
    becomes: object
    beside: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """What must be set for it to matter."""
    part: str | None = None
    """Which of the things that are seen."""
    alone: bool = False
    """Without it a service would run."""


NONE = {"EMBEDDER": "none"}
LLM = {**NONE, "LLM_BASE_URL": "{models}", "LLM_MODEL": "m"}
EMBED = {"EMBEDDER": "openai", "EMBEDDING_BASE_URL": "{models}", "EMBEDDING_MODEL": "e"}
RERANK = {**NONE, "RERANK_BASE_URL": "{models}", "RERANK_MODEL": "r"}
KAFKA = {**NONE, "BUS": "kafka", "KAFKA_SERVERS": "127.0.0.1:1"}
SASL = {**KAFKA, "KAFKA_SECURITY": "sasl_ssl"}
MILVUS = {"VECTOR_INDEX": "milvus", "VECTOR_URL": "http://127.0.0.1:1"}
SIGNED = {"TOKEN_SECRET": SIGNS}
HOST = "https://app.example"
EFFECTS: Mapping[str, Effect] = {
    "database_url": Effect(
        value="sqlite:///{folder}/other.db", beside=NONE, sees="files",
        becomes=["other.db"],
    ),
    "preset": Effect(value="team", beside=NONE, sees="talked", becomes=("skipped", True)),
    "llm_base_url": Effect(
        value="{others}", beside=LLM, sees="learnt", becomes=[("others", "unused", "m")]
    ),
    "llm_api_key": Effect(value="k", beside=LLM, sees="learnt", becomes=[("models", "k", "m")]),
    "llm_model": Effect(
        value="n", beside=LLM, sees="learnt", becomes=[("models", "unused", "n")]
    ),
    "extraction_model": Effect(
        value="n", beside=LLM, sees="learnt", becomes=[("models", "unused", "n")]
    ),
    "embedder": Effect(value="none", beside=EMBED, sees="embedded", becomes=[]),
    "embedding_base_url": Effect(
        value="{others}", beside=EMBED, sees="embedded", becomes=[("others", "unused", "e")]
    ),
    "embedding_api_key": Effect(
        value="k", beside=EMBED, sees="embedded", becomes=[("models", "k", "e")]
    ),
    "embedding_model": Effect(
        value="f", beside=EMBED, sees="embedded", becomes=[("models", "unused", "f")]
    ),
    "embedding_similarity": Effect(
        value=written(OWN).replace("{", "{{").replace("}", "}}"), sees="similar", becomes=0.123
    ),
    "embedder_before": Effect(
        value="openai", beside={**EMBED, "EMBEDDING_MODEL_BEFORE": "old"}, sees="formerly",
        becomes=["old"],
    ),
    "embedding_model_before": Effect(
        value="old", beside={**EMBED, "EMBEDDER_BEFORE": "openai"}, sees="formerly",
        becomes=["old"],
    ),
    "vector_index": Effect(
        value="milvus", beside={"VECTOR_URL": "http://127.0.0.1:1"}, sees="indexed",
        becomes="unavailable",
    ),
    "vector_url": Effect(
        value="postgresql://u@127.0.0.1:{port}/d", beside={"VECTOR_INDEX": "pgvector"},
        sees="knocked", becomes=True,
    ),
    "vector_token": Effect(value="u:p", beside=MILVUS, sees="presented", becomes={"u:p"}),
    "reranker": Effect(value="none", beside=RERANK, sees="reranked", becomes=[]),
    "rerank_base_url": Effect(
        value="{others}", beside=RERANK, sees="reranked", becomes=[("others", "unused", "r")]
    ),
    "rerank_api_key": Effect(
        value="k", beside=RERANK, sees="reranked", becomes=[("models", "k", "r")]
    ),
    "rerank_model": Effect(
        value="s", beside=RERANK, sees="reranked", becomes=[("models", "unused", "s")]
    ),
    "enabled": Effect(value="off", beside=NONE, sees="talked", becomes=("skipped", False)),
    "learn": Effect(value="off", beside=NONE, sees="talked", becomes=("skipped", True)),
    "recall": Effect(value="off", beside=NONE, sees="talked", becomes=("queued", False)),
    "workers": Effect(value="off", beside=NONE, sees="works", becomes=0),
    "vectors": Effect(value="off", beside=EMBED, sees="embedded", becomes=[]),
    "bus": Effect(
        value="kafka", beside={**NONE, "KAFKA_SERVERS": "127.0.0.1:1"}, sees="promised",
        becomes=2,
    ),
    "kafka_servers": Effect(
        value="k:1", beside=KAFKA, sees="carried", part="bootstrap.servers", becomes="k:1"
    ),
    "kafka_topic_prefix": Effect(
        value="x.", beside=KAFKA, sees="carried", part="prefix", becomes="x."
    ),
    "kafka_group": Effect(
        value="g", beside=KAFKA, sees="carried", part="group", becomes="g"
    ),
    "kafka_security": Effect(
        value="ssl", beside=KAFKA, sees="carried", part="security.protocol", becomes="ssl"
    ),
    "kafka_mechanism": Effect(
        value="SCRAM-SHA-512", beside=SASL, sees="carried", part="sasl.mechanism",
        becomes="SCRAM-SHA-512",
    ),
    "kafka_username": Effect(
        value="u", beside=SASL, sees="carried", part="sasl.username", becomes="u"
    ),
    "kafka_password": Effect(
        value="p", beside=SASL, sees="carried", part="sasl.password", becomes="p"
    ),
    "worker_threads": Effect(value="5", beside=NONE, sees="threads", becomes=5),
    "host": Effect(
        value="192.0.2.1", beside={**NONE, "PORT": "{port}"}, sees="ended", becomes=1
    ),
    "port": Effect(value="{port}", beside=NONE, sees="ended", becomes=3, alone=True),
    "api_keys": Effect(value="shop=k", sees="key_is_of", becomes=("shop", None)),
    "token_secret": Effect(value=SIGNS, sees="token_is_of", becomes=("shop", "ann")),
    "token_jwks_url": Effect(
        value=f"{HOST}/jwks", beside={"TOKEN_AUDIENCE": "us"}, sees="needs_keys", becomes=True
    ),
    "token_audience": Effect(
        value="us", beside=SIGNED, sees="token_is_of", becomes="unauthenticated"
    ),
    "token_namespace": Effect(
        value="lab", beside=SIGNED, sees="nameless_token_is_of", becomes=("lab", "ann")
    ),
    "rate_limit": Effect(value="2", sees="asked_often", becomes="too_many"),
    "embed_origins": Effect(
        value=HOST, beside={"EMBED_SECRET": SIGNS}, sees="framed", becomes=HOST
    ),
    "embed_secret": Effect(
        value=SIGNS, beside={"EMBED_ORIGINS": HOST}, sees="framed", becomes=HOST
    ),
    "log_level": Effect(value="error", sees="logged", becomes=logging.ERROR),
}  # fmt: skip


@pytest.mark.case("OPS-07")
def test_every_setting_stands_in_the_table():
    assert EFFECTS.keys() == {one.name for one in dataclasses.fields(Settings)} - {"policy"}


@pytest.mark.spec("8")
@pytest.mark.case("OPS-07")
@pytest.mark.parametrize("name", EFFECTS)
def test_a_setting_has_an_effect_that_is_not_there_without_it(name, look):
    effect = EFFECTS[name]

    def seen(**more):
        found = look(effect.sees, {**effect.beside, **more})
        return found if effect.part is None else found[effect.part]

    assert effect.alone or seen() != effect.becomes
    assert seen(**{name.upper(): effect.value}) == effect.becomes


# ── numbers ──────────────────────────────────────────────────────────────────────────────────────

KNOBS = {
    f"{group.name}.{knob.name}"
    for group in dataclasses.fields(policy.Policy)
    if group.name != "preset"
    for knob in dataclasses.fields(getattr(policy.ASSISTANT, group.name))
}
BY_KIND = {f"budget.{kind}" for kind in Kind}
"""Read by the name of a kind."""
UNTRIED = {
    "capture.source_chars",
    "consolidate.halvings",
    "consolidate.new_words",
    "decide.detail_slack",
    "decide.direct_share",
    "decide.like_deleted",
    "episodes.conversation_weight",
    "episodes.half_score",
    "episodes.next_weight",
    "episodes.second_weight",
    "episodes.speaker_bonus",
    "frame.link_s",
    "intent.chat_relevance",
    "intent.task_constraint",
    "item.corrected_importance",
    "item.metadata_keys",
    "item.soft_delete",
    "item.title_chars",
    "jobs.cleanup_s",
    "jobs.reconcile_s",
    "jobs.sweep_s",
    "learn.bad_reply",
    "learn.context_chars",
    "learn.context_messages",
    "learn.halvings",
    "learn.max_reply_tokens",
    "learn.message_chars",
    "learn.overlap_chars",
    "rank.fact_weight",
    "rank.half_life_days",
    "rank.time_weight",
    "rank.typed_confidence",
    "rank.typed_explicit",
    "rank.typed_importance",
    "rank.typed_recency",
    "rank.typed_same_conversation",
    "render.language_letters",
    "search.bm25_b",
    "search.bm25_k1",
    "search.embedded_anew",
    "search.finish_ms",
    "search.legacy_limit",
    "search.pinned_confidence",
    "search.question_chars",
}
"""Numbers that no test names: they are read, but that turning one changes anything is not shown.

That a test names a number is no proof either; it only says where to look.
"""


@pytest.mark.case("OPS-07")
def test_every_number_is_read_somewhere():
    read = {
        node.attr
        for file in (ROOT / "src").rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
    }
    assert BY_KIND <= KNOBS
    assert {knob for knob in KNOBS - BY_KIND if knob.partition(".")[2] not in read} == set()


@pytest.mark.case("OPS-07")
def test_every_number_is_named_by_a_test_or_stands_in_the_list_of_those_that_are_not():
    others = [file for file in (ROOT / "tests").rglob("*.py") if file != Path(__file__)]
    words = set()
    for file in others:
        for word in re.findall(r"\w+", file.read_text("utf-8")):
            words |= {word.lower(), *word.lower().split("__")}
    assert {knob for knob in KNOBS if knob.partition(".")[2] not in words} == UNTRIED
