import os
from types import ModuleType

from django.apps import AppConfig, apps
from django.conf import settings
from django.db.models.signals import post_migrate
from django.utils.module_loading import autodiscover_modules

from broker.config import django_settings
from console.integration import defaults
from console.integration.checks import require_applications

# the URLs of the console as a project of its own
OWN_URLS = "console.integration.root_urls"


class ConsoleConfig(AppConfig):
    name = "console"
    default_auto_field = "django.db.models.BigAutoField"

    def __init__(self, app_name: str, app_module: ModuleType | None) -> None:
        """Give the settings their values; the broker's first, as some follow them."""
        super().__init__(app_name, app_module)
        require_applications(settings.INSTALLED_APPS)
        django_settings.complete(settings, os.environ)
        django_settings.complete(settings, os.environ, defaults, defaults.FOLLOWING)

    def ready(self) -> None:
        """Load Celery, and register viewers of all applications, sign-in signals, and
        the ``post_migrate`` receiver that makes the roles. The models are loaded by
        now. What only pages need waits for ``console.urls``; but an admin of the
        project must have no page of a model of Settings, whatever is loaded first.
        """
        from console import second_factors  # noqa: PLC0415
        from console.accounts import roles, sessions, sign_in_audit  # noqa: PLC0415
        from console.second_factors import starting  # noqa: F401, PLC0415

        if settings.BACKOUT_CELERY_APP == "console":
            from console import celery  # noqa: F401, PLC0415
        if settings.ROOT_URLCONF != OWN_URLS:
            from console.configuration import site as settings_site  # noqa: PLC0415

            settings_site.take_over()
        autodiscover_modules("viewers")
        sign_in_audit.listen()
        sessions.listen()
        if apps.is_installed("axes"):
            from console.accounts import sign_in_limits  # noqa: F401, PLC0415
        if second_factors.are_installed():
            from console.second_factors import records  # noqa: PLC0415

            records.listen()
        post_migrate.connect(roles.grant)
