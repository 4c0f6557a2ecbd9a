"""What can go wrong, sorted by what the caller can do about it. HTTP is unknown here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Self

from perdure.details import Detail, is_chinese, located, translated


class PerdureError(Exception):
    """Something in Perdure went wrong."""

    code: ClassVar[str] = "error"
    """A stable word for programs; the message is for people and may be reworded."""
    zh: ClassVar[str] = "Perdure 出错了。"
    """The class's own sentence in Chinese; the docstring's first line is the English one."""

    def __init__(
        self, detail: str | Detail = "", /, *, field: str | None = None, **values: object
    ) -> None:
        """Say what is wrong.

        Args:
            detail: in English, with ``{placeholders}``; its Chinese twin is in `perdure.details`.
            field: the setting, parameter or file that is meant.
            values: what stands in the placeholders; never what a memory says.
        """
        self.detail = detail if isinstance(detail, Detail) else Detail(detail, values)
        self.field = field
        super().__init__(self.message("en"))

    def __str__(self) -> str:
        return self.message("en")

    def message(self, language: str = "en") -> str:
        """What is wrong, for a person: where, the sentence of its class, and the detail."""
        return self.placed(self.unplaced(language), language)

    def unplaced(self, language: str = "en") -> str:
        """The same without where."""
        between = "" if is_chinese(language) else " "
        return f"{self.sentence(language)}{between}{self.detail.said(language)}".rstrip()

    def placed(self, sentence: str, language: str) -> str:
        """A sentence behind the place that it is about, both in one language."""
        return f"{located(self.field, language)}: {sentence}" if self.field else sentence

    @classmethod
    def sentence(cls, language: str = "en") -> str:
        """What every error of this class says, without its place and detail."""
        if is_chinese(language):
            return cls.zh
        doc = (cls.__doc__ or "").strip().splitlines()
        return doc[0] if doc else cls.code


# ── the request must change ──────────────────────────────────────────────────────────────────────


class Rejected(PerdureError):
    """The request cannot succeed as it stands."""

    code = "rejected"
    zh = "请求无法按现状完成。"


class TooLarge(Rejected):
    """The request is larger than the limit."""

    code = "too_large"
    zh = "请求超过了大小上限。"


class ContentTooLong(Rejected):
    """The statement is longer than a memory may be."""

    code = "content_too_long"
    zh = "内容超过了一条记忆的长度上限。"


class ProjectKeyRequired(Rejected):
    """A project memory needs a project key."""

    code = "project_key_required"
    zh = "项目级记忆需要项目标识。"


class LimitReached(Rejected):
    """No further memory fits; delete or dismiss some first."""

    code = "memory_limit_reached"
    zh = "记忆数量已达上限，请先删除或忽略一些。"


class Duplicate(Rejected):
    """The same statement is already stored."""

    code = "memory_duplicate"
    zh = "相同的记忆已经存在。"

    def __init__(self, *, item: str, restorable: bool = False) -> None:
        self.item = item
        self.restorable = restorable
        super().__init__(field="content")


class NotFound(Rejected):
    """There is no such thing here."""

    code = "not_found"
    zh = "这里没有这一项。"


class Stale(Rejected):
    """It was changed meanwhile; read it again first."""

    code = "stale"
    zh = "内容已被改动，请重新读取后再试。"


class Erased(Rejected):
    """Everything of this user was erased meanwhile; nothing was written."""

    code = "erased"
    zh = "此用户的所有数据已在此期间被抹除；没有写入任何内容。"


class RequestReused(Rejected):
    """This Idempotency-Key belongs to another request."""

    code = "idempotency_key_reused"
    zh = "此 Idempotency-Key 已用于另一个请求。"


# ── who asks must change ─────────────────────────────────────────────────────────────────────────


class Unauthenticated(PerdureError):
    """It is not known who asks."""

    code = "unauthenticated"
    zh = "无法确认请求者的身份。"


class Forbidden(PerdureError):
    """Whoever asks may not do this."""

    code = "forbidden"
    zh = "没有权限执行此操作。"


# ── trying again later may help ──────────────────────────────────────────────────────────────────


class Unavailable(PerdureError):
    """A part that is needed does not answer now; try again later."""

    code = "unavailable"
    zh = "所需的部件暂时没有响应，请稍后再试。"

    def __init__(
        self,
        detail: str | Detail = "",
        /,
        *,
        field: str | None = None,
        retry_after: float | None = None,
        **values: object,
    ) -> None:
        self.retry_after = retry_after
        """Seconds the other side asked us to wait, if it said so."""
        super().__init__(detail, field=field, **values)


class TooMany(Unavailable):
    """The other side is being asked too often."""

    code = "too_many"
    zh = "请求过于频繁。"


class RequestRunning(Unavailable):
    """The same request is being served right now."""

    code = "request_in_progress"
    zh = "同一请求正在处理中。"


class CapReached(Unavailable):
    """The month's money for models is spent; what waits is learnt once there is some again."""

    code = "cost_cap_reached"
    zh = "本月的模型费用已用完；有余额后会继续学习。"


class ModelUnavailable(Unavailable):
    """The model endpoint does not answer."""

    code = "model_unavailable"
    zh = "模型端点没有响应。"


class ModelBusy(ModelUnavailable):
    """The model endpoint asks us to slow down."""

    code = "model_busy"
    zh = "模型端点要求降低频率。"


class ReplyUnusable(PerdureError):
    """The model answered with something that cannot be read."""

    code = "reply_unusable"
    zh = "模型的回复无法解析。"

    tokens_in: int = 0
    """Tokens that it cost all the same; 0 where whoever read the reply has accounted for it."""
    tokens_out: int = 0

    def costing(self, tokens_in: int, tokens_out: int) -> Self:
        """The same, with what was paid for it."""
        self.tokens_in, self.tokens_out = tokens_in, tokens_out
        return self


class ReplyCutOff(ReplyUnusable):
    """The model's reply was cut off before its end."""

    code = "reply_cut_off"
    zh = "模型的回复被截断。"


class DatabaseUnavailable(Unavailable):
    """The database does not answer."""

    code = "database_unavailable"
    zh = "数据库没有响应。"


class Contended(DatabaseUnavailable):
    """Others changed the same rows at the same time; nothing was written."""

    code = "database_contended"
    zh = "其他操作同时修改了相同的数据；没有写入任何内容。"


class VectorsUnavailable(Unavailable):
    """The vector index does not answer."""

    code = "vectors_unavailable"
    zh = "向量索引没有响应。"


# ── the deployment must change ───────────────────────────────────────────────────────────────────


class Misconfigured(PerdureError):
    """The settings cannot work as they are."""

    code = "misconfigured"
    zh = "配置无法使用。"


class MissingExtra(Misconfigured):
    """An optional part is not installed."""

    code = "missing_extra"
    zh = "缺少可选组件。"

    def __init__(self, extra: str, /) -> None:
        self.extra = extra
        super().__init__("Install it with: pip install 'perdure[{extra}]'", extra=extra)


class Corrupt(Misconfigured):
    """A stored file cannot be read; it was left as it is."""

    code = "corrupt"
    zh = "存储文件无法读取；原文件未作改动。"


# ── inside ───────────────────────────────────────────────────────────────────────────────────────


class Fenced(PerdureError):
    """The job was taken over by another worker; nothing was written."""

    code = "fenced"
    zh = "任务已被其他工作进程接管；没有写入任何内容。"


# ── what was written down ────────────────────────────────────────────────────────────────────────


def retold(written: str, language: str) -> str:
    """An error as a job keeps it, in a language: code, place, sentence and detail.

    Args:
        written: the code, a colon, and the English message; anything else stays as it is.
        language: of whoever reads it.
    """
    if not is_chinese(language):
        return written
    code, _, message = written.partition(": ")
    for kind in _family(PerdureError):
        place, sentence, detail = message.partition(kind.sentence())
        if kind.code == code and sentence:
            where = located(place.removesuffix(": "), language)
            return f"{code}: {where}{': ' if where else ''}{kind.zh}{translated(detail.strip())}"
    return written


def _family(kind: type[PerdureError]) -> Iterator[type[PerdureError]]:
    """A class and all that are a kind of it."""
    yield kind
    for child in kind.__subclasses__():
        yield from _family(child)
