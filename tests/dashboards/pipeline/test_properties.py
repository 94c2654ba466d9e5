"""Properties of a whole batch are those of each message, read one by one."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

from broker.models import RedactionRule
from broker.security.redaction import CLEAR, Veil
from dashboards.pipeline.fields import properties
from dashboards.pipeline.fields.properties import LONGEST, MOST

NAMES = st.text('ab",:{}[]\\ é', max_size=6) | st.just("n" * (LONGEST + 1))
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.decimals(-(10**6), 10**6, places=3).map(float)
    | st.text('ab",:{}[]\\ é\n1', max_size=6)
    | st.sampled_from(["é" * (LONGEST + 1), "null", "true", "12", ": ", ", ", "}"])
    | st.just(10**120)
)
VALUES = SCALARS | st.lists(SCALARS, max_size=2) | st.dictionaries(NAMES, SCALARS)
OBJECTS = st.none() | st.dictionaries(NAMES, VALUES, max_size=5)
MANY = {f"n{n}": n for n in range(MOST + 2)}


Kind = RedactionRule.Kind
RULES = [
    RedactionRule(kind=Kind.PROPERTY, target="a*", name="A"),
    RedactionRule(kind=Kind.PATTERN, target="1+|é{50}|true|null", name="P"),
    RedactionRule(kind=Kind.PATTERN, target='"|masked', name="Q"),
]
VEILS = st.lists(st.sampled_from(RULES), unique_by=id).map(Veil)


@given(st.lists(OBJECTS), VEILS)
@example([{}, None, {"": 1, "a": None, "b": "", "c": True, "d": -1.5}, MANY, {}], CLEAR)
@example([MANY | {"of": [1]}, MANY], CLEAR)
@example([{"a": None, "b": None, "c": 112, "d": 2, "é": "é" * 102}], Veil(RULES))
@example([{"a": [1], "b": 1}, {"a": True, "b": True}, MANY], Veil(RULES))
def test_a_batch_is_read_as_its_rows_are(
    objects: list[dict[str, Any] | None], veil: Veil
) -> None:
    texts = [one if one is None else written(one) for one in objects]
    column = pa.array(texts, pa.string())

    said, counted = (one.to_pylist() for one in properties.columns(column, veil))

    for text, pairs, numbers in zip(texts, said, counted, strict=True):
        if text is None:
            assert (pairs, numbers) == (None, None)
            continue
        one = properties.read(pa.array([text], pa.string()), pa.array([0]), veil)
        expected = list(zip(one.name.to_pylist(), one.value.to_pylist(), strict=True))
        assert pairs == expected
        figures = zip(one.name.to_pylist(), one.number.to_pylist(), strict=True)
        assert numbers == [pair for pair in figures if pair[1] is not None]


def written(one: dict[str, Any]) -> str:
    return json.dumps(one, ensure_ascii=False)
