"""The step after the first one of a sign-in: a second factor, if one is set up."""

from __future__ import annotations

from allauth.mfa.stages import AuthenticateStage
from django.http import HttpRequest

# Keys of a sign-in's state: a hash of the password, to detect that it changed
# meanwhile; and whether the provider of the sign-in has checked a second factor.
HASH, VOUCHED = "hash", "vouched"


class CodeStage(AuthenticateStage):
    """Django-allauth's stage, but not for users whose provider has checked a factor."""

    def _should_handle(self, request: HttpRequest) -> bool:
        if self.login.state.get(VOUCHED):
            return False
        return bool(super()._should_handle(request))
