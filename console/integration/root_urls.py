"""URLs of the console as a project of its own: at the root, with second factors."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path

from console.home.pages import signing_in as second_factors
from console.urls import pages, rest

urlpatterns: list[URLPattern | URLResolver] = [
    path("", include((pages, "console"))),
    path("accounts/", include(second_factors.sign_in)),
    path("preferences/second-factor/", include(second_factors.own)),
    *rest,
]
handler400 = "console.edges.web.error_responses.bad_request"
handler403 = "console.edges.web.error_responses.denied"
handler404 = "console.edges.web.error_responses.not_found"
handler500 = "console.edges.web.unavailable.failed"
