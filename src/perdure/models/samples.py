"""Everyday sentences in two languages, about nothing in common: their middle is the language's."""

from __future__ import annotations

from collections.abc import Mapping

from perdure.text import Language

SAMPLES: Mapping[Language, tuple[str, ...]] = {
    "en": (
        "The meeting was moved to Thursday afternoon.",
        "She bought a green bicycle for her son.",
        "Water boils at a lower temperature in the mountains.",
        "I would rather stay at home tonight.",
        "The museum is closed for repairs until autumn.",
        "Our neighbours are building a new fence.",
        "He forgot his umbrella on the bus.",
        "The invoice has to be paid within two weeks.",
        "A storm took the roof off the old barn.",
        "They were married in a small village church.",
        "This software runs on any operating system.",
        "My grandmother taught me how to knit.",
        "The soup needs a little more salt.",
        "Parliament voted on the law yesterday.",
        "We lost the match by a single goal.",
        "The train was two hours late again.",
        "Children under six travel free of charge.",
        "His first book sold only a few hundred copies.",
        "The doctor told her to sleep more.",
        "Prices have gone up everywhere this year.",
        "Thanks, that was very kind of you!",
        "I'm thinking about changing my job.",
        "The cat sleeps on the windowsill all day.",
        "What a beautiful photo, where was it taken?",
    ),
    "zh": (
        "会议改到星期四下午了。",
        "她给儿子买了一辆绿色的自行车。",
        "在高山上，水不到一百度就会沸腾。",
        "我今晚更想待在家里。",
        "博物馆正在维修，秋天才开放。",
        "邻居正在修一道新的围墙。",
        "他把雨伞忘在公交车上了。",
        "发票必须在两周之内付清。",
        "暴风把旧谷仓的屋顶掀走了。",
        "他们在一个小村子里结的婚。",
        "这个软件可以在任何系统上运行。",
        "奶奶教我织毛衣。",
        "汤里还要再放一点盐。",
        "议会昨天对这项法律进行了表决。",
        "我们以一球之差输了比赛。",
        "火车又晚点了两个小时。",
        "六岁以下儿童免票。",
        "他的第一本书只卖了几百册。",
        "医生让她多睡觉。",
        "今年到处都在涨价。",
        "谢谢，你真是太好了！",
        "我在考虑换一份工作。",
        "猫整天睡在窗台上。",
        "好漂亮的照片，是在哪儿拍的？",
    ),
}
"""The second list says what the first one says. A change of either changes every vector of the
embedders that use them: give those another name then."""
