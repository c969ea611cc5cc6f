# SPDX-License-Identifier: GPL-3.0-or-later
"""Grammar and truth of elasticity expressions."""

from __future__ import annotations

import operator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.opennebula.elasticity import evaluate_expression
from tests.opennebula.expressions import ExpressionError, compare, format_number, parse_expression


def evaluated(text: str, **values: float) -> tuple[bool, str]:
    return parse_expression(text).result(values.get)


TRUTH = [
    ("A > 0", True, "A[1.0] > 0"),
    ("a>0", True, "A[1.0] > 0"),
    ("1 < B", True, "1 < B[2.0]"),
    ("B = 2", True, "B[2.0] = 2"),
    ("B == 2.0", True, "B[2.0] == 2.0"),
    ("B <> 2", False, "B[2.0] <> 2"),
    ("A > B", False, "A[1.0] > B[2.0]"),
    ("A >= -1.50", True, "A[1.0] >= -1.5"),
    ("X > 0", False, "X[--] > 0"),
    ("X != 0", False, "X[--] != 0"),
    ("!(X != 0)", True, "!(X[--] != 0)"),
    ("! A > 0", False, "!A[1.0] > 0"),
    ("(A > 0) && (B < 1)", False, "(A[1.0] > 0) && (B[2.0] < 1)"),
    ("A > 0 | X > 0", True, "A[1.0] > 0 | X[--] > 0"),
]


@pytest.mark.parametrize(("text", "truth", "shown"), TRUTH)
def test_truth(text: str, truth: bool, shown: str) -> None:
    assert evaluated(text, A=1.0, B=2.0) == (truth, shown)


def test_operators_group_to_the_right_without_precedence() -> None:
    # with the usual precedence of && over || this would be false
    assert evaluated("A > 0 && X > 0 || A > 0", A=1.0)[0] is True
    assert evaluated("X > 0 && X > 0 || A > 0", A=1.0)[0] is False


def test_a_quoted_name_is_found_in_no_vm() -> None:
    assert evaluated('"A" > 0', A=1.0) == (False, '"A"[--] > 0')


def test_a_bad_expression_at_run_time_is_false_and_says_why() -> None:
    truth, text = evaluate_expression("A >", {"A": 1.0}.get)
    assert truth is False
    assert text.startswith("Parse error. 'A >': Expected one of ")


FAILURES = [
    ("*", """Expected one of ' ', '-', [0-9], '"', '\\'', [a-zA-Z], '!', '(' at line 1, column 1 (byte 1)"""),
    ("A > 1.", "Expected [0-9] at line 1, column 7 (byte 7) after ."),
    (
        "A > 0 &&",
        """Expected one of ' ', '-', [0-9], '"', '\\'', [a-zA-Z], '!', '(' at line 1, column 9 (byte 9) after &&""",
    ),
    ("(A > 0", "Expected one of [0-9], '.', ' ', '&&', '&', '||', '|', ')' at line 1, column 7 (byte 7) after (A > 0"),
    ("A > 0\n", "Expected one of [0-9], '.', ' ', '&&', '&', '||', '|' at line 1, column 6 (byte 6) after "),
]


@pytest.mark.parametrize(("text", "message"), FAILURES, ids=[text for text, _ in FAILURES])
def test_what_was_expected(text: str, message: str) -> None:
    """Not recorded: by the way the parser generator of the original counts."""
    with pytest.raises(ExpressionError) as caught:
        parse_expression(text)
    assert str(caught.value) == message


@pytest.mark.parametrize("text", ["  A  >  0  ", "( A > 0 )", "!  ( X > 0 )", "A > 0  ||  X > 0", "A>0||X>0", "!X>0"])
def test_blanks_are_free(text: str) -> None:
    assert evaluated(text, A=1.0)[0] is True


@pytest.mark.parametrize("text", ["A >\t0", "A\n> 0", "A > +1", "A > 0 )", "(A > 0", "true", "A > 'B", "A > 1."])
def test_not_an_expression(text: str) -> None:
    with pytest.raises(ExpressionError, match=r"^Expected .* at line \d+, column \d+ \(byte \d+\)"):
        parse_expression(text)


@pytest.mark.parametrize(
    ("number", "text"), [(1.0, "1.0"), (2, "2"), (0.99, "0.99"), (-2.0, "-2.0"), (1e16, "1.0e+16"), (1.5e22, "1.5e+22")]
)
def test_numbers_are_shown_as_oneflow_shows_them(number: float, text: str) -> None:
    assert format_number(number) == text


OPERATORS = st.sampled_from(["==", "=", "!=", "<>", ">=", ">", "<=", "<"])
NUMBERS = st.one_of(st.integers(-99, 99), st.floats(-99, 99).map(lambda value: round(value, 2)))
SPACES = st.sampled_from(["", " ", "   "])


MEANING = {
    "==": operator.eq,
    "=": operator.eq,
    "!=": operator.ne,
    "<>": operator.ne,
    ">=": operator.ge,
    ">": operator.gt,
    "<=": operator.le,
    "<": operator.lt,
}


@pytest.mark.parametrize("sign", MEANING)
@pytest.mark.parametrize("left", [1, 2, 3])
def test_operators(sign: str, left: int) -> None:
    assert compare(left, sign, 2) is MEANING[sign](left, 2)
    assert evaluated(f"{left} {sign} 2")[0] is MEANING[sign](left, 2)


@given(NUMBERS, OPERATORS, NUMBERS, SPACES, SPACES)
def test_comparison_of_numbers(left: float, sign: str, right: float, before: str, after: str) -> None:
    def written(number: float) -> str:
        return f"{number:.2f}" if isinstance(number, float) else str(number)

    truth, _ = evaluated(f"{before}{written(left)}{after}{sign}{before}{written(right)}{after}")
    assert truth == MEANING[sign](float(written(left)), float(written(right)))


@given(st.text(alphabet="AB01 .-!()&|<>='\"", max_size=14))
def test_any_text_is_an_expression_or_an_error(text: str) -> None:
    try:
        truth, _ = evaluated(text, A=1.0)
    except ExpressionError as error:
        assert str(error).startswith("Expected ")
        return
    assert isinstance(truth, bool)
