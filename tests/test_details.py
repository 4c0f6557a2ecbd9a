"""Every detail of an error is there in English and in Chinese, with the same in its places."""

from __future__ import annotations

import ast
import errno
import inspect
import os
import re
import sqlite3
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from string import Formatter

import pytest

import perdure
from perdure import errors
from perdure.details import Detail, foreign, translated
from perdure.details.chinese import ZH
from perdure.details.elsewhere import ELSEWHERE
from perdure.details.places import PLACES
from perdure.details.values import OF_VALUES
from perdure.errors import DatabaseUnavailable, PerdureError, Rejected, TooMany, retold

SRC = Path(perdure.__file__).parent
ERRORS = {
    name: kind for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, PerdureError)
}  # fmt: skip
TREES = {file: ast.parse(file.read_text("utf-8")) for file in sorted(SRC.rglob("*.py"))}
MADE = re.compile(r'(?:field|place) ?= ?f"([^"]+)"')
"""A place that is put together where an error is raised."""
OF_OTHERS = {"of_value", "foreign"}
"""Functions that give a detail which others worded; they have tests of their own."""


def raised() -> Iterator[tuple[str, ast.expr, set[str]]]:
    """Every detail that is made in the source: where, the sentence, and what is put into it."""
    for file, tree in TREES.items():
        for call in ast.walk(tree):
            if not isinstance(call, ast.Call) or not call.args:
                continue
            name = ast.unparse(call.func)
            if name not in ERRORS.keys() | {"Detail"}:
                continue
            if ERRORS.get(name) is errors.MissingExtra:
                continue
            if file in (SRC / "errors.py", SRC / "details" / "__init__.py"):
                continue  # they make details of what they are given
            where = f"{file.relative_to(SRC)}:{call.lineno}"
            own = {"field", "retry_after"} if name in ERRORS else set()
            given = {word.arg or "**" for word in call.keywords} - own
            yield from ((where, one, given) for one in alternatives(call.args[0]))


def alternatives(sentence: ast.expr) -> list[ast.expr]:
    return [sentence.body, sentence.orelse] if isinstance(sentence, ast.IfExp) else [sentence]


def places(template: str) -> Counter[str]:
    return Counter(name for _, name, _, _ in Formatter().parse(template) if name is not None)


def is_passed_on(sentence: ast.expr, file: str) -> bool:
    """A detail that was made elsewhere: of another error, of a value, or a name for one."""
    if isinstance(sentence, ast.Call):
        return ast.unparse(sentence.func) in OF_OTHERS
    if isinstance(sentence, ast.Name):
        made = (line for line in ast.walk(TREES[SRC / file]) if isinstance(line, ast.Assign))
        return any(ast.unparse(line).startswith(f"{sentence.id} = Detail(") for line in made)
    return isinstance(sentence, ast.Attribute) and sentence.attr == "detail"


@cache
def literal() -> list[tuple[str, str, set[str]]]:
    return [(where, str(one.value), given) for where, one, given in raised()
            if isinstance(one, ast.Constant)]  # fmt: skip


def test_a_detail_is_a_sentence_that_stands_where_it_is_raised():
    made = [(where, ast.unparse(one)) for where, one, _ in raised()
            if not isinstance(one, ast.Constant)
            and not is_passed_on(one, where.partition(":")[0])]  # fmt: skip

    assert made == []
    assert len(literal()) > 150


def test_every_detail_has_a_chinese_twin():
    assert [(where, said) for where, said, _ in literal() if said not in ZH] == []
    assert [said for said in OF_VALUES.values() if said not in ZH] == []


def test_what_is_put_into_a_detail_is_what_it_has_places_for():
    wrong = [(where, said, given) for where, said, given in literal()
             if places(said).keys() != given]  # fmt: skip

    assert wrong == []


def test_an_error_without_a_detail_is_given_no_values():
    own = {"field", "retry_after", "item", "restorable"}
    calls = [(file.name, call) for file, tree in TREES.items() for call in ast.walk(tree)
             if isinstance(call, ast.Call) and ast.unparse(call.func) in ERRORS
             and not call.args]  # fmt: skip

    assert [(name, ast.unparse(call)) for name, call in calls
            if {word.arg for word in call.keywords} - own] == []  # fmt: skip


def test_both_languages_have_the_same_places():
    assert [said for said, chinese in ZH.items() if places(said) != places(chinese)] == []
    assert [said for said, chinese in ZH.items() if chinese.isascii() and not places(said)] == []


def test_the_catalogue_has_nothing_that_nobody_says():
    said = {said for _, said, _ in literal()} | set(OF_VALUES.values())
    said |= {one.value for one in ast.walk(TREES[SRC / "errors.py"])
             if isinstance(one, ast.Constant) and isinstance(one.value, str)}  # fmt: skip

    assert ZH.keys() - said == set()


def test_every_class_has_a_sentence_in_both_languages():
    for kind in ERRORS.values():
        assert kind.sentence("en").isascii()
        assert not kind.sentence("zh").isascii()
        assert kind is PerdureError or kind.zh != PerdureError.zh


def test_no_value_of_a_detail_takes_a_name_that_an_error_has_itself():
    own = {name for kind in ERRORS.values()
           for name in inspect.signature(kind).parameters}  # fmt: skip

    assert [said for said in ZH if places(said).keys() & (own - {"values", "extra"})] == []


# ── how it reads ─────────────────────────────────────────────────────────────────────────────────


def test_an_error_is_told_in_either_language():
    wrong = Rejected("Expected {low} to {high:,}.", field="limit", low=1, high=20_000)

    assert str(wrong) == ("limit: The request cannot succeed as it stands. Expected 1 to 20,000.")
    assert wrong.message("zh-CN") == "limit: 请求无法按现状完成。应在 1 到 20,000 之间。"


@pytest.mark.parametrize(
    ("place", "chinese"),
    [
        ("line 3", "第 3 行"),
        ("line 1,204, content", "第 1,204 行，content"),
        ("line 2, line 3", "第 2 行，第 3 行"),
        ("environment: policy.gate.floor", "环境变量：policy.gate.floor"),
        ("run time: policy.gate.floor", "运行时值：policy.gate.floor"),
        ("perdure.toml: policy.gate.floor", "perdure.toml: policy.gate.floor"),
        ("content", "content"),
        ("line up.jsonl", "line up.jsonl"),
    ],
)
def test_where_something_is_wrong_is_told_in_the_language_of_what(place, chinese):
    wrong = Rejected("Expected a text.", field=place)
    written = f"{wrong.code}: {wrong}"

    assert wrong.message("zh") == f"{chinese}: 请求无法按现状完成。应为文本。"
    assert str(wrong).startswith(f"{place}: The request")
    assert retold(written, "zh") == f"rejected: {wrong.message('zh')}"


def test_every_place_of_words_has_a_chinese_twin():
    """Of a field that is more than a name: the number of a line, say."""
    made = {re.sub(r"{[^}]*}", "{}", place) for file in TREES
            for place in MADE.findall(file.read_text("utf-8"))}  # fmt: skip
    words = {place for place in made if re.search("[a-z] ", place)}

    assert words == {"line {}"}
    assert words <= {re.sub(r"{[^}]*}", "{}", place) for place in PLACES}
    assert [place for place, said in PLACES.items() if places(place) != places(said)] == []
    assert [place for place, said in PLACES.items() if said.isascii()] == []


def test_lists_are_joined_as_a_language_joins_them():
    known = Detail("Known are {known}.", {"known": ["tea", "茶"]})

    assert (known.said("en"), known.said("zh")) == ("Known are tea, 茶.", "可用的有：tea、茶。")


def test_what_stands_in_a_detail_is_never_read_as_a_template():
    wrong = Rejected("Unknown field.", field="{0}")
    named = TooMany("{name} is not supported.", name="{low} {} %s")

    assert wrong.message("zh") == "{0}: 请求无法按现状完成。没有这个字段。"
    assert str(named).endswith("{low} {} %s is not supported.")
    assert Detail("{not a place").said("zh") == "{not a place"


def test_a_detail_can_be_told_again_by_another_error():
    first = errors.Misconfigured("Known are {known}.", field="a", known=["x"])

    assert Rejected(first.detail, field="b").message("zh") == "b: 请求无法按现状完成。可用的有：x。"


# ── what others say ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "number",
    [
        errno.ENOENT, errno.EACCES, errno.EPERM, errno.EISDIR, errno.ENOTDIR, errno.EEXIST,
        errno.ENAMETOOLONG, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.EIO,
        errno.EADDRINUSE, errno.EADDRNOTAVAIL,
    ],
)  # fmt: skip
@pytest.mark.skipif(os.name != "posix", reason="each system words it its own way")
def test_what_the_system_says_is_told_in_chinese_too(number):
    said = os.strerror(number)

    assert foreign(said).said("en") == said
    assert not foreign(said).said("zh").isascii()


def test_what_sqlite_says_is_told_in_chinese_too(tmp_path):
    (tmp_path / "diary.db").write_text("this is no database, " * 100, "utf-8")
    said = []
    for where in (tmp_path / "diary.db", tmp_path / "no" / "where.db"):
        with pytest.raises(sqlite3.Error) as wrong:
            sqlite3.connect(where).execute("SELECT name FROM sqlite_master")
        said.append(str(wrong.value))

    assert [foreign(words).said("zh") for words in said] == [
        "文件不是数据库", "无法打开数据库文件",
    ]  # fmt: skip
    assert not any(chinese.isascii() for chinese in ELSEWHERE.values())


def test_words_that_are_new_to_us_stay_as_they_are():
    assert foreign("{odd} words.").said("zh") == "{odd} words"
    assert foreign(None).said("zh") == ""


# ── what was written down ────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("error", "chinese"),
    [
        (
            errors.ModelUnavailable("{where} (HTTP {status}).", where="http://h:1", status=503),
            "model_unavailable: 模型端点没有响应。http://h:1（HTTP 503）。",
        ),
        (
            DatabaseUnavailable(
                "{place}: {why}.", place="/a: b", why=foreign("database or disk is full")
            ),
            "database_unavailable: 数据库没有响应。/a: b：数据库或磁盘已满。",
        ),
        (
            Rejected("Expected {low} to {high:,}.", field="limit", low=0.5, high=20_000),
            "rejected: limit: 请求无法按现状完成。应在 0.5 到 20,000 之间。",
        ),
        (errors.ReplyCutOff(), "reply_cut_off: 模型的回复被截断。"),
    ],
)
def test_an_error_that_was_written_down_is_read_in_chinese(error, chinese):
    written = f"{error.code}: {error}"

    assert retold(written, "zh") == chinese
    assert retold(written, "en") == written


def test_what_is_no_error_of_ours_is_read_as_it_was_written():
    for written in ("ValueError", "", "worker_lost: x", "rejected: other words"):
        assert retold(written, "zh") == written
    assert translated("A sentence of nobody.") == "A sentence of nobody."
