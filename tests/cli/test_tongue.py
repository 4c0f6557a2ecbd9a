"""Every command speaks Chinese where the terminal does: no sentence of ours is left in English."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path
from string import Formatter

import pytest

from perdure import Memory, Message, Scope, cli
from perdure.cli import calibrate, doctor, names, show, usage
from perdure.cli.chinese import ZH
from perdure.settings import load
from perdure.testing.model_server import ModelServer
from perdure.types import Role

HERE = Path(__file__).parent
TREES = [ast.parse(file.read_text("utf-8")) for file in Path(cli.__file__).parent.glob("*.py")]
STAGES = (
    "capture", "learn", "recall", "read", "embed", "search", "rank", "gate", "rerank", "topics",
    "budget", "render", "fulltext", "semantic",
)  # fmt: skip
BY_NAME = {
    *names.KINDS.values(), *names.SOURCES.values(), *names.LEVELS.values(),
    *names.OUTCOMES.values(), *names.DOING.values(), *calibrate.MEANINGS.values(),
    *doctor.ADVICE, *doctor.ADVICE.values(), *doctor.STATES, *STAGES, show.OPENING,
    "assistant", "tool", "system",
}  # fmt: skip
"""What is said by the name of a thing."""
SPEAKING = {"told", "say.told", "say.table"}
ENGLISH = re.compile(r"[A-Za-z]+(?: [a-z]+){2,}")
"""Three words in a row, as no name of a setting or command has them."""


@pytest.fixture
def chinese(perdure, monkeypatch):
    """Runs a command as in a Chinese terminal; nothing in it may be English."""
    for name in ("LC_ALL", "LC_MESSAGES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    monkeypatch.setenv("COLUMNS", "400")

    def run(*words):
        done = perdure(*words)
        said = re.sub(r"`[^`]*`|perdure( [a-z-]+)+", "", done.out + done.err)
        assert ENGLISH.findall(said) == []
        return done

    return run


@pytest.fixture
def _known():
    """Two memories of 小林, added by hand."""
    with Memory.open(settings=load(), workers=False) as memory:
        scope = Scope(user="小林")
        for said in ("喜欢喝茶", "住在杭州"):
            memory.items.add(scope, said)


# ── the catalogue ────────────────────────────────────────────────────────────────────────────────


def spoken():
    """Every sentence that stands where it is said, with what is put into it."""
    for tree in TREES:
        for call in ast.walk(tree):
            if not isinstance(call, ast.Call) or ast.unparse(call.func) not in SPEAKING:
                continue
            is_table = ast.unparse(call.func) == "say.table"
            for one in call.args if is_table else call.args[:1]:
                if isinstance(one, ast.Constant):
                    yield str(one.value), {word.arg for word in call.keywords}


def titles():
    """Titles of the tables of a demo."""
    for tree in TREES:
        for call in ast.walk(tree):
            if isinstance(call, ast.Call) and ast.unparse(call.func) == "_table":
                yield from (
                    ast.literal_eval(one)[0] for one in call.args if isinstance(one, ast.Tuple)
                )


def places(template):
    return Counter(name for _, name, _, _ in Formatter().parse(template) if name is not None)


def test_every_sentence_has_a_chinese_twin_and_every_twin_is_said():
    assert {said for said, _ in spoken()} | set(titles()) | BY_NAME == ZH.keys()


def test_what_is_put_into_a_sentence_is_what_it_has_places_for():
    wrong = [(said, given) for said, given in spoken()
             if places(said).keys() != given and None not in given]  # fmt: skip

    assert wrong == []
    for english, chinese_twin in {**ZH, **usage.USAGE}.items():
        assert places(english).keys() == places(chinese_twin).keys()
        assert not chinese_twin.isascii() or places(english)


# ── the commands ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.usefixtures("_known")
def test_memories_are_listed_and_recalled_in_chinese(chinese):
    listed = chinese("items", "小林", "--limit", "1")
    assert [title in listed.out for title in ("编号", "类型", "来源", "记忆", "更新日期")]
    assert "手动" in listed.out
    assert "共 2 条，显示 1 条。" in listed.err
    assert "下一页：--after" in listed.err

    assert "没有" not in chinese("recall", "小林", "平时喝什么茶？").err
    assert "已有的记忆都与这条消息无关" in chinese("recall", "bo", "平时喝什么茶？").err
    assert "喜欢喝茶" in chinese("recall", "小林", "平时喝什么茶？", "--explain").out


def test_an_import_and_an_export_are_told_in_chinese(chinese, tmp_path):
    came = chinese("import", HERE / "talk.zh.jsonl", "--user", "小林")
    assert re.search(r"\d+ 行：.*学到 \d+ 条记忆", came.out)
    went = chinese("export", "小林", "--out", tmp_path / "小林.jsonl")
    assert re.search(r"已将 \d+ 行写入 ", went.out)
    again = chinese("import", tmp_path / "小林.jsonl", "--user", "小林")
    assert "已有 " in again.out

    assert "无法读取：没有这个文件或目录。" in chinese("import", "无.jsonl", "--user", "a").err
    (tmp_path / "坏.jsonl").write_text("x\n", "utf-8")
    assert (
        "第 1 行: 每行应为一个 UTF-8 编码的 JSON 对象。"
        in chinese("import", tmp_path / "坏.jsonl", "--user", "a").err
    )


def test_jobs_and_what_failed_in_them_are_told_in_chinese(chinese, perdure, monkeypatch):
    with ModelServer(api_key="right") as server:
        monkeypatch.setenv("PERDURE_LLM_BASE_URL", server.base_url)
        monkeypatch.setenv("PERDURE_LLM_MODEL", "scripted")
        monkeypatch.setenv("PERDURE_LLM_API_KEY", "wrong")
        monkeypatch.setenv("PERDURE_POLICY__JOBS__MAX_RETRY", "0")
        with Memory.open(settings=load(), workers=False) as memory:
            memory.capture(Scope(user="小林"), "c", [Message(Role.USER, "我住在杭州。")])
        worked = perdure("worker", "--once")  # beside it lines of a log, which are for programs
        assert re.search(r"已完成 \d+ 个任务。", worked.out)
    listed = chinese("jobs", "list")
    assert "下次重试" in listed.out
    assert "misconfigured: PERDURE_LLM_API_KEY: 配置无法使用。" in listed.out
    assert "拒绝了密钥（HTTP 401）。" in listed.out
    number = listed.out.splitlines()[1].split()[0]
    assert chinese("jobs", "retry", number).out == "1 个任务中已重试 1 个。\n"
    assert chinese("jobs", "drop", number).out == "1 个任务中已丢弃 1 个。\n"
    assert "这里没有这一项。" in chinese("jobs", "drop", number).err


def test_tables_and_vectors_are_made_anew_in_chinese(chinese):
    assert chinese("migrate").out == "数据库已是最新。\n"
    assert "其余由工作进程完成" in chinese("reindex", "--no-wait").out
    assert "个任务失败" in chinese("reindex").out


@pytest.mark.usefixtures("_known")
def test_keys_parts_and_cosines_are_told_in_chinese(chinese, monkeypatch):
    chinese("keys", "create", "商店")
    assert "最近使用" in chinese("keys", "list").out
    assert "正常" in chinese("doctor").out
    monkeypatch.setenv("PERDURE_BUS", "kafka")
    monkeypatch.setenv("PERDURE_KAFKA_SERVERS", "127.0.0.1:9")
    assert "127.0.0.1:9 没有响应。" in chinese("doctor").out
    assert "没有可校准的向量模型。" in chinese("calibrate", "小林").err
    monkeypatch.setenv("PERDURE_EMBEDDER", "bundled")
    assert "至少需要 20 条记忆；现有 2 条。" in chinese("calibrate", "小林").err


def test_a_demo_is_chinese_around_a_conversation_in_chinese(chinese):
    shown = chinese("demo", "--file", HERE / "talk.zh.jsonl")
    for heading in ("学到了什么", "拒绝了什么，为什么", "略去了什么，为什么", "各步用时"):
        assert heading in shown.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["items"], "缺少参数 'USER'。"),
        (["items", ""], "user: 请求无法按现状完成。不能为空白。"),
        (["items", "ann", "--limit", "0"], "'--limit' 的值无效：不能小于 1。"),
        (["items", "ann", "--limit", "x"], "'--limit' 的值无效：应为整数。"),
        (["items", "ann", "--kind", "rumour"], "'rumour' 不是可选值："),
        (["items", "ann", "--lmit", "3"], "没有选项 --lmit，相近的有：--limit。"),
        (["items", "ann", "--limit"], "选项 '--limit' 需要一个值。"),
        (["items", "ann", "--json=3"], "选项 '--json' 不带值。"),
        (["items", "ann", "bo"], "多余的参数：bo。"),
        (["items", "a\udcff"], "'USER' 的值无效：不是有效的 UTF-8 文本。"),
        (["import", "x.jsonl"], "缺少选项 '--user'。"),
        (["import", ".", "--user", "ann"], "'.' 是一个目录。"),
        (["jobs", "lisst"], "没有命令 'lisst'。是否想用 'list'？"),
        (["dance"], "没有命令 'dance'。"),
        (["--preset", "huge", "items", "ann"], "请从中选择：assistant、team、desktop。"),
        (["serve", "--port", "70000"], "'--port' 的值无效：不能大于 65535。"),
    ],
)
def test_a_command_line_that_cannot_be_meant_is_told_in_chinese(chinese, words, said):
    done = chinese(*words)
    assert (done.code, done.out) == (2, "")
    assert said in done.err


def test_what_ends_without_a_fault_ends_with_0_in_chinese_too(chinese, perdure):
    assert chinese("--version").code == 0
    assert perdure("items", "--help").code == 0
    assert chinese("items", "ann", "--json").json["total"] == 0
