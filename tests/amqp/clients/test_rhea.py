"""rhea, the client of JavaScript; what it does and asserts is in ``rhea/*.mjs``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from broker.models import Queue
from tests.amqp.certifying import Certified
from tests.amqp.clients import rheas
from tests.amqp.listening import PASSWORD, Listening, listener
from tests.make import make_user

pytestmark = pytest.mark.thorough

CASES = {
    "bodiesSurvive": 1,
    "dataSectionsSurvive": 1,
    "propertiesSurvive": 1,
    "idsKeepTheirType": 1,
    "manySendsAreConfirmed": 2,
    "aSettledSenderPuts": 3,
    "aSettledReceiverGetsAtMostOnce": 3,
    "acceptedIsGone": 4,
    "releasedIsNotCounted": 4,
    "modifiedIsNotCounted": 4,
    "modifiedAsFailedIsCounted": 4,
    "rejectedIsADeadLetter": 4,
    "bothCountAndGoToAnother": 4,
    "theConsumerChoosesWhen": 5,
    "undeliverableGoesToAnother": 6,
    "browsingLeavesMessages": 15,
    "selectorsChoose": 16,
    "aSelectorIsEchoed": 16,
    "creditIsRespected": 17,
    "drainingEnds": 17,
    "closingGivesBack": 18,
    "losingGivesBack": 18,
    "requestAndReply": 19,
    "eachSubscriberHasACopy": 21,
    "aDurableSubscriptionIsKept": 21,
    "aSharedSubscriptionShares": 21,
    "aMessageIsDelayed": 22,
    "aPasswordLogsIn": 24,
    "aWrongPasswordIsRefused": 24,
    "nobodyIsRefused": 24,
    "aContainerIdIsHadOnce": 25,
    "aLargeMessageIsIntact": 26,
    "oneConnectionHasManySessions": 26,
    "tagsAreBytes": 28,
    "settlingSecondIsTolerated": 28,
}


@pytest.fixture(scope="session")
def rhea() -> Path:
    return rheas.prepared()


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.case(n)) for name, n in CASES.items()],
)
def test_rhea_does_what_it_does_elsewhere(
    rhea: Path, here: Listening, name: str
) -> None:
    rheas.run(rhea, name, here)


@pytest.mark.case(20)
def test_the_relay_answers_for_each_message(rhea: Path, here: Listening) -> None:
    Queue.objects.filter(name="answers").update(max_depth=0)
    rheas.run(rhea, "theRelayAnswersForEach", here)


@pytest.mark.case(23)
def test_a_full_queue_refuses(rhea: Path, here: Listening) -> None:
    Queue.objects.filter(name="orders").update(max_depth=1)
    rheas.run(rhea, "aFullQueueRefuses", here)


@pytest.mark.case(23)
def test_errors_leave_the_connection(rhea: Path, transactional_db: None) -> None:
    user = make_user("omar", pattern="orders")
    user.set_password(PASSWORD)
    user.save()
    with listener(user=user) as here:
        rheas.run(rhea, "errorsLeaveTheConnection", here)


@pytest.mark.case(23)
def test_a_message_too_large_ends_the_sender(
    rhea: Path, transactional_db: None
) -> None:
    with listener(message_bytes=100_000) as here:
        rheas.run(rhea, "aMessageTooLargeEndsTheSender", here)


@pytest.mark.case(24)
@pytest.mark.parametrize("name", ["aPasswordOverTls", "aCertificateLogsIn"])
def test_tls(
    rhea: Path, transactional_db: None, certified: Certified, name: str
) -> None:
    with listener(certificates=certified.server) as here:
        certified.sign(here.user.username)
        folder = str(certified.folder)
        tls: dict[str, Any] = {"port": here.tls_port, "certificates": folder}
        rheas.run(rhea, name, here, **tls)


@pytest.mark.case(27)
def test_heartbeats_keep_an_idle_client(rhea: Path, transactional_db: None) -> None:
    with listener(idle_timeout_s=4) as here:
        rheas.run(rhea, "heartbeatsKeepIt", here)


@pytest.mark.case(31)
def test_it_connects_anew_to_another_listener(
    rhea: Path, transactional_db: None
) -> None:
    with listener() as first, listener(user=first.user) as second:
        ports = [first.port, second.port]
        node = rheas.begin(rhea, "itConnectsAnew", first, ports=ports)
        assert node.stdout is not None
        said = node.stdout.readline()
        first.begin_to_stop().result(60)
        rest, errors = node.communicate(timeout=rheas.WITHIN_S)

        assert node.returncode == 0, said + rest + errors
