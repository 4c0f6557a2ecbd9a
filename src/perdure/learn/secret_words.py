"""Recognises secrets that are told in words: a value beside the word that names it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from perdure import text

Span: TypeAlias = tuple[int, int]
Proof: TypeAlias = Literal["none", "place", "look", "end", "letters", "mixed"]

_LEAST = 4  # signs of a password
_LEAST_PHRASE = 4  # words of a passphrase without quotation marks
_PLAIN_SHARE = 1 / 3  # of ordinary words in one, at most


@dataclass(frozen=True, slots=True)
class _Shape:
    """A way to tell a secret, and what its value must be besides standing there.

    ``none``: where it stands is proof enough. ``place``: so it is for a word that ends the
    sentence. ``look``: it must look like a password. ``end``: figures alone must end the sentence,
    too. ``letters``: figures alone are none. ``mixed``: nothing names it, so it must look drawn.
    """

    proof: Proof
    pattern: re.Pattern[str]


def _shape(proof: Proof, pattern: str) -> _Shape:
    return _Shape(proof, re.compile(pattern, re.IGNORECASE | re.VERBOSE))


def told(said: str) -> Iterator[Span]:
    """Where the values of secrets stand that the words around them give away."""
    for shape in _SHAPES:
        for match in shape.pattern.finditer(said):
            for name, value in match.groupdict().items():
                if value is None:
                    continue
                start = match.start(name)
                bare = value if name == "quoted" else value.rstrip(".!?)。！？")
                proven = name == "quoted" and shape.proof == "place"
                if proven or _is_value(bare, said[start + len(bare) :], shape.proof):
                    yield start, start + len(bare)
    for match in _PHRASE.finditer(said):
        words = match["value"].split()
        plain = sum(map(_plain, words))
        if len(words) >= _LEAST_PHRASE and plain <= _PLAIN_SHARE * len(words):
            yield match.span("value")


# ── is it a value, or a word about passwords? ────────────────────────────────────────────────────

_ABOUT = frozenset(
    """about again already always another based being both broken case changed character characters
    compromised correct default different digits easy enough entered exactly expired expiring fine
    forgotten from generated getting going good hard hashed here hidden important incorrect invalid
    kept known leaked letters like long longer lost managed mandatory many missing more most must
    necessary needed never none only optional private protected random really required reset rotated
    safe salted same saved secret secure sensitive sent shared short shorter simple something stored
    strong stronger symbols that their there this those unique unknown used usually valid very weak
    what when where which with written wrong yours encrypted rejected accepted checked typed asked
    handled str bytes string text bool null none true false undefined""".split()
)
"""What people say of passwords in general."""
_COMPOUND = re.compile(r"[a-z]+-(?:[a-z]*(?:ed|ive|able|less)|only|free|long|time|wide|specific)")
"""The same in two words: case-sensitive, hard-coded, one-time."""
_ENDS = re.compile(r"[\"'”’`]?\s*(?:[.,;!?)，。；！？]|$|\n|(?:and|but|so|for|on|at|please|ok)\b)")
_NAMED_THING = re.compile(
    r"""
    \$.* | <.* | \{.* | %.* | [*•x]+                                   # placeholders
    | [a-z_][\w.]*[(\[].*                                              # code: getpass(), environ[…
    | https?://.* | \S+\.(?:txt|md|py|json|ya?ml|toml|env|kdbx?|docx?|pdf|csv|xlsx?)
    | sha-?\d{1,3}\S* | md[45] | (?:aes|rsa|fips)-?\d+\S* | [hre]s(?:256|384|512)
    | ed25519 | x\.?509 | utf-?\d+ | base64 | bcrypt | argon2\w* | pbkdf2 | oauth2?(?:\.0)?
    | fido2 | nist\S*
    | 1password | keepass\w? | lastpass | bitwarden\d? | varchar\S* | v?\d+(?:\.\d+)+
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""Placeholders, code, files and the names of algorithms and programs."""
_MEASURE = re.compile(
    r"""\s*-?(?:(?:bits?|bytes?|chars?|characters?|digits?|letters?|symbols?|words?|times?|seconds?
    |minutes?|hours?|days?|weeks?|months?|years?|users?|attempts?|requests?|tokens?|pages?|items?
    |kroner|euros?|dollars?|[kmg]b)\b|%|[位个個次秒分天字年月元块條条页种名版岁])
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""After a number that only measures."""
_DRAWN = re.compile(
    r"""(?!\S+@\w)(?!.*[/\\])(?=\S*[a-z])(?=\S*\d)(?:(?=\S*[A-Z])|(?=\S*[!#$%^&*?+~]))\S{8,}"""
)
"""Letters, figures, and capitals or signs besides: no word, no address, no path."""
_PRODUCT = re.compile(r"(?:[A-Z][a-z]+)+[ -]?\d{1,3}|.*\d\.\d.*|(?:[A-Z][a-z]+)*Server\d{4}")
"""Office365, iPhone-15, TLSv1.3."""
_USED_FOR = re.compile(
    r"\s*(?:的|来|來)?\s*(?:加密|哈希|签名|算法|存储|保存|管理|生成|编码|格式|类型)"
)
"""After the name of what handles secrets."""


def _is_value(value: str, rest: str, proof: Proof) -> bool:
    """Does a secret stand here, and not a word about secrets?"""
    number = not any(map(str.isalpha, value))
    if _NAMED_THING.fullmatch(value) or _USED_FOR.match(rest):
        return False
    if number and (proof == "letters" or _MEASURE.match(rest)):
        return False
    if proof == "none":
        return True
    if proof == "mixed":
        return _DRAWN.fullmatch(value) is not None and _PRODUCT.fullmatch(value) is None
    ends = _ENDS.match(rest) is not None
    return len(value) >= _LEAST and not _plain(value) and _proven(value, proof, ends=ends)


def _proven(value: str, proof: Proof, *, ends: bool) -> bool:
    """Is the value such that its place makes it a secret?"""
    if any(map(str.isdecimal, value)):
        return ends or proof != "end" or any(map(str.isalpha, value))
    if proof != "place":  # a sign in the middle of a word, as in let*me!in
        return any(not char.isalpha() and char not in "-'’./" for char in value)
    whole = value.replace("-", "").isalpha()
    return ends or not whole or _mixed(value)


def _plain(word: str) -> bool:
    """An ordinary word in talk about passwords."""
    low = word.casefold()
    return low in _ABOUT or low in text.STOP_WORDS or _COMPOUND.fullmatch(low) is not None


def _mixed(value: str) -> bool:
    """Capitals in the middle of the word."""
    return any(char.isupper() for char in value[1:]) and any(char.islower() for char in value)


# ── the shapes ───────────────────────────────────────────────────────────────────────────────────

_OPEN, _SHUT = "[\"'“‘`「]", "[\"'”’`」]"
_SIGN = r"[^\s\"'“”‘’`,;，。；]"
_BARE = rf"(?P<value>{_SIGN}{{4,200}})"
_VALUE = rf"(?:{_OPEN}(?P<quoted>[^\"'“”‘’`「」\n]{{3,80}}){_SHUT}|{_BARE})"
_NOT_ITSELF = r"""(?![\s-]*(?:managers?|polic|hash|fields?|reset|protect|generator|vault|files?
    |lists?|apps?|books?|rules?|strength|length|security|hints?)|s\b)"""
"""A password manager is no password, and passwords are none in particular."""
_NOUN = r"""\b(?:pass(?:word|wd|phrase|code|\ code)|pwd|pw|pin(?:\ code|\ number)?|otp
    |(?:api|access|secret|private|encryption|licen[cs]e|recovery|backup|auth)[\ _-]?
      (?:key|token|code)
    |(?:client|app|vault|shared|signing|webhook)[\ _-]?secret|ssn|social\ security\ number)"""
_CODE = r"""\b(?:(?:one-time|verification|confirmation|security|door|gate|garage|alarm|entry|access
    |unlock|safe|lock|locker|pin|bank)[\ -](?:code|combination)|otp|pin|cvv|cvc)"""
_OF = r"(?:\ (?:for|of|to|on|at|from|itself|in|I|we|they)\b[^.!?\n:=]{0,60}?)?"
_IS = r"""(?:\s*[:=]\s*|['’]s\s+|\?\s+It(?:['’]s|\ is)\s+
    |\s+(?:is|was|are|will\ be|became|has\ been\ set\ to|set\ to|changed\ to)\s+
    (?:now\s+|still\s+|currently\s+|set\s+to\s+|changed\s+to\s+)?)"""
_WHOSE = r"(?:an?\ |my\ |our\ |the\ |his\ |her\ |their\ )?(?:[\w'’-]+\ ){0,3}?"

_ENGLISH = (
    # my password is …, or the API key for staging: …
    _shape("place", rf"{_NOUN}{_OF}{_IS}{_VALUE}"),
    # "the password …"
    _shape("end", rf"{_NOUN}\s+{_VALUE}"),
    # "the door code at the cabin is 77213", "CVV 221"
    _shape("none", rf"{_CODE}{_OF}{_IS}(?P<value>\#?\d(?:[\d\ -]{{1,14}}\d)?\#?)(?!\w)"),
    _shape("none", r"\bcv[vc]2?\s+(?P<value>\d{3,4})(?!\w)"),
    # my Steam pass is …, the token for the bot is …, the credentials are …
    _shape("letters", rf"\b(?:pass|token|credentials?|secret){_OF}{_IS}{_VALUE}"),
    # "… is my password", "… was the code of the door"
    _shape(
        "look",
        rf"(?<![\w-]){_BARE}\s+(?:is|was)\ (?:still\ |now\ )?{_WHOSE}"
        rf"(?:{_NOUN}|{_CODE}){_NOT_ITSELF}",
    ),
    # "use … as my password", "8823 as the PIN"
    _shape(
        "look",
        rf"\b(?:us(?:e[sd]?|ing)|take|set|put)\ {_OPEN}?{_BARE}{_SHUT}?\ (?:as|for)\ {_WHOSE}"
        rf"(?:{_NOUN}|{_CODE}){_NOT_ITSELF}",
    ),
    # "changed my password from … to …", "set the router password to …"
    _shape(
        "look",
        rf"{_NOUN}[^.!?\n]{{0,40}}?\ (?:from\ (?P<old>\S{{4,200}})\ )?to"
        r"\ (?P<value>[^\s,;]{4,200})",
    ),
    # "my login is ann@example.org / …"
    _shape(
        "look",
        r"\b(?:log-?in|credentials?|account)\b[^.!?\n/]{0,20}?(?:\ (?:is|are)|[:=])"
        r"\s*[\w.@+-]{2,60}\s*/\s*(?P<value>[^\s/,;]{4,200})",
    ),
    # "I log in with …"
    _shape(
        "mixed",
        r"\b(?:log(?:s|ged|ging)?[\ -]?(?:in|on)(?:to)?|sign(?:s|ed|ing)?[\ -]?in(?:to)?)\b"
        rf"[^.!?\n]{{0,40}}?\ (?:with|using|by)\ (?:the\ )?{_OPEN}?{_BARE}",
    ),
    _shape(
        "mixed",
        rf"\b(?:using|uses?|with)\ {_OPEN}?{_BARE}{_SHUT}?\ to\ (?:log|sign)[\ -]?(?:in|on)\b",
    ),
    # "unlocks with 271828"
    _shape("look", r"\bunlock(?:s|ed|ing)?\b[^.!?\n]{0,25}?\bwith\ (?P<value>\d{4,20})"),
    # "the answer to my security question is …"
    _shape("place", rf"\banswer\ (?:to|for)\ [^.!?\n:=]{{0,20}}?security\ question{_IS}{_VALUE}"),
    # DB_PASSWORD=…, curl -u ann:…, mysql -p…
    _shape(
        "letters",
        r"\b[a-z]\w{0,60}_(?:password|passwd|pwd|token|secret|api_?key|access_key)"
        rf"\s*[:=]\s*{_OPEN}?{_BARE}",
    ),
    _shape("letters", r"\bcurl\b[^\n]{0,80}?\s-u\s*[^\s:]{1,60}:(?P<value>\S{4,200})"),
    _shape("letters", r"\bmysql\w*\b[^\n]{0,80}?\s-p(?P<value>[^\s-]\S{3,200})"),
)

_WORD = r"""(?:(?:密码|密碼|口令|密钥|密鑰|私钥|令牌|验证码|驗證碼|取款码|提取码|解锁码|激活码
    |安全码|门禁码|PIN\s?码|(?<![a-z])(?:PIN|api\s?key|token)(?![a-z]))
    (?!\s*(?:学|學|本(?!身)|管理|策略|强度|框|字段|保护|箱|器|规则|错误|重置|算法|格式|类型|表|输|找回)))"""
_HOP = r"""(?:(?!上限|长度|長度|数量|个数|限制|有效|过期|大小|价格|用量|要求|提示)
    [^。！？\n，,；;a-z0-9]){0,12}?"""
_BE = r"(?:是|为|為|叫|改成|设成|設成|换成|换为|变成|就用|[：:=])了?\s*"
_SIGNS = r"[\"'“‘「`]?(?P<value>[\x21\x23-\x26\x28-\x2b\x2d-\x5f\x61-\x7e]{4,200})"

_CHINESE = (
    # 我的密码是 …, wifi 密码：…
    _shape("place", rf"{_WORD}{_HOP}{_BE}{_SIGNS}"),
    # 密码Xihu8842，, 验证码 662518
    _shape("end", rf"(?<!个)(?<!个\s){_WORD}\s*{_SIGNS}"),
    # CVV是221, 背面三位数是221
    _shape("none", rf"(?:cvv|cvc|背面的?[三3]位(?:数字?|码)){_HOP}{_BE}(?P<value>\d{{3,4}})(?!\d)"),
    # 我一直用 … 这个密码, 用 … 当密码, … 是我的邮箱密码
    _shape(
        "look",
        rf"(?:用|拿|把|以|将)\s*{_SIGNS}\s*(?:这个|這個|作为|當作|当作|来做|设为|设成|作|做|当)"
        rf"[^。！？\n，,；;]{{0,8}}?{_WORD}",
    ),
    _shape("look", rf"(?<![\x21-\x7e]){_SIGNS}\s*就?是[^。！？\n，,；;a-z0-9]{{0,10}}?{_WORD}"),
    # 密码从 … 改成了 …
    _shape(
        "look",
        rf"{_WORD}{_HOP}从\s*{_SIGNS}\s*(?:改|换|变)[成为]?了?\s*"
        r"(?P<new>[\x21-\x7e]{4,200})?",
    ),
    # 我用 … 登录
    _shape(
        "mixed",
        rf"(?:用|拿|以|使用|输入)\s*{_SIGNS}\s*(?:来|來|去|就能|就可以|可以|才能)?[^。！？\n，,；;a-z0-9]{{0,8}}?"
        r"(?:登录|登陆|登入|登錄|解锁|解鎖)",
    ),
    _shape(
        "mixed",
        rf"(?:登录|登陆|登入|登錄)[^。！？\n；;]{{0,12}}?(?:用|是|输入|：|:)\s*(?:的是)?\s*{_SIGNS}",
    ),
    # 密码：我爱西湖8842, 密码就是生日 19900312
    _shape(
        "none",
        rf"{_WORD}{_HOP}(?:是|为|[：:])\s*(?P<value>(?![最至少大约到])[\u4e00-\u9fff]{{1,10}}\s?\d{{4,}})"
        r"(?=[。，,！!\s]|$)",
    ),
    # 验证码收到了，是662518
    _shape("none", r"(?:验证码|驗證碼)[^。！？\n，,]{0,8}[，,]\s*就?是\s*(?P<value>\d{4,8})(?!\d)"),
)

_SHAPES = (*_ENGLISH, *_CHINESE)
_PHRASE = re.compile(
    rf"""(?:\bpassphrase|\b(?:seed|recovery|mnemonic|backup)\ (?:phrase|words?)|助记词)
    (?:{_IS}|\s*(?:是|：|:)\s*|\ (?:starts|begins)\ with:?\s+)
    (?P<value>[a-z]+(?:\s+[a-z]+){{3,23}})""",
    re.VERBOSE,
)
"""Words in a row that stand for a key."""
