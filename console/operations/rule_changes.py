"""Save a rule table, or change its mode, for the page and the API."""

from __future__ import annotations

from django.db import transaction

from broker.models import RuleTable
from broker.operations import rules as standing
from broker.security import authorities

CHANGE_RULES = "broker.change_ruletable"


@transaction.atomic
def save(
    user: authorities.Principal, name: str, text: str, revision: int | None
) -> RuleTable:
    """Save rules, with a record of their author; for pages and the API."""
    authorities.require(user, "inquire", name)
    authorities.require(user, "set", name)
    return standing.save(name, text, user, revision=revision)


@transaction.atomic
def change_mode(user: authorities.Principal, name: str, mode: str) -> RuleTable:
    """Switch rules, with a record of who did it; for pages and the API."""
    authorities.require(user, "inquire", name)
    authorities.require(user, "set", name)
    return standing.switch(name, mode, user)
