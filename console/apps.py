from django.apps import AppConfig
from django.contrib.admin import apps as admin
from django.db.models.signals import post_migrate
from django.utils.module_loading import autodiscover_modules


class ConsoleConfig(AppConfig):
    name = "console"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register Celery, live topics, viewers of all applications, sign-in signals,
        and the ``post_migrate`` receiver that makes the roles. The models are loaded by
        now.
        """
        from console import celery  # noqa: F401, PLC0415 (being loaded)
        from console.accounts import (  # noqa: PLC0415
            roles,
            sessions,
            sign_in_audit,
            sign_in_limits,  # noqa: F401
        )
        from console.bridge_pages import live  # noqa: F401, PLC0415
        from console.operations import live_progress  # noqa: F401, PLC0415
        from console.second_factors import (  # noqa: PLC0415
            records,
            starting,  # noqa: F401
        )

        autodiscover_modules("viewers")
        sign_in_audit.listen()
        sessions.listen()
        records.listen()
        post_migrate.connect(roles.grant)


class SettingsConfig(admin.AdminConfig):
    """Django's admin with audited pages."""

    default = False  # ``console`` in INSTALLED_APPS means the class above
    default_site = "console.settings_site.SettingsSite"
