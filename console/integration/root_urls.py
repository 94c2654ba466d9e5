"""URLs of the console as a project of its own: at the root, with second factors."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path

from console.urls import pages, rest
from console.views.accounts import second_factors

urlpatterns: list[URLPattern | URLResolver] = [
    path("", include((pages, "console"))),
    path("accounts/", include(second_factors.sign_in)),
    path("preferences/second-factor/", include(second_factors.own)),
    *rest,
]
handler400 = "console.layout.error_responses.bad_request"
handler403 = "console.layout.error_responses.denied"
handler404 = "console.layout.error_responses.not_found"
handler500 = "console.layout.unavailable.failed"
