"""How a person is reached has a sensitivity of its own, which a policy may raise."""

from __future__ import annotations

import pytest

from perdure.learn import contact
from perdure.learn.screen import Sources, screen
from perdure.policy import ScreenPolicy
from perdure.types import Candidate, Preferences, Reason

PLAIN = ScreenPolicy()
REACHED = {
    "phone": ["Call me at 912 34 567.", "Mobile: +47 912 34 567", "手机号是 138-1234-5678"],
    "email": ["Write to ann@example.org.", "小林的邮箱 xiaolin@example.cn"],
    "address": ["Lives at 12 Rose Street", "My address is Storgata 12, Bergen.",
                "家住杭州市西湖区文三路 138号", "寄到幸福小区3栋502"],
}  # fmt: skip


@pytest.mark.spec("3.3")
@pytest.mark.parametrize(("how", "said"), [(h, s) for h, some in REACHED.items() for s in some])
def test_how_a_person_is_reached_is_of_medium_sensitivity_and_the_policy_may_say_more(how, said):
    assert contact.level(said, PLAIN) == 1
    assert contact.level(said, PLAIN.but(**{how: 2})) == 2
    assert contact.level(said, PLAIN.but(**{how: 0})) == 0


@pytest.mark.parametrize(
    "said",
    ["My phone has 128 GB.", "Call me Ann.", "user@localhost", "Walks down the street", "Born 1990",
     "手机内存 128 GB", "我在中山路上班", "邮箱快满了", "The High Street is closed.",
     "Order 912345678"],
)  # fmt: skip
def test_ordinary_matters_reach_nobody(said):
    assert contact.level(said, PLAIN) == 0


def test_a_medium_statement_is_kept_with_its_level_and_a_high_one_needs_consent(line):
    said = line("My mobile is +47 912 34 567.")
    candidate = Candidate(content="Mobile is +47 912 34 567")

    def looked(policy):
        return screen([candidate], Sources((said,)), Preferences(), policy)

    assert [kept.sensitivity for kept in looked(PLAIN).kept] == [1]
    [refused] = looked(PLAIN.but(phone=2)).refused
    assert refused.reason is Reason.SENSITIVE_NOT_LEARNT
