"""What a Chinese clause says of a person or a project: the rules, one comment each."""

from __future__ import annotations

from datetime import date

from perdure.learn.basic.chinese_days import CHINESE_DAYS
from perdure.learn.basic.chinese_orders import ordered
from perdure.learn.basic.chinese_wording import VOCABULARY, neutral, trimmed, without_me
from perdure.learn.basic.dates import Dated, Tense, resolve
from perdure.learn.basic.rules import Rule, Statement
from perdure.types import Kind, Level

_re = VOCABULARY.exact


def _says(kind: Kind, source: str, tense: Tense = Tense.LASTING) -> Rule:
    """A rule on what follows 我: adverbs, then the pattern."""
    return Rule(kind, _re(rf"^({{ADVERB}}\s*)*({source})"), tense)


RULES = (
    # 喜欢喝茶, 受不了噪音; not 喜欢这个
    _says(Kind.PREFERENCE, r"{LIKE}(?!{LIKED_NOW})\s*[^，\s]"),
    # 对爵士感兴趣, 是老侦探片的影迷
    _says(
        Kind.PREFERENCE, r"对(?![这那你您他她它])[^，]{1,12}(感兴趣|没兴趣|没有兴趣|情有独钟|无感)"
    ),
    _says(Kind.PREFERENCE, r"是.{1,14}(粉丝|影迷|歌迷|球迷|书迷|迷妹|爱好者|控)"),
    # 解释东西的时候更喜欢列要点
    _says(Kind.PREFERENCE, r"[^，]{1,12}(时候|的话|时){ADVERB}*{LIKE}"),
    # 一般选靠窗的位置
    _says(Kind.PREFERENCE, r"[^，不]{0,10}?(一般|通常|总是|都|只)会?[选挑][^，择了]"),
    # 吃素, 对坚果过敏
    _says(Kind.CONSTRAINT, r"[^，]{0,12}?{DIET}"),
    # 现在吃鱼了, 又喝咖啡了: it was not so before
    _says(
        Kind.FACT,
        r"(?<=(现在|又|重新|开始))(也|能|可以|敢|肯|开始)*[吃喝抽](?!{MEAL})[^，]{1,8}了",
        Tense.LASTING,
    ),
    # 不学法语了, 不再弹琴: it was so before
    _says(
        Kind.FACT,
        r"不(再|怎么)?([学练弹拉养抽]|打(?!扰|算|招|扫))(?!会|到|好|完|得|起)[^，]{1,8}了|不再(?!喜欢|说|问)[^，]{2,}",
    ),
    # 五月戒烟了
    _says(Kind.CONSTRAINT, r"[^，想要会打准不我]{0,10}?戒(烟|酒|糖|咖啡|奶|了|掉)", Tense.BEHIND),
    # 晚上十点以后不看消息
    _says(
        Kind.CONSTRAINT,
        r"[^，]{0,8}[点号天午]\p{Han}?(以后|之后|以前|之前|前|后)(就|都|一律)?不(?!知|会|是|能)\S",
    ),
    # 抽烟, 经常喝酒
    _says(Kind.FACT, r"(抽烟|吸烟|喝酒)($|，)"),
    # 不吃香菜, 从不熬夜; not 不吃了
    _says(Kind.CONSTRAINT, r"[^，]{0,10}?{LIMIT}(?!了|下|完|到|得|饱|惯)"),
    # 打算考研, 想学法语, 要搬到深圳; not 想学
    _says(
        Kind.TODO_HINT,
        r"(打算|计划|准备(?!好)|目标是|想|想要|要)(去|在|把|跟|和|给|到|于)?[^，]{0,10}?"
        r"{GOAL}(.|(?<![学考跑当练戒养搬生]))",
        Tense.AHEAD,
    ),
    # 打算换个手机, 正准备考雅思; not 打算睡了, 准备重构这段代码
    _says(
        Kind.TODO_HINT,
        r"(正|在)?(打算|计划|准备(?!好|了|就绪|工作)|决定)(?!.*({PASSING_PLAN}|{FOR_NOW}))[^，]{2,}",
        Tense.AHEAD,
    ),
    # 上个月搬到卑尔根了: it happened and still holds
    _says(Kind.FACT, r"[^，想要会打准不我说他她]{0,12}?{EVENT}", Tense.BEHIND),
    # 叫小林; not 叫车
    _says(
        Kind.FACT,
        r"(名?叫|姓)(?!我|你|他|她|什么|了|车|外卖|不|醒|上|做|过|一下|个)[^，]{1,12}($|，)",
    ),
    # 住在卑尔根, 老家是绵阳, 来自成都, 在重庆长大
    _says(
        Kind.FACT,
        r"([跟和与][^，]{1,8})?住(?!院|手|口|过|了一)|家住|家在|家里?有(?!事|人|点)|老家|来自(?!动)|定居|常驻|常住|生活在|租|土生土长|长大"
        r"|在[^，]{1,10}(长大|定居|生活|租)",
    ),
    # 在儿童医院当护士, 在银行上班
    _says(
        Kind.FACT,
        r"在[^，]{1,20}?(工作|上班|上学|读书|读[研博大高初本]|念书|当|做|任职|实习|打工|教|开|学|带|办公)",
    ),
    # 负责运维, 做桥梁设计, 教化学, 跟先生开了一家面包店
    _says(
        Kind.FACT,
        r"从事|负责|兼职(?=[做当在教送开写跑带])|做[^，了]{1,14}(的|工作|设计|开发|研究|生意|行业|运营|测试|销售|职业)"
        r"|当(?!时|他|她|它|你|我|然|初|成|作|真|地|前|年|天|心|场)|教[^，训]{1,8}"
        r"|([跟和][^，]{1,8})?开(了|着)?一?[家间]|退休|自由职业|创业"
        r"|带[^，来了]{1,8}(社团|团队|学生|研究生|孩子|娃|班)",
    ),
    # 长期在深圳
    _says(Kind.FACT, r"(?<=长期|常年|一直|目前|现在)在(?!想|找|看|做|试|写|等|用)\p{Han}{2,}"),
    # 是护士, 是四川人, 不是早起的人; not 还是, 总是
    Rule(
        Kind.FACT,
        _re(
            r"^(其实|也|现在|目前|确实|本来就)*(不是(?=一[名个位]|[^，]{1,8}人$)|是(?!{PASSING_BE}))"
            r"[^，我你他她]{1,20}($|，)"
        ),
    ),
    # 有两个孩子, 没有驾照, 养了一只猫; not 有个问题
    _says(Kind.FACT, r"有(?!{PASSING_HAVE})\S"),
    _says(Kind.FACT, r"没有?({ILLNESS}|孩子|小孩|车|驾照|房|宠物|兄弟|姐妹|对象|男朋友|女朋友)"),
    _says(Kind.FACT, r"(家里?)?养(了|着)|已婚|未婚|单身|离异|色盲|近视|远视|左撇子|怀孕|独生"),
    # 42岁, 月薪两万, 身高一米八
    _says(
        Kind.FACT,
        r"(今年)?(\d{1,3}|[一二两三四五六七八九十]{1,3})岁|结婚[^，]{0,4}年|(月薪|年薪|工资|身高|体重|血型|属)(?!于)\S",
    ),
    # 会说芬兰语, 在学法语, 不会开车
    _says(
        Kind.FACT,
        r"会(说|讲|弹|拉|吹|开车|游泳|写|唱|跳|画|做饭|编程|骑|修|打(?!电话|车|给)|下棋)"
        r"|(正?在|自)学(?!校|习一下|一下)|懂(?!了|你|得)|(说|讲)(?!过|一下|个|了|句)[^，]{0,4}([文语]|[东京海州川]话|方言)|精通|擅长|不会(说|讲|开车|游泳|做饭|骑|打|下棋|写|喝|弹|拉|吹|唱|跳|画|编程)",
    ),
    # 用 Rust 写后端, 写代码都用 Neovim; not 用这个函数
    _says(
        Kind.FACT,
        r"([^，不]{0,8}(都|主要|一直)|线上|线下|本地|后端|前端|公司|家里|工作)?(使用|用|弹|拉|骑|开)"
        r"(?!了|一下|这|那|你|到|户|来|处|意|力|心|法|会|始|玩|不|着|学|发)(?!.*得)[^，]{2,}",
    ),
    # 坐地铁上班
    _says(Kind.FACT, r"([坐搭乘骑开][^，了]{1,6}?|走路|步行)[去来]?(上下班|上班|上学|通勤)"),
    # 出行靠轮椅, 上班坐地铁
    _says(Kind.FACT, r"(出行|出门|上下班|通勤|上班|上学)[^，]{0,4}?[靠坐骑开走用](?!了)"),
    # 烤面包, 种菜: small things people do
    _says(
        Kind.FACT,
        r"(烤|种|酿|写(小说|诗|日记|博客)|画画|摄影|织|集邮|收集|收藏|练|跑步|健身|骑车|爬山|钓鱼)(?!了|一下)",
    ),
    # 每周二早上去游泳
    Rule(Kind.FACT, _re(r"^(?=.*{HABIT})(?!.*{HABIT_NOT})(?!是|想|觉得).{4,}")),
)
# A day to come and one of the verbs of planning.
PLAN = _re(
    r"^(?!.*({PASSING_PLAN}|{HABIT}|总是|每|[去看吃买做]了|了趟|过了|[今这本]个?[天年月周][^，]*开始[^，]+了$)).*{PLANNED}"
)
# 五月毕业了; not 五月就要毕业了
DONE = _re(r"^(?!.*(要|就|快|将|会|得|打算|准备|计划|想)).*了$")

# 下周要去上海出差: whoever says so speaks of themselves; not 明天要下雨.
NOBODY = _re(
    r"^(?P<lead>(从)?{DAY_TO_COME}[^，我你他她它]{0,6}?)?(还|都|也|就)?(要|得|必须|准备(?!好)|打算|计划)"
    r"(?!{NO_PERSON}|{PRONOUN}|{YOU}|怎么|什么|不要|做什么)[^，]{2,}$"
)

SELF = _re(r"^(?P<lead>{LEAD})?{SELF}(?!的|们|家?里?的?({KIN}|{STRANGER})|班)(?P<said>[^，].*)$")
# 我老婆, 我们家的猫, 家里的狗
MINE = _re(
    r"^(?P<lead>{LEAD})?({SELF}家?里?的?|家里?的?)"
    r"(?P<who>({ANOTHER}|{WHICH})?{KIN}|(?<=家的?){BY_AGE}(?!板))(?P<said>[^的，].+)$"
)
# 我的时区是, 我邮箱是, 我姐的婚礼是, 我送礼的预算是
THING = _re(
    r"^{SELF}家?(的(?P<thing>(?!{PASSING_THING}|{KIN}|{STRANGER})[^，是在有叫]{1,10})"
    r"|(?P<own>{OWN}|{KIN}的[^，是在有叫]{1,8}|[^，是在有叫的]{1,6}的{OWN}))"
    r"(?P<said>(是|在|叫|有|就?用的?|[：:]).+)$"
)
THING_NOW = _re(r"^(是|在)(不|什么|怎么|对的|错的|报|坏|哪)")
FAVOURITE = _re(r"{LIKE}|最爱")
BUDGET = _re(r"预算|上限|底线")
YEARLY = _re(r"生日|纪念日")

PROJECT = _re(
    r"^在?({SELF}(这个|的)?|这个|本|该|当前|整个)[^，我]{0,5}?{PROJECT}[^，]{0,10}?{WORK_VERB}"
    r"(?!得|户|不了|起来).+$"
)
RULE_OF_WORK = _re(r"必须|不能|不得|禁止|不许|不允许|规定|一律|只能|不要|要求")


def statement(clause: str, today: date) -> Statement | None:
    """What the clause says of the person or the project, or None."""
    text = trimmed(clause)
    return (
        _of_project(text)
        or ordered(text)
        or _of_thing(text, today)
        or _of_kin(text, today)
        or _of_self(text, today)
        or _of_nobody(text, today)
    )


def known(said: str) -> Rule | None:
    """The first rule that knows what follows 我."""
    return next((rule for rule in RULES if rule.pattern.match(said)), None)


def _of_project(text: str) -> Statement | None:
    if not PROJECT.match(text):
        return None
    kind = Kind.CONSTRAINT if RULE_OF_WORK.search(text) else Kind.FACT
    return Statement(content=without_me(text), kind=kind, level=Level.PROJECT)


def _of_self(text: str, today: date) -> Statement | None:
    match = SELF.match(text)
    return match and _said(match["lead"] or "", match["said"], today, None)


def _of_nobody(text: str, today: date) -> Statement | None:
    """A plan with a day to come that names no subject."""
    plan = _planned(text, today) if NOBODY.match(text) else None
    if plan is None:
        return None
    return Statement(content=neutral(plan.text), kind=Kind.TODO_HINT, until=plan.last)


def _of_kin(text: str, today: date) -> Statement | None:
    match = MINE.match(text)
    return match and _said((match["lead"] or "") + match["who"], match["said"], today, Kind.FACT)


def _said(before: str, said: str, today: date, kind: Kind | None) -> Statement | None:
    """A plan if it names a day to come, else what a rule makes of it, of its kind or this one."""
    if plan := _planned(before + said, today):
        return Statement(content=neutral(plan.text), kind=Kind.TODO_HINT, until=plan.last)
    rule = known(said)
    if rule is None:
        return None
    dated = resolve(before + said, today, rule.tense, CHINESE_DAYS)
    if kind is None or rule.kind is Kind.TODO_HINT:
        kind = rule.kind
    return Statement(content=neutral(dated.text), kind=kind)


def _planned(text: str, today: date) -> Dated | None:
    """What is said, dated, if it names a day to come."""
    plan = resolve(text, today, Tense.AHEAD, CHINESE_DAYS)
    if not (plan.last and plan.last > today and PLAN.match(text)):
        return None
    return plan if not DONE.search(text) or _only_ahead(text, today) else None


def _only_ahead(text: str, today: date) -> bool:
    """Does it name a day to come however it is read? 下周四 is one, 五月 may be over."""
    past = resolve(text, today, Tense.BEHIND, CHINESE_DAYS)
    return past.last is not None and past.last > today


def _of_thing(text: str, today: date) -> Statement | None:
    match = THING.match(text)
    if match is None or THING_NOW.match(match["said"]):
        return None
    thing = match["thing"] or match["own"]
    plan = resolve(thing + match["said"], today, Tense.AHEAD, CHINESE_DAYS)
    if plan.last and plan.last > today and not YEARLY.search(thing):
        return Statement(content=neutral(plan.text), kind=Kind.TODO_HINT, until=plan.last)
    kind = Kind.FACT
    if FAVOURITE.search(thing):
        kind = Kind.PREFERENCE
    elif BUDGET.search(thing):
        kind = Kind.CONSTRAINT
    return Statement(content=neutral(thing + match["said"]), kind=kind)
