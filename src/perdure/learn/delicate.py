"""Recognises delicate matters by plain words: health, money, papers, beliefs, intimacy."""

from __future__ import annotations

import re

from perdure import text


def matters(said: str) -> frozenset[str]:
    """The words by which it is about such a matter; none if it is about none.

    Plain words only: what the model calls sensitive comes on top of it.
    """
    return frozenset(match.group() for match in _DELICATE.finditer(text.normalise(said)))


_DELICATE = re.compile(
    r"""
    \b(?:hiv|aids|cancer|tumou?r|leuk[ae]+mia|chemotherapy|depression|depressed|bipolar|schizophreni\w+
      |psychiatr\w+|antidepressants?|suicid\w+|self-harm|alcoholi\w+|addict(?:ed|ion)|rehab
      |miscarriage|abortion|pregnant|infertil\w+|diabet\w+|epilep\w+|dementia|ptsd|burnout|hepatitis)\b
    | \b(?:diagnosed\swith|in\s(?:psycho)?therapy\sfor|suffers?\sfrom)\b
    | \b(?:salary|salaries|net\sworth|bankrupt\w*|in\sdebt|debts|credit\sscore
      |bank\s(?:account|balance)|iban)\b
    | \bearns?\b.{0,20}\d
    | \b(?:passport|identity\scard|id\scard|driv\w+\slicen[cs]e|social\ssecurity)
      \s(?:number|no\b|is\b|:)
    | \b(?:gay|lesbian|bisexual|transgender|sexual\sorientation)\b
    | \b(?:criminal\srecord|convicted|probation)\b
    | 艾滋|癌|肿瘤|腫瘤|白血病|化疗|抑郁|抑鬱|双相|躁郁|精神分裂|精神科|自杀|自残|酗酒|戒毒|成瘾
    | 流产|怀孕|不孕|糖尿病|癫痫|痴呆|肝炎|确诊|確診|患有|焦虑症
    | 工资|薪水|月薪|年薪|收入(?:是|为|有)|负债|欠债|欠款|破产|存款|银行卡|银行账户|信用评分
    | 身份证号|护照号|驾照号|社保号|性取向|同性恋|双性恋|跨性别|犯罪记录|前科
    """,
    re.VERBOSE,
)
