"""Warnings on settings, in the answers to changes of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from django.http import HttpRequest
from ninja import Schema

from broker.config.advice import Advice
from broker.config.lint import advised
from broker.security import authorities


class Warned(Schema):
    """What a change leads to that is hardly meant, and what to do about it."""

    warnings: list[str] = []


def visible_warnings(request: HttpRequest, found: Iterable[Advice]) -> list[str]:
    """Warnings as sentences; only those on what the caller may inquire."""
    held = authorities.held_by(request.user)
    return [str(one) for one in found if held.on("inquire", one.queue)]


@contextmanager
def warned(request: HttpRequest) -> Iterator[list[str]]:
    """A list that gets the warnings which the change within adds."""
    sentences: list[str] = []
    with advised() as found:
        yield sentences
    sentences += visible_warnings(request, found)
