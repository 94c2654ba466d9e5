"""The header Permissions-Policy: pages use none of these parts of a browser."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

# What browsers know by these names; of another name they would warn on each page.
UNUSED = (
    *("accelerometer", "camera", "display-capture", "geolocation", "gyroscope", "hid"),
    *("magnetometer", "microphone", "midi", "payment", "screen-wake-lock", "serial"),
    *("usb", "xr-spatial-tracking"),
)
POLICY = ", ".join(f"{name}=()" for name in UNUSED)


class PermissionsPolicyMiddleware:
    """Neither a script that got past the CSP nor a frame can use them."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        response.headers.setdefault("Permissions-Policy", POLICY)
        return response
