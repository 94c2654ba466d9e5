"""What pyproject.toml promises of versions is true, by what packages say themselves.

``make versions`` runs the pairs; these tests read the metadata of what is pinned.
"""

from __future__ import annotations

import re
from importlib.metadata import distribution

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from tests.installed import PROJECT, TREE, with_theirs
from tests.tools.versions import numbers, pairs

DJANGOS = numbers("Framework :: Django :: ")
PYTHONS = numbers("Programming Language :: Python :: ")
PAGE = (TREE / "docs" / "install.md").read_text()
PAIRS = re.search(r"^\| \| (Django .+) \|\n\|[-|]+\n((?:\|.+\n)+)", PAGE, re.M)
EXTRAS = PROJECT["optional-dependencies"]


def lines() -> dict[str, list[str]]:
    """The rows of the table of pairs in docs/install.md, without marks."""
    assert PAIRS is not None
    rows = [re.split(r" *\| *", one.strip("| ")) for one in PAIRS[2].splitlines()]
    return {first: cells for first, *cells in rows}


def demands(name: str, of: str) -> list[Requirement]:
    """What a pinned package demands of another one, whatever extras it has."""
    found = [Requirement(line) for line in distribution(name).requires or ()]
    return [
        one
        for one in found
        if one.name.lower() == of and (not one.marker or one.marker.evaluate())
    ]


def packages(extra: str) -> set[str]:
    """The names of all that an extra installs; without a name, of the core."""
    wanted = list(map(Requirement, EXTRAS[extra] if extra else PROJECT["dependencies"]))
    ours = [each for one in wanted if one.name == "backout" for each in one.extras]
    others = with_theirs(str(one) for one in wanted if one.name != "backout")
    return others.union(*map(packages, ours), packages("") if extra else ())


def in_the_way(django: str, extra: str) -> list[str]:
    """The pinned packages that forbid a version of Django."""
    return sorted(
        name
        for name in packages(extra)
        for one in demands(name, "django")
        if not one.specifier.contains(f"{django}.1")
    )


def of_django() -> Requirement:
    (found,) = (
        one for one in map(Requirement, PROJECT["dependencies"]) if one.name == "Django"
    )
    return found


def test_the_range_of_django_is_what_the_classifiers_name() -> None:
    near = ("4.2", "5.0", "5.1", "5.2", "6.0", "6.1", "6.2", "7.0")
    allowed = [one for one in near if of_django().specifier.contains(f"{one}.1")]
    assert allowed == DJANGOS == ["5.2", "6.0", "6.1"]
    assert PYTHONS == ["3.11", "3.12", "3.13"]


@pytest.mark.thorough
@pytest.mark.parametrize("django", DJANGOS)
def test_the_page_says_which_packages_stand_in_the_way_of_which_django(
    django: str,
) -> None:
    """What is pinned is the newest; so no user can install another one."""
    place = DJANGOS.index(django)
    for extra in ("", *EXTRAS):
        cell = lines()[f"`backout[{extra}]`" if extra else "`backout`"][place]
        found = in_the_way(django, extra)
        assert (extra, cell) == (extra, f"no: {', '.join(found)}" if found else "yes")


@pytest.mark.parametrize("extra", ["", *EXTRAS])
def test_each_package_is_for_every_python(extra: str) -> None:
    refusing = {
        (name, python)
        for name in packages(extra)
        if (said := distribution(name).metadata["Requires-Python"])
        for python in PYTHONS
        if not SpecifierSet(said).contains(f"{python}.0")
    }
    assert refusing == set()


def test_every_pair_that_can_be_is_tested() -> None:
    assert [str(one) for one in pairs()] == [
        *("3.11-5.2", "3.12-5.2", "3.13-5.2"),
        *("3.12-6.0", "3.13-6.0", "3.12-6.1", "3.13-6.1"),
    ]


@pytest.mark.parametrize("extra", ["", *EXTRAS])
def test_each_range_has_both_ends(extra: str) -> None:
    """A next major version may break what is stored; a user's pip must not take it.

    Those without an upper end do not: their versions are dates, or they are asked for
    one name that has stayed for a decade.
    """
    ranges = EXTRAS[extra] if extra else PROJECT["dependencies"]
    open_ended = {
        one.name
        for one in map(Requirement, ranges)
        if one.name != "backout"
        and {"<", ">="} - {each.operator for each in one.specifier}
    }
    assert open_ended <= {"argon2-cffi", "cryptography", "packaging"}
