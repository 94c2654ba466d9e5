"""The parameters of the report that compares two redelivery policies, and what they
say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dashboards.reports import Parameter, Values
from dashboards.reports.declaration import gettext_noop
from dashboards.reports.policies.policy_replay import Policy

AS_RECORDED, AS_GIVEN = gettext_noop("as recorded"), gettext_noop("as given")
TITLES: Mapping[str, Mapping[str, str]] = {
    "a": {
        "attempts": gettext_noop("A: max delivery attempts"),
        "delay_ms": gettext_noop("A: redelivery delay, in milliseconds"),
        "multiplier": gettext_noop("A: its multiplier"),
        "cap_ms": gettext_noop("A: its cap, in milliseconds"),
        "factor": gettext_noop("A: collision avoidance factor"),
    },
    "b": {
        "attempts": gettext_noop("B: max delivery attempts"),
        "delay_ms": gettext_noop("B: redelivery delay, in milliseconds"),
        "multiplier": gettext_noop("B: its multiplier"),
        "cap_ms": gettext_noop("B: its cap, in milliseconds"),
        "factor": gettext_noop("B: collision avoidance factor"),
    },
}
ATTEMPTS = 10  # of either policy, by default


def settings_of(name: str) -> Iterator[Parameter]:
    """The parameters of one policy."""
    titles = TITLES[name]
    yield Parameter(
        f"{name}_attempts",
        "count",
        ATTEMPTS,
        titles["attempts"],
        note=gettext_noop("0 and below is no limit."),
        least=-1,
        most=1_000_000,
    )
    yield Parameter(
        f"{name}_delay_ms", "count", 1000, titles["delay_ms"], least=0, most=10**12
    )
    yield Parameter(
        f"{name}_multiplier",
        "number",
        2.0,
        titles["multiplier"],
        least=0.001,
        most=1000,
    )
    yield Parameter(
        f"{name}_cap_ms",
        "count",
        -1,
        titles["cap_ms"],
        note=gettext_noop("-1: ten times the redelivery delay."),
        least=-1,
        most=10**12,
    )
    yield Parameter(f"{name}_factor", "number", 0.0, titles["factor"], least=0, most=1)


PARAMETERS = (
    Parameter(
        "queue",
        "text",
        "*",
        gettext_noop("Queue"),
        note=gettext_noop("* is any run of characters."),
    ),
    Parameter("days", "count", 30, gettext_noop("Days back"), least=1, most=400),
    Parameter(
        "a",
        "text",
        AS_RECORDED,
        gettext_noop("Policy A"),
        choices=(AS_RECORDED, AS_GIVEN),
        note=gettext_noop("What happened, or the settings below."),
    ),
    *settings_of("a"),
    *settings_of("b"),
)


def policy_of(values: Values, name: str) -> Policy:
    """One of the two policies, from the values of parameters."""
    cap = values[f"{name}_cap_ms"]
    return Policy(
        values[f"{name}_attempts"],
        values[f"{name}_delay_ms"],
        values[f"{name}_multiplier"],
        values[f"{name}_factor"],
        None if cap < 0 else cap,
    )


def policies_of(values: Values) -> dict[str, Policy | None]:
    given = values["a"] == AS_GIVEN
    return {
        f"A, {values['a']}": policy_of(values, "a") if given else None,
        "B": policy_of(values, "b"),
    }
