"""Django's settings for mail, from those that ``EMAIL_URL`` means.

Django 6.1 has ``MAILERS``, and warns of the settings ``EMAIL_…`` that it replaces.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import VERSION

HERE = "smtp://localhost:25"
TIMEOUT_S = 10
OPTIONS = {  # options of the backend for SMTP, by setting
    "EMAIL_HOST": "host",
    "EMAIL_PORT": "port",
    "EMAIL_HOST_USER": "username",
    "EMAIL_HOST_PASSWORD": "password",
    "EMAIL_USE_TLS": "use_tls",
    "EMAIL_USE_SSL": "use_ssl",
    "EMAIL_TIMEOUT": "timeout",
}


def of(found: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of this version of Django.

    Args:
        found: the settings before Django 6.1, as django-environ reads them.
    """
    if VERSION < (6, 1):
        return {"EMAIL_TIMEOUT": TIMEOUT_S, **found}
    backend = found["EMAIL_BACKEND"]
    options = {}
    if ".smtp." in backend:
        given = {"EMAIL_TIMEOUT": TIMEOUT_S, **found}
        options = {to: given[name] for name, to in OPTIONS.items() if name in given}
    elif ".filebased." in backend:
        options = {"file_path": found["EMAIL_FILE_PATH"]}
    return {"MAILERS": {"default": {"BACKEND": backend, "OPTIONS": options}}}
