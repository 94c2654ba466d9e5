"""A form that is shown with what is typed in it, and not saved."""

from __future__ import annotations

from typing import Any

from django.contrib.admin import ModelAdmin
from django.http import HttpRequest

PREVIEW = "_preview"  # the button that shows the form as typed, and saves nothing
SHOWN = "_only_shown"  # attribute of a request whose form is not to be saved


class PreviewedAdmin(ModelAdmin):
    """Shows the form again with what is typed in it, if asked; saves nothing then."""

    def get_form(
        self,
        request: HttpRequest,
        obj: Any = None,
        change: bool = False,  # noqa: FBT001, FBT002 - Django's
        **kwargs: Any,
    ) -> Any:
        form = super().get_form(request, obj, change=change, **kwargs)
        is_shown = PREVIEW in request.POST or hasattr(request, SHOWN)
        return never_valid(form) if is_shown else form


def never_valid(form: type[Any]) -> type[Any]:
    """A form that is never valid; it shows its errors, if it has any."""

    def is_valid(self: Any) -> bool:
        self.full_clean()
        return False

    return type(form.__name__, (form,), {"is_valid": is_valid})
