"""Orders for groups of dead letters, for all doors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from django.utils import timezone

from broker.acts.groups import (
    AcknowledgeGroup,
    DescribeGroup,
    ReopenGroup,
    SnoozeGroup,
)
from broker.models import DeadLetterGroup
from tests.console.act_doors import Example
from tests.console.letters import die, make_places

LATER = timezone.now() + timedelta(days=30)


def make(**fields: Any) -> Callable[[], Mapping[str, Any]]:
    def made() -> Mapping[str, Any]:
        make_places()
        return {"fingerprint": die().fingerprint, **fields}

    return made


def example(request: type, page: str, **fields: Any) -> Example:
    return Example(
        request,
        page,
        about=("fingerprint",),
        make=make(**fields),
        absent={"fingerprint": "f" * 12, **fields},
        missing="There is no group",
        changes=(DeadLetterGroup,),
    )


EXAMPLES = {
    "acknowledge_group": example(AcknowledgeGroup, "console:acknowledge_group"),
    "describe_group": example(DescribeGroup, "console:describe_group", note="known"),
    "reopen_group": example(ReopenGroup, "console:reopen_group"),
    "snooze_group": example(SnoozeGroup, "console:snooze_group", until=LATER),
}
