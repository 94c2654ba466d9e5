"""Settings of sign-in, sessions and cookies; imported by ``console.settings``."""

from __future__ import annotations

import environ

env = environ.Env()

HTTPS = env.bool("HTTPS", default=False)  # whether a proxy with TLS is in front
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
if HTTPS:
    SECURE_HSTS_SECONDS = env.int("SECURE_HSTS_SECONDS", default=31_536_000)  # a year
    # Browsers accept cookies with these names only by HTTPS, and only from this host.
    SESSION_COOKIE_NAME, CSRF_COOKIE_NAME = "__Host-sessionid", "__Host-csrftoken"
CSRF_FAILURE_VIEW = "console.edges.web.error_responses.old_form"
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"

AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "console.second_factors.gate.PasswordBackend",
    "console.single_sign_on.backends.VouchedBackend",
]
# AMQP clients have no web request, and cannot be asked for a second factor.
BROKER_AMQP_AUTHENTICATION_BACKENDS = [
    "console.second_factors.password_alone.PasswordAlone"
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}Validator"}
    for name in (
        *("UserAttributeSimilarity", "MinimumLength"),
        *("CommonPassword", "NumericPassword"),
    )
]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "console:overview"
LOGOUT_REDIRECT_URL = "account_login"
AXES_FAILURE_LIMIT = 5
AXES_COOLOFF_TIME = 0.25  # hours
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_HANDLER = "console.accounts.sign_in_limits.SignInLimits"
# Limits of wrong passwords: for one name from any address, and for any name from one
# address.
BACKOUT_SIGN_IN_FAILURES = (
    env.int("BACKOUT_SIGN_IN_FAILURES_PER_NAME", default=20),
    env.int("BACKOUT_SIGN_IN_FAILURES_PER_ADDRESS", default=100),
)
# Proxies whose header X-Forwarded-For is trusted: addresses or networks. The web
# process is started with the same value (Procfile).
BACKOUT_TRUSTED_PROXIES = env.list("BACKOUT_TRUSTED_PROXIES", default=[])
AXES_LOCKOUT_TEMPLATE = "console/accounts/locked_out.html"
AXES_VERBOSE = False

# Idle timeout and longest duration of a session.
BACKOUT_SESSION_IDLE_S = env.int("BACKOUT_SESSION_IDLE_S", default=1800)
BACKOUT_SESSION_LONGEST_S = env.int("BACKOUT_SESSION_LONGEST_S", default=43_200)
SESSION_ENGINE = "console.accounts.sessions"
SESSION_COOKIE_AGE = BACKOUT_SESSION_LONGEST_S

# Users who must have a second factor: groups, "superusers", or "*" for everybody. Users
# who have set up a second factor are asked for it in any case.
BACKOUT_SECOND_FACTOR_GROUPS = [
    one.strip() for one in env.list("BACKOUT_SECOND_FACTOR_GROUPS", default=[])
]
# django-allauth is used only for the steps after the password; its other pages have no
# URL here.
ACCOUNT_ADAPTER = "console.second_factors.adapters.AccountAdapter"
ACCOUNT_LOGIN_METHODS = {"username"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "password1*", "password2*"]
ACCOUNT_EMAIL_VERIFICATION = "none"
# allauth's limits count in one process only; the console has limits in the database.
ACCOUNT_RATE_LIMITS = False
ACCOUNT_LOGIN_TIMEOUT = 300  # seconds from the password to the code
ACCOUNT_REAUTHENTICATION_TIMEOUT = 300
MFA_ADAPTER = "console.second_factors.adapters.FactorAdapter"
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_ALLOW_UNVERIFIED_EMAIL = True  # users have no e-mail addresses
MFA_RECOVERY_CODES_SHOW_ONCE = True
MFA_TOTP_TOLERANCE = 1  # a code is also valid half a minute before and after its time

# Sign-in through a provider of OpenID Connect, if BACKOUT_OIDC_ISSUER is set
# (console/single_sign_on). Groups: "ops=operator,admins=administrator".
BACKOUT_OIDC = {
    "issuer": env("BACKOUT_OIDC_ISSUER", default=""),
    "client_id": env("BACKOUT_OIDC_CLIENT_ID", default=""),
    "client_secret": env("BACKOUT_OIDC_CLIENT_SECRET", default=""),
    "name": env("BACKOUT_OIDC_NAME", default="single sign-on"),
    "scope": env.list("BACKOUT_OIDC_SCOPE", default=["openid", "profile"]),
    "username_claim": env("BACKOUT_OIDC_USERNAME_CLAIM", default="preferred_username"),
    "groups_claim": env("BACKOUT_OIDC_GROUPS_CLAIM", default="groups"),
    "groups": env.dict("BACKOUT_OIDC_GROUPS", default={}),
    "second_factor": env.bool("BACKOUT_OIDC_SECOND_FACTOR", default=False),
    "only": env.bool("BACKOUT_OIDC_ONLY", default=False),
}
SOCIALACCOUNT_ADAPTER = "console.single_sign_on.adapter.SignOnAdapter"
