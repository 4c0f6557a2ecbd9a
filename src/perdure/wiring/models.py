"""Settings become models.

Clients of endpoints are imported where they are made: loading the client library takes a third of
a start, and most commands ask no model.
"""

from __future__ import annotations

from perdure.errors import Misconfigured
from perdure.models.bundled import SIMILARITY, BundledEmbedder
from perdure.models.calibrate import read as read_similarity
from perdure.models.e5 import SIMILARITY as E5_SIMILARITY
from perdure.models.e5 import E5Embedder
from perdure.observe import Meter
from perdure.policy import Policy
from perdure.ports import ChatModel, Embedder, Reranker
from perdure.settings import Settings


def chat_model(settings: Settings, meter: Meter) -> ChatModel | None:
    """The model that learns; None means the built-in extractor."""
    if settings.llm_base_url is None and settings.llm_api_key is None:
        return None
    model = settings.extraction_model or settings.llm_model
    if model is None:
        raise Misconfigured("A model endpoint needs a model.", field="PERDURE_LLM_MODEL")
    from perdure.models.chat import OpenAIChat  # noqa: PLC0415 - a slow import, see the top

    return OpenAIChat(
        base_url=settings.llm_base_url,
        api_key=settings.llm_api_key,
        model=settings.llm_model or model,
        meter=meter,
    )


def embedder_of(settings: Settings, meter: Meter) -> Embedder | None:
    """What turns texts into vectors; None searches by words only."""
    if not settings.vectors or settings.embedder == "none" or not compares(settings.policy):
        return None
    measured = settings.embedding_similarity
    similarity = None if measured is None else read_similarity(measured)
    if settings.embedder == "bundled":
        return BundledEmbedder(similarity=similarity or SIMILARITY)
    if settings.embedder == "e5":
        return E5Embedder(similarity=similarity or E5_SIMILARITY)
    from perdure.models.embed import USUAL, FastEmbed, OpenAIEmbedder  # noqa: PLC0415 - a slow import, see the top

    if settings.embedder == "fastembed":
        return FastEmbed(settings.embedding_model, similarity=similarity or USUAL)
    if settings.embedding_model is None:
        raise Misconfigured("It needs a model.", field="PERDURE_EMBEDDING_MODEL")
    return OpenAIEmbedder(
        base_url=settings.embedding_base_url or settings.llm_base_url,
        api_key=settings.embedding_api_key or settings.llm_api_key,
        model=settings.embedding_model,
        meter=meter,
        similarity=similarity or USUAL,
    )


def compares(policy: Policy) -> bool:
    """Does anything ask for vectors? Making them for nobody costs a start and memory."""
    learns = policy.decide.strategy == "two_call" or policy.decide.guard_dismissed
    return learns or policy.search.semantic or policy.capture.episodes


def reranker_of(settings: Settings, meter: Meter) -> Reranker | None:
    """What gives a second opinion on the order; None: the order of the scores stands."""
    wanted = settings.reranker == "fastembed" or settings.rerank_base_url is not None
    if settings.reranker == "none" or not wanted:
        return None
    from perdure.models.rerank import EndpointReranker, FastEmbedReranker  # noqa: PLC0415 - a slow import, see the top

    if settings.reranker == "fastembed" or settings.rerank_base_url is None:
        return FastEmbedReranker(settings.rerank_model)
    return EndpointReranker(
        settings.rerank_base_url, settings.rerank_api_key, settings.rerank_model, meter=meter
    )
