"""Claims as tables: entries become claims, and errors name malformed entries."""

import pytest

from trocar.errors import TrocarError, UnknownName
from trocar.report.claim_table import ClaimTable

TEXT = """
["spiral, {clock}/{row}"]
rows = ["J1", "J2"]
published = [0.57, 3.3]
relation = ["at_most", "equal"]
tolerance = 0.1
unit = ["N m", "N"]
source = "Section IV"
note = "over {seconds:g} s, {share:.0%}"

["the same/{row}"]
rows = ["J1", "J2"]
published = "spiral, {clock}/{row}"
relation = "at_least"
source = "Section IV"

[size]
relation = "equal"
source = "Table {table}"
"""


@pytest.fixture
def table():
    return ClaimTable("someone2020", text=TEXT)


def test_rows_become_claims_with_the_values_of_their_row(table):
    first, second = table.claims("spiral, {clock}/{row}", [0.5, 3.25], clock="1 ms", seconds=10.0, share=[0.1, 0.9])
    assert (first.id, second.id) == ("someone2020/spiral, 1 ms/J1", "someone2020/spiral, 1 ms/J2")
    assert (first.published, first.relation, first.unit, first.note) == (0.57, "at_most", "N m", "over 10 s, 10%")
    assert (second.published, second.relation, second.unit, second.note) == (3.3, "equal", "N", "over 10 s, 90%")
    assert first.tolerance == second.tolerance == 0.1
    assert first.holds
    assert second.holds


def test_an_entry_may_reuse_the_published_numbers_of_another(table):
    assert [claim.published for claim in table.claims("the same/{row}", [1.0, 1.0])] == [0.57, 3.3]


def test_a_computed_published_number_comes_from_the_code(table):
    claim = table.claim("size", 2.0, published=2.0, table=4)
    assert claim.holds
    assert claim.source == "Table 4"
    assert (claim.tolerance, claim.unit, claim.note) == (0.0, "", "")


def test_a_missing_number_has_its_reason_as_note(table):
    claims = table.claims("the same/{row}", [1.0, "not run: no {data}"])
    assert claims[0].ours == 1.0
    assert claims[1].ours is None
    assert claims[1].note == "not run: no {data}"


def test_the_wrong_number_of_results_is_rejected(table):
    with pytest.raises(ValueError, match=r"shorter|longer"):
        table.claims("the same/{row}", [1.0])


def test_an_unknown_claim_is_rejected_by_name(table):
    with pytest.raises(UnknownName, match="sizes"):
        table.claim("sizes", 1.0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[size]\nrelation = "equal"', "'source' is missing"),
        ('[size]\nrelation = "about"\nsource = "x"', "relation is 'about'; allowed: equal"),
        ('[size]\nrelation = "equal"\nsource = "x"\nvalue = 1', "unknown field 'value'"),
        ('[size]\nrelation = "equal"\nsource = "x"\nrows = [1, 2]', "needs {row}"),
        ('["{row}"]\nrelation = "equal"\nsource = "x"\nrows = [1, 2]\npublished = [1.0]', "1 values for 2 rows"),
    ],
)
def test_a_malformed_entry_is_rejected_by_name(text, message):
    with pytest.raises(TrocarError, match=message):
        ClaimTable("someone2020", text=text)
