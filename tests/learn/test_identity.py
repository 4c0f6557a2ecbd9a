"""Identity and account numbers of many countries are secrets; what only looks alike is not."""

from __future__ import annotations

import random

import pytest

from perdure.learn.secret import has_secret, masked

ALONE = [
    "310104196111250231",
    "11010519491231002x",
    "DE14405683305743198793",
    "DE14 4056 8330 5743 1987 93",
    "NO1635739151366",
    "RSSMRA89A23H501M",
    "174107565163596",
    "070155-571X",
    "756.2957.1216.49",
    "549.032.075-36",
    "77.07.15-689.42",
    "H251941(2)",
    "S7349328E",
    "19660416-7376",
    "981013-1210724",
    "X2312977M",
    "GARC920806HDFRRL08",
]
NAMED = [
    ("SSN", "422-27-1395"),
    ("social security number", "422271395"),
    ("BSN", "158017432"),
    ("DNI", "45068647D"),
    ("Steuer-ID", "19084121577"),
    ("PESEL", "56061754451"),
    ("personnummer", "810721-3657"),
    ("fødselsnummer", "10056156734"),
    ("CPR", "280695-4627"),
    ("national insurance number", "JG 12 12 12 A"),
    ("NHS number", "833 152 6511"),
    ("Aadhaar", "9255 7999 2889"),
    ("PAN", "ABCPD1234E"),
    ("HKID", "H2519412"),
    ("Taiwan ID", "K110388477"),
    ("CPF", "54903207536"),
    ("kimlik", "57108525980"),
    ("SIN", "618 027 080"),
    ("TFN", "547821408"),
]


@pytest.mark.spec("3.3")
@pytest.mark.parametrize("number", ALONE)
def test_a_number_that_can_be_nothing_else_is_found_without_a_word(number):
    assert masked(f"Mine is {number}, I think.") == "Mine is •••, I think."
    assert has_secret(f"我的是{number}。")


@pytest.mark.spec("3.3")
@pytest.mark.parametrize(("name", "number"), NAMED)
def test_a_number_that_could_be_anything_needs_a_word_beside_it(name, number):
    assert has_secret(f"My {name} is {number}.")
    assert has_secret(f"我的{name}是{number}")
    assert not has_secret(f"Order {number} has arrived.")
    assert not has_secret(f"订单 {number} 已发货")


@pytest.mark.parametrize("name", ["BSN", "Steuer-ID", "PESEL", "Aadhaar", "CPF", "TFN"])
def test_a_wrong_checksum_is_no_identity_number(name):
    wrong = {"BSN": "158017433", "Steuer-ID": "19084121578", "PESEL": "56061754452",
             "Aadhaar": "9255 7999 2888", "CPF": "549.032.075-37", "TFN": "547821409"}  # fmt: skip

    assert not has_secret(f"My {name} is {wrong[name]}.")


def test_figures_drawn_by_lot_are_hardly_ever_taken_for_a_person():
    rng = random.Random(7)
    drawn = ["".join(rng.choices("0123456789", k=length)) for length in (9, 10, 11, 12) * 500]

    assert sum(has_secret(f"The order is {number}.") for number in drawn) == 0
