"""Authentication: by a credential, a Django user, or the name in a certificate.

Django makes passwords slow to check on purpose. So a correct one is cached for a
minute, as a keyed digest that is useless outside this process. Each use of the cache
still checks that the user is active and the password unchanged. Failed attempts are
limited, per address and per name.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
from collections import Counter, OrderedDict
from dataclasses import dataclass
from functools import partial
from typing import cast

from django.conf import settings
from django.contrib.auth import get_user_model, load_backend
from django.contrib.auth.base_user import AbstractBaseUser
from django.core.exceptions import PermissionDenied

from broker.amqp.limits import ListenerLimits
from broker.amqp.protocol.sasl.scram import decoy
from broker.amqp.protocol.sasl.server import EXTERNAL, PLAIN, SCRAM, Keys
from broker.models.clients import Credential
from broker.security import credentials
from broker.sql.threads import Pool

CBS = "CBS"  # mechanism of clients of Azure Service Bus: a token
REMEMBERED_FOR_S = 60.0
MOST_REMEMBERED = 10_000
WINDOW_S = 60.0  # failed attempts are counted over this time
SLOWED_BY_S = 1.0  # delay of the answer after too many failures
DECOYS = hashlib.sha256(f"broker.amqp {settings.SECRET_KEY}".encode()).digest()


@dataclass(frozen=True, slots=True)
class Identity:
    """The user who logged in, and the credential and mechanism used."""

    user: AbstractBaseUser
    credential: Credential | None
    mechanism: str

    @property
    def actor(self) -> str:
        """The name in the journal, for puts and gets."""
        return self.credential.name if self.credential else self.user.get_username()


@dataclass(frozen=True, slots=True)
class Right:
    """A cached correct password; invalid once the user's password changes."""

    user_id: int
    hashed: str  # the password's hash, as in the database
    until_s: float


@dataclass(slots=True)
class Check:
    """A check of one password, shared by all clients that log in with it now."""

    future: asyncio.Future[AbstractBaseUser | None]
    waiting: int = 0  # clients that wait for the result

    async def result(self) -> AbstractBaseUser | None:
        """Wait for the result. If all clients have left, the check is cancelled."""
        self.waiting += 1
        try:
            return await asyncio.shield(self.future)
        finally:
            self.waiting -= 1
            if not self.waiting:
                self.future.cancel()


class Failures:
    """Counts failed attempts, and resets the counts each minute.

    An attempt counts as failed when it begins, so that simultaneous attempts count too.
    """

    def __init__(self, limits: ListenerLimits) -> None:
        self.limits = limits
        self.since_s = float("-inf")
        self.hosts: Counter[str] = Counter()
        self.names: Counter[tuple[str, str]] = Counter()

    def begin(self, host: str, name: str, now_s: float) -> bool:
        """Count an attempt as failed until it is forgiven; False if over the limit."""
        if now_s - self.since_s >= WINDOW_S:
            self.since_s = now_s
            self.hosts.clear()
            self.names.clear()
        is_one_too_many = (
            self.hosts[host] >= self.limits.failures_per_host
            or self.names[host, name] >= self.limits.failures_per_name
        )
        if is_one_too_many:
            return False
        self.hosts[host] += 1
        self.names[host, name] += 1
        return True

    def forgive(self, host: str, name: str) -> None:
        """Uncount an attempt that succeeded."""
        self.hosts[host] = max(self.hosts[host] - 1, 0)
        self.names[host, name] = max(self.names[host, name] - 1, 0)


class Identities:
    """Authenticates clients; for the loop's thread.

    Every failure gives None. It takes the same time whether or not the name exists.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        limits: ListenerLimits,
        *,
        database: Pool,
        passwords: Pool,
    ) -> None:
        """Args:
        loop: the event loop; its clock is used.
        limits: limits of failed passwords.
        database: threads for quick queries.
        passwords: threads for password hashing; few, as each uses a whole processor.
        """
        self.loop = loop
        self.database = database
        self.passwords = passwords
        self.failures = Failures(limits)
        self.salt = secrets.token_bytes(32)
        self.remembered: OrderedDict[bytes, Right] = OrderedDict()
        self.checking: dict[bytes, Check] = {}

    async def plain(self, name: str, password: str, host: str) -> Identity | None:
        """Authenticate a name and password, as a credential or else as a user.

        A wrong password for a credential's name is also checked as a user's: otherwise
        the time would reveal that the name is a credential's.
        """
        credential = await self.database.run(credentials.verify, name, password)
        if credential is not None:
            return await self.used(credential, PLAIN)
        user = await self.person(name, password, host)
        return None if user is None else Identity(user, None, PLAIN)

    async def external(self, name: str) -> Identity | None:
        """Authenticate the name in a client certificate that the CA has signed."""
        credential, user = await self.database.run(named, name)
        if credential is not None:
            return await self.used(credential, EXTERNAL)
        return None if user is None else Identity(user, None, EXTERNAL)

    async def scram(self, name: str) -> Keys:
        """The SCRAM keys of a name; an unknown name gets keys that nothing matches."""
        known = await self.database.run(credentials.scram_of, name)
        return decoy(name, DECOYS) if known is None else Keys(*known)

    async def proven(self, name: str) -> Identity | None:
        """The identity of a name that has passed SCRAM, if it is still valid."""
        credential = await self.database.run(credentials.find, name, None)
        return await self.used(credential, SCRAM) if credential is not None else None

    async def used(self, credential: Credential, mechanism: str) -> Identity:
        await self.database.run(credentials.used, credential)
        return Identity(cast(AbstractBaseUser, credential.user), credential, mechanism)

    async def person(
        self, name: str, password: str, host: str
    ) -> AbstractBaseUser | None:
        key = self.key(name, password)
        if user := await self.recalled(key):
            return user
        if (check := self.checking.get(key)) is None:
            if not self.failures.begin(host, name, self.loop.time()):
                await asyncio.sleep(SLOWED_BY_S)
                return None
            check = Check(self.passwords.run(authenticate, name, password, host))
            self.checking[key] = check
            check.future.add_done_callback(partial(self.checked, key, name, host))
        return await check.result()

    def checked(
        self,
        key: bytes,
        name: str,
        host: str,
        future: asyncio.Future[AbstractBaseUser | None],
    ) -> None:
        """Only a password that was found wrong stays counted as a failure."""
        del self.checking[key]
        if future.cancelled() or future.exception() is not None:
            self.failures.forgive(host, name)
        elif (user := future.result()) is not None:
            self.failures.forgive(host, name)
            self.remember(key, user)

    def key(self, name: str, password: str) -> bytes:
        text = f"{name}\0{password}".encode(errors="surrogatepass")
        return hmac.digest(self.salt, text, "sha256")

    async def recalled(self, key: bytes) -> AbstractBaseUser | None:
        right = self.remembered.get(key)
        if right is None or right.until_s < self.loop.time():
            return None
        user = await self.database.run(unchanged, right)
        if user is None:
            self.remembered.pop(key, None)
        return user

    def remember(self, key: bytes, user: AbstractBaseUser) -> None:
        until_s = self.loop.time() + REMEMBERED_FOR_S
        self.remembered[key] = Right(user.pk, user.password, until_s)
        self.remembered.move_to_end(key)
        while len(self.remembered) > MOST_REMEMBERED:
            self.remembered.popitem(last=False)


def authenticate(name: str, password: str, host: str) -> AbstractBaseUser | None:
    """The user with this password, from the first backend that accepts it.

    Uses the backends of ``BROKER_AMQP_AUTHENTICATION_BACKENDS``. There is no HTTP
    request to give them; they get the client's address as ``host``.
    """
    for path in settings.BROKER_AMQP_AUTHENTICATION_BACKENDS:
        backend = load_backend(path)
        try:
            user = backend.authenticate(
                None, username=name, password=password, host=host
            )
        except PermissionDenied:
            return None
        if user is not None:
            return cast(AbstractBaseUser, user)
    return None


def unchanged(right: Right) -> AbstractBaseUser | None:
    """The user of a cached password; None if inactive, or the password has changed."""
    users = get_user_model()._default_manager
    return users.filter(pk=right.user_id, password=right.hashed, is_active=True).first()


def named(name: str) -> tuple[Credential | None, AbstractBaseUser | None]:
    """The valid credential of a name, or else the active user of that name."""
    credential = credentials.find(name, None)
    if credential is not None or "\0" in name:
        return credential, None
    users = get_user_model()
    active = users._default_manager.filter(is_active=True)
    return None, active.filter(**{users.USERNAME_FIELD: name}).first()
