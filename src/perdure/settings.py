"""The deployment's settings: environment and perdure.toml, read once; unknown names stop the start.

Later wins: preset, ``[policy.…]`` in perdure.toml, ``PERDURE_POLICY__GROUP__NAME``. What an admin
sets at run time and what one call asks for come on top of these.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from perdure import policy as policies
from perdure.details import foreign
from perdure.errors import Misconfigured
from perdure.policy import Policy
from perdure.types import Switches

PREFIX = "PERDURE_"
FILE = "perdure.toml"
_KNOB = "POLICY__"
_LAST_PORT = 65_535  # and more than enough for anything else that is counted here
_IGNORED = "CONFIG"
_TESTING = "TEST_"


class Secret(str):
    """A text that does not show itself."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "Secret('…')"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything a deployment decides. Each field is ``PERDURE_<NAME>`` and a key of the file."""

    database_url: str = "sqlite:///perdure.db"
    """Where memories live: a database URL, or a path that ends in .json (the desktop file)."""
    preset: Literal["assistant", "team", "desktop"] = "assistant"
    """Which set of numbers and behaviours to start from."""

    llm_base_url: str | None = None
    """An OpenAI-compatible endpoint, for example http://127.0.0.1:11434/v1. None: no model."""
    llm_api_key: Secret | None = None
    """Its key, where it wants one."""
    llm_model: str | None = None
    """The default model."""
    extraction_model: str | None = None
    """The model that learns; None means the default model."""

    embedder: Literal["bundled", "e5", "openai", "fastembed", "none"] = "bundled"
    """What turns texts into vectors; ``none`` searches by words only."""
    embedding_base_url: str | None = None
    """An OpenAI-compatible embeddings endpoint; None means the model endpoint's address."""
    embedding_api_key: Secret | None = None
    """Its key; None means the model endpoint's key."""
    embedding_model: str | None = None
    """The embedding model of that endpoint, or of fastembed."""
    embedding_similarity: str | None = None
    """What the cosines of this embedder mean, as ``perdure calibrate`` prints it; None: a guess."""
    embedder_before: Literal["bundled", "openai", "fastembed", "none"] = "none"
    """Answers until the vectors of a new embedder are complete; ``none``: words answer."""
    embedding_model_before: str | None = None
    """Its model, at the same endpoint, or of fastembed."""

    vector_index: Literal["table", "pgvector", "milvus"] = "table"
    """Where vectors are kept: in the database itself, in PostgreSQL, or in Milvus."""
    vector_url: Secret | None = None
    """Address of Milvus or PostgreSQL; pgvector without one takes the database's own."""
    vector_token: Secret | None = None
    """Milvus's API key or ``user:password``, where it wants one."""

    reranker: Literal["endpoint", "fastembed", "none"] = "endpoint"
    """What gives a second opinion on the order; ``endpoint`` once its address is set."""
    rerank_base_url: str | None = None
    """A rerank endpoint as Cohere's or Jina's, without /rerank, for example https://api.jina.ai/v1."""
    rerank_api_key: Secret | None = None
    """Its key, where it wants one."""
    rerank_model: str | None = None
    """The reranking model of that endpoint, or of fastembed."""

    enabled: bool = True
    """Off: nothing is learnt and nothing is recalled; managing memories still works."""
    learn: bool = True
    """Off: turns are not learnt from, promised ones wait; what exists is still recalled."""
    recall: bool = True
    """Off: answers are empty; turns are still learnt from."""
    workers: bool = True
    """Off: jobs wait; nothing is lost."""
    vectors: bool = True
    """Off: nothing is embedded; search goes by words."""

    bus: Literal["none", "kafka"] = "none"
    """How promises reach the workers: as rows of the table, or announced on Kafka first."""
    kafka_servers: str | None = None
    """Kafka's addresses, for example kafka-1:9092,kafka-2:9092."""
    kafka_topic_prefix: str = "perdure."
    """In front of every topic, and of the group."""
    kafka_group: str = "perdure"
    """The consumer group; all processes on one database have the same, and no other has it."""
    kafka_security: Literal["plaintext", "ssl", "sasl_plaintext", "sasl_ssl"] = "plaintext"
    """How Kafka is spoken to."""
    kafka_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = "PLAIN"
    """How the password is proven, with ``sasl_…``."""
    kafka_username: str | None = None
    """Who we are to Kafka, with ``sasl_…``."""
    kafka_password: Secret | None = None
    """The password, with ``sasl_…``."""

    worker_threads: int = 2
    """Threads that keep promises in this process."""
    host: str = "127.0.0.1"
    """Address that ``perdure serve`` listens on."""
    port: int = 8377
    """Port that ``perdure serve`` listens on."""
    api_keys: tuple[Secret, ...] = ()
    """App keys, each as ``namespace=key``. None: only loopback, namespace ``default``."""
    token_secret: Secret | None = None
    """Signs user tokens (HS256). None: no tokens are signed so."""
    token_jwks_url: str | None = None
    """Where the public keys of user tokens lie (JWKS); https, or this machine. None: nowhere."""
    token_audience: str | None = None
    """What ``aud`` of a user token must be; needed with ``token_jwks_url``."""
    token_namespace: str | None = None
    """Namespace of user tokens without the claim ``ns``. None: such tokens are refused."""
    rate_limit: int = 12_000
    """Requests a minute of one key or user token, in this process; 0: as many as they like."""
    embed_origins: tuple[str, ...] = ()
    """Who may show *My memory* in a frame, each as https://app.example. Empty: nobody."""
    embed_secret: Secret | None = None
    """Signs the links into such a frame; 32 characters or more, needed with ``embed_origins``."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """How much is logged; never any memory text."""

    policy: Policy = field(default_factory=Policy)
    """All numbers, with the file's and the environment's changes applied."""

    @property
    def switches(self) -> Switches:
        """The deployment's switches."""
        return Switches(
            enabled=self.enabled,
            learn=self.learn,
            recall=self.recall,
            workers=self.workers,
            vectors=self.vectors,
        )

    def but(self, **changes: Any) -> Settings:
        """The same settings with some changed."""
        return replace(self, **changes)


def load(
    environ: Mapping[str, str] | None = None,
    file: Path | None = None,
    *,
    preset: str | None = None,
    database_url: str | None = None,
) -> Settings:
    """Settings from the environment over the file over the defaults.

    Args:
        environ: the environment; None reads the process's own.
        file: the settings file; None looks at ``PERDURE_CONFIG``, then for perdure.toml here.
        preset: wins over both.
        database_url: wins over both.

    Raises:
        Misconfigured: an unknown name, a value of the wrong type, or a file that cannot be read;
            the error says which and where.
    """
    environ = os.environ if environ is None else environ
    written, knobs = _from_file(file or _config(environ))
    values = {**written, **_from_environment(environ)}
    if preset is not None:
        values["preset"] = preset
    if database_url is not None:
        values["database_url"] = database_url
    policy = policies.preset(values.get("preset", Settings().preset))
    policy = policy.turned(knobs, FILE).turned(_knobs(environ), "environment")
    return Settings(**values, policy=policy)


def _config(environ: Mapping[str, str]) -> Path | None:
    named = environ.get(f"{PREFIX}CONFIG")
    if named:
        return Path(named)
    here = Path(FILE)
    return here if here.is_file() else None


def _from_file(file: Path | None) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """The file's settings and its policy tables."""
    if file is None:
        return {}, {}
    try:
        read = tomllib.loads(file.read_text("utf-8"))
    except OSError as error:
        raise Misconfigured(
            "Cannot read it: {why}.", field=str(file), why=foreign(error.strerror)
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Misconfigured("Not valid TOML: {why}.", field=str(file), why=error) from None
    knobs = read.pop("policy", {})
    if not isinstance(knobs, dict) or not all(isinstance(v, dict) for v in knobs.values()):
        raise Misconfigured("Expected tables such as [policy.gate].", field=f"{file.name}: policy")
    return {n: _value(n, v, f"{file.name}: {n}") for n, v in read.items()}, knobs


def _from_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    found = {}
    for name, value in environ.items():
        if not name.startswith(PREFIX) or name.startswith(PREFIX + _KNOB):
            continue
        short = name.removeprefix(PREFIX)
        if short == _IGNORED or short.startswith(_TESTING) or value == "":
            continue
        found[short.lower()] = _value(short.lower(), value, name)
    return found


def _knobs(environ: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """``PERDURE_POLICY__GATE__FLOOR=0.6`` as ``{"gate": {"floor": "0.6"}}``."""
    found: dict[str, dict[str, Any]] = {}
    for name, value in environ.items():
        if name.startswith(PREFIX + _KNOB):
            group, _, knob = name.removeprefix(PREFIX + _KNOB).lower().partition("__")
            found.setdefault(group, {})[knob] = value
    return found


def _value(name: str, value: Any, where: str) -> Any:
    """A setting as its type, or an error that names it. Values of secrets are never repeated."""
    hints = get_type_hints(Settings)
    if name not in hints or name == "policy":
        known = sorted(f.name for f in fields(Settings))
        raise Misconfigured("Unknown name; known are {known}.", field=where, known=known)
    wanted = hints[name]
    if get_origin(wanted) is UnionType:
        wanted = get_args(wanted)[0]
    if get_origin(wanted) is Literal:
        if value not in get_args(wanted):
            raise Misconfigured("Choose one of {known}.", field=where, known=get_args(wanted))
        return value
    if get_origin(wanted) is tuple:
        return _texts(value, get_args(wanted)[0], where)
    if wanted is bool:
        return _truth(value, where)
    if wanted is int:
        return _whole(value, where, most=_LAST_PORT)
    if not isinstance(value, str):
        raise Misconfigured("Expected a text.", field=where)
    return wanted(value)


def _truth(value: Any, where: str) -> bool:
    known = policies.TRUTHS.get(str(value).lower())
    if known is None:
        raise Misconfigured("Expected true or false.", field=where)
    return known


def _texts(value: Any, kind: type[str], where: str) -> tuple[str, ...]:
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list | tuple):
        raise Misconfigured("Expected a list of texts.", field=where)
    return tuple(kind(str(part).strip()) for part in parts if str(part).strip())


def _whole(value: Any, where: str, most: int) -> int:
    try:
        number = int(str(value))
    except ValueError:
        raise Misconfigured("Expected a whole number.", field=where) from None
    if not 0 <= number <= most:
        raise Misconfigured("Expected {low} to {high:,}.", field=where, low=0, high=most)
    return number
