"""Second-factor codes: limited wrong tries, and single use.

django-allauth keeps both in the memory of one process. Here both are in the database,
under a lock per user, so that concurrent tries are serialized.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta

from allauth.core.internal.cryptokit import compare_user_code
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal import auth as totp
from allauth.mfa.utils import decrypt
from cryptography.fernet import InvalidToken
from django.conf import settings
from django.core.exceptions import ValidationError
from django.utils.translation import gettext, gettext_noop

from broker.models import Act
from broker.security import audit
from broker.security.users import User
from broker.sql import database_now
from console.accounts.sign_in_audit import account
from console.models import CodeTries

WRONG = gettext_noop("The second factor was wrong, or it was used before.")
TOO_MANY = gettext_noop(
    "There were too many wrong attempts. Nothing is tried again for a quarter of an"
    " hour."
)
UNREADABLE = gettext_noop(
    "Your second factor was stored under another secret key of this console. An"
    " administrator can reset it."
)


def tried(user: User, find: Callable[[], Authenticator]) -> Authenticator:
    """Check a second factor, if a try is allowed now.

    Raises:
        ValidationError: the factor is wrong, or there were too many wrong tries.
    """
    now = database_now()
    tries, _ = CodeTries.objects.select_for_update().get_or_create(user=user)
    if is_locked(tries, now):
        raise refused(user, TOO_MANY)
    try:
        found = find()
    except InvalidToken:
        raise refused(user, UNREADABLE) from None
    except ValidationError:
        tries.wrong, tries.wrong_at = tries.wrong % most() + 1, now
        tries.save(update_fields=["wrong", "wrong_at"])
        raise refused(user, WRONG) from None
    CodeTries.objects.filter(user=user).update(wrong=0)
    return found


def is_locked(tries: CodeTries, now: datetime) -> bool:
    """Whether further codes are refused: the limits of passwords, counted over all IP
    addresses together."""
    rest = timedelta(hours=settings.AXES_COOLOFF_TIME)
    is_recent = tries.wrong_at is not None and now < tries.wrong_at + rest
    return is_recent and tries.wrong >= most()


def most() -> int:
    return int(settings.AXES_FAILURE_LIMIT)


def refused(user: User, reason: str) -> ValidationError:
    """Record that a user with the right password was refused.

    Args:
        reason: in English, for the audit; the user reads it in their language.
    """
    audit.refuse(Act.SIGN_IN, account(user), reason=reason)
    return ValidationError(gettext(reason))


def take(app: Authenticator, code: str) -> None:
    """Use up a right code; this code and earlier codes are not accepted again.

    Raises:
        ValidationError: the code was used already.
    """
    secret = decrypt(app.data["secret"])
    steps = totp.yield_hotp_counters_from_time()
    codes = {one: totp.format_hotp_value(totp.hotp_value(secret, one)) for one in steps}
    step = max(
        (one for one in codes if compare_user_code(actual=code, expected=codes[one])),
        default=0,  # the code was right when it was checked, and has expired since
    )
    tries, _ = CodeTries.objects.get_or_create(user_id=app.user_id)
    if step <= tries.last_step:
        raise ValidationError(gettext(WRONG))
    CodeTries.objects.filter(pk=tries.pk).update(last_step=step)


def begin(user: User, code: str) -> None:
    """Start with a new app; the code that set it up is used up."""
    CodeTries.objects.update_or_create(user=user, defaults={"last_step": 0})
    app = Authenticator.objects.get(user=user, type=Authenticator.Type.TOTP)
    with suppress(ValidationError):  # the code has expired since it was checked
        take(app, code)
