"""The header Permissions-Policy: pages use none of these parts of a browser."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

# Names of parts of a browser. Browsers would warn of a name that they do not know.
UNUSED = (
    *("accelerometer", "camera", "display-capture", "geolocation", "gyroscope", "hid"),
    *("magnetometer", "microphone", "midi", "payment", "screen-wake-lock", "serial"),
    *("usb", "xr-spatial-tracking"),
)
POLICY = ", ".join(f"{name}=()" for name in UNUSED)


class PermissionsPolicyMiddleware:
    """Forbids these parts to pages, frames, and scripts that got past the CSP."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        response.headers.setdefault("Permissions-Policy", POLICY)
        return response
