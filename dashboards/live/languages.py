"""The language of pages: a choice, kept in the browser, else what the browser asks for.

REST, the command line, logs, notifications and what is stored are always English.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from django.utils.translation.trans_real import (
    DjangoTranslation,
    parse_accept_lang_header,
)
from django.views.i18n import JavaScriptCatalog

COOKIE = "language"
ENGLISH = "en"
LANGUAGES = {ENGLISH: "English", "de": "Deutsch"}  # each in its own words


def chosen(cookies: Mapping[str, str], accepted: str) -> str:
    """The language of the cookie, else the first that the browser accepts, or English.

    Args:
        cookies: of a request.
        accepted: its header ``Accept-Language``.
    """
    if (named := cookies.get(COOKIE, "")) in LANGUAGES:
        return named
    for name, weight in parse_accept_lang_header(accepted.lower()):
        if weight and (language := name.partition("-")[0]) in LANGUAGES:
            return language
    return ENGLISH


@cache
def texts_of_scripts(language: str) -> Mapping[str, str | list[str]]:
    """What scripts show, by its English text."""
    view = JavaScriptCatalog()
    paths = view.get_paths(["console"])
    view.translation = DjangoTranslation(language, "djangojs", paths)
    return view.get_catalog()
