"""The seeded defects still fit the code, so that a run of them says something."""

from __future__ import annotations

import pytest

from tests.defects import MUTANTS, Mutant
from tests.mutants import ROOT


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_seeded_defect_still_has_its_place(mutant: Mutant) -> None:
    text = (ROOT / mutant.file).read_text()
    assert mutant.before in text
    assert text.replace(mutant.before, mutant.after) != text
    assert all((ROOT / path).exists() for path in mutant.tests.split())


def test_seeded_defects_have_names_of_their_own() -> None:
    names = [mutant.name for mutant in MUTANTS]
    assert sorted(set(names)) == sorted(names)
