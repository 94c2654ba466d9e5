"""A Django project that has the broker, and the handler of the harness's messages."""

from __future__ import annotations

import os
from urllib.parse import unquote, urlsplit

url = urlsplit(os.environ["DATABASE_URL"])
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(url.path.lstrip("/")),
        "HOST": unquote(url.hostname or ""),
        "PORT": str(url.port or ""),
        "USER": unquote(url.username or ""),
        "PASSWORD": unquote(url.password or ""),
        "CONN_MAX_AGE": None,
    }
}
SECRET_KEY = "of a project that serves no pages"
INSTALLED_APPS = [
    "django.contrib.contenttypes",
    "django.contrib.auth",
    "django.contrib.postgres",
    "broker",
    "tests.harness.backout",
]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
