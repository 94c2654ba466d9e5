"""What rules mask is masked on every page, for whoever looks."""

from __future__ import annotations

import json
import re

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from broker import operations
from broker.errors.redaction import MaskedMessage
from broker.formats.patches import HeaderOperation
from broker.models import Act, AuditRecord, Authority, Message, Operation, RedactionRule
from broker.monitoring.dead_letters import Letter
from broker.operations import Edit
from broker.queueing.put import put
from broker.security import authorities
from console.accounts import roles
from tests.console.conftest import SignIn
from tests.console.letters import die, make_places
from tests.console.messages.masking import (
    API,
    BODY,
    FIELDS,
    MARK,
    SECRET,
    TENANT,
    WHY,
    assert_masked,
    content,
    make_rules,
    unmasked,
)
from tests.console.messages.test_messages import words
from tests.make import make_queue, plan_resubmit

pytestmark = pytest.mark.django_db


@pytest.fixture
def letter() -> Letter:
    """A dead letter of orders, on DLQ: the rules are for orders."""
    make_places(attempts=1)
    make_rules()
    return die(attempts=1, **FIELDS)


@pytest.fixture
def omar(sign_in: SignIn) -> Client:
    """An operator: browses and repairs, and unmasks nothing."""
    return sign_in("operator")


@pytest.mark.parametrize("headers", [{}, {"HX-Request": "true"}], ids=["page", "part"])
@pytest.mark.parametrize("as_", ["", "text", "hex", "base64", "gzip", "json"])
def test_the_page_of_a_message_masks_bodies_and_properties(
    omar: Client, letter: Letter, headers: dict[str, str], as_: str
) -> None:
    url = reverse("console:message", args=[letter.message_id])

    page = content(omar.get(url, {"as": as_}, headers=headers, follow=True))

    assert_masked(page)
    said = words(page)
    assert "Some of this message is masked by rules PII-1, PII-2." in said
    assert "need the authority unmask" in said
    assert "B3" in said
    assert "night" in said


def test_who_may_unmask_is_shown_nothing_either_until_they_say_why(
    ada: Client, letter: Letter
) -> None:
    url = reverse("console:message", args=[letter.message_id])
    unmask = reverse("console:unmask", args=[letter.message_id])
    assert_masked(content(ada.get(url, follow=True)))
    assert ada.post(unmask, {"reason": " "}).status_code == 400
    assert unmasked() == []

    page = content(ada.post(unmask, {"reason": WHY}))

    assert SECRET in page
    assert TENANT in page
    assert WHY in page
    (record,) = unmasked()
    assert (record.actor, record.reason) == ("administrator", WHY)
    assert record.object_id == str(letter.message_id)
    assert record.details == {"rules": ["PII-1", "PII-2"]}
    assert_masked(content(ada.get(url, follow=True)))
    file = ada.post(unmask, {"reason": WHY, "file": "1"})
    assert file.content == BODY
    assert file["Cache-Control"] == "private, no-store"
    assert len(unmasked()) == 2


def test_to_unmask_takes_the_authority_on_every_queue_of_the_rule(
    omar: Client, letter: Letter
) -> None:
    unmask = reverse("console:unmask", args=[letter.message_id])
    row = Authority.objects.create(
        user=User.objects.get(), pattern="DLQ", may_unmask=True
    )
    assert omar.post(unmask, {"reason": WHY}).status_code == 403

    row.pattern = "orders"
    row.save()

    assert SECRET in content(omar.post(unmask, {"reason": WHY}))
    assert [record.actor for record in unmasked()] == ["operator"]


def test_rules_go_with_a_message_through_all_of_its_lives(
    omar: Client, letter: Letter
) -> None:
    make_queue("parking")
    user = User.objects.get()
    order = operations.Order(Operation.Kind.MOVE, "parking")
    chosen = operations.Chosen(ids=(letter.message_id,), queue="DLQ")
    plan = operations.plan(user, order, chosen, scope="all")
    operations.start(plan.pk)
    moved = Message.objects.latest("pk")
    assert moved.address == "parking"
    Message.objects.filter(pk=moved.pk).update(properties=FIELDS["properties"])

    page = content(omar.get(reverse("console:message", args=[moved.pk]), follow=True))

    assert_masked(page)


def test_a_queue_without_rules_is_as_it_was(omar: Client) -> None:
    make_rules("other.#")
    make_queue()
    pk = put("orders", **FIELDS).message_id

    page = content(omar.get(reverse("console:message", args=[pk]), follow=True))

    assert SECRET in page
    assert "masked" not in page


def test_a_rule_that_is_switched_off_masks_nothing(
    omar: Client, letter: Letter
) -> None:
    RedactionRule.objects.update(is_active=False)

    page = content(
        omar.get(reverse("console:message", args=[letter.message_id]), follow=True)
    )

    assert SECRET in page


def test_the_list_of_a_queue_has_no_beginnings(omar: Client, letter: Letter) -> None:
    put("orders", **FIELDS)

    for queue in ("orders", "DLQ"):
        page = content(omar.get(reverse("console:queue", args=[queue])))
        assert_masked(page, mark="••• masked by rule PII-1")


def test_bodies_are_downloaded_masked_and_headers_not_at_all(
    omar: Client, letter: Letter
) -> None:
    body = content(omar.get(reverse("console:body", args=[letter.message_id])))

    assert SECRET not in body
    assert json.loads(body)["patient"] == {"name": f"{MARK} PII-1"}
    assert json.loads(body)["ward"] == "B3"
    assert (
        omar.get(reverse("console:data", args=[letter.message_id])).status_code == 403
    )


def test_what_cannot_be_read_shows_length_hash_and_type(omar: Client) -> None:
    make_queue()
    make_rules()
    pk = put("orders", SECRET.encode(), content_type="application/json").message_id

    page = content(omar.get(reverse("console:message", args=[pk]), follow=True))

    assert_masked(page)
    assert re.search(
        f"{len(SECRET)} bytes of application/json, SHA-256 [0-9a-f]{{64}}", page
    )


@pytest.mark.parametrize("page", ["console:dead_letters", "console:discards"])
def test_lists_of_the_dead_have_no_bodies(
    omar: Client, letter: Letter, page: str
) -> None:
    text = content(omar.get(reverse(page)))
    group = content(
        omar.get(reverse("console:dead_letter_group", args=[letter.fingerprint]))
    )

    assert SECRET not in text + group
    assert TENANT not in text + group


def test_what_stands_in_the_way_has_no_bodies(omar: Client, letter: Letter) -> None:
    told = content(omar.get(f"{API}/messages/{letter.message_id}/explain"))

    assert SECRET not in told
    assert TENANT not in told


def test_who_cannot_see_a_message_cannot_repair_it(
    omar: Client, letter: Letter
) -> None:
    url = reverse("console:edit", args=[letter.message_id])
    for answer in (omar.get(url), omar.get(url, {"why": WHY}), omar.post(url)):
        assert answer.status_code == 403
        assert SECRET not in answer.content.decode()
    user = User.objects.get()
    edit = Edit((HeaderOperation("set", "subject", "x"),))
    with pytest.raises(MaskedMessage):
        operations.plan_edit(user, letter.message_id, "DLQ", edit)
    plan = plan_resubmit(user, "all")
    patch = json.dumps({"body": {"merge": {"a": 1}}})
    with pytest.raises(MaskedMessage):
        operations.set_patch(plan.pk, patch, by=user)
    repair = reverse("console:repair", args=[plan.pk])
    said = {"how": "merge", "body": '{"a": 1}'}
    assert omar.post(repair, said).status_code == 403
    put_ = omar.put(f"{API}/operations/{plan.pk}/patch", patch, "application/json")
    assert put_.json()["code"] == "masked-message"


def test_who_may_repairs_it_for_a_reason(ada: Client, letter: Letter) -> None:
    url = reverse("console:edit", args=[letter.message_id])
    asked = content(ada.get(url))
    assert SECRET not in asked
    assert "Why do you need to see it?" in asked
    assert unmasked() == []

    page = content(ada.get(url, {"why": WHY}))

    assert SECRET in page
    assert [one.reason for one in unmasked()] == [WHY]


def test_a_preview_says_where_and_not_what(ada: Client, letter: Letter) -> None:
    plan = plan_resubmit(User.objects.get(), "all")
    patch = {"body": {"merge": {"patient": {"name": "Roe"}}}}
    url = f"{API}/operations/{plan.pk}/patch"

    told = json.dumps(
        ada.put(url, patch, "application/json").json(), ensure_ascii=False
    )
    page = content(ada.get(reverse("console:operation", args=[plan.pk])))

    for text in (told, page):
        assert_masked(text, mark="masked by rules PII-1, PII-2")
        assert "/patient/name" in text


def test_what_was_repaired_is_not_compared_for_everybody(
    ada: Client, sign_in: SignIn, letter: Letter
) -> None:
    user = User.objects.get()
    edit = Edit((HeaderOperation("set", "subject", "x"),), BODY.replace(b"B3", b"C4"))
    plan = operations.plan_edit(user, letter.message_id, "DLQ", edit)
    child = operations.start_edit(plan.pk)
    omar = sign_in("operator")

    for pk in (letter.message_id, child):
        assert_masked(
            content(omar.get(reverse("console:message", args=[pk]), follow=True))
        )


def test_roles_but_that_of_administrators_unmask_nothing() -> None:
    assert [role for role, may in roles.AUTHORITIES.items() if "unmask" in may] == [
        "administrator"
    ]
    assert "unmask" not in authorities.WITH_A_CREDENTIAL


def test_a_rule_is_checked_versioned_and_audited(ada: Client) -> None:
    add = reverse("admin:broker_redactionrule_add")
    typed = {"name": "PII-3", "queues": "orders.#", "kind": "hl7", "target": "PID"}
    refused = ada.post(add, typed | {"is_active": "on"})
    assert "A field is written PID-5" in words(refused.content.decode())

    assert (
        ada.post(add, typed | {"is_active": "on", "target": "PID-5"}).status_code == 302
    )

    rule = RedactionRule.objects.get()
    change = reverse("admin:broker_redactionrule_change", args=[rule.pk])
    ada.post(change, typed | {"is_active": "on", "target": "PID-7"})
    rule.refresh_from_db()
    assert (rule.revision, rule.target) == (2, "PID-7")
    last = AuditRecord.objects.first()
    assert last is not None
    assert (last.act, last.object_name) == (Act.CHANGE, "PII-3")
    assert last.details["changed"]["target"] == {"before": "PID-5", "after": "PID-7"}
    assert last.details["changed"]["revision"] == {"before": 1, "after": 2}
