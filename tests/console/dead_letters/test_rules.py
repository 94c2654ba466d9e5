"""Rules for dead letters, on pages and through the API."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from broker.models import RulePass, RuleTable
from broker.monitoring import dead_letters
from broker.operations import rules
from console.accounts import roles
from tests.console.commanding import refused, run, told
from tests.console.conftest import SignIn
from tests.console.letters import ALL, die, make_places
from tests.console.messages.test_messages import EVIL, words
from tests.make import make_queue, make_user

LIST = reverse("console:rules")
PAGE = reverse("console:rule_table", args=["DLQ"])
MODE = reverse("console:switch_rules", args=["DLQ"])
EXPORT = reverse("console:export_rules", args=["DLQ"])
API = "/api/v1/queues/DLQ/dead-letter-rules"
RETRY = "DESTQ('orders') ACTION(RETRY) RETRY(3)\n"


@pytest.fixture(autouse=True)
def _letter(db: None) -> None:
    make_places()
    die()


def look(client: Client, url: str, **query: str) -> str:
    answer = client.get(url, query)
    assert answer.status_code == 200
    return words(answer.content.decode())


def send(
    client: Client,
    text: str,
    *,
    deed: str = "save",
    revision: int = 0,
    status: int = 200,
) -> str:
    fields = {"text": text, "deed": deed, "revision": revision}
    answer = client.post(PAGE, fields, follow=True)
    assert answer.status_code == status
    return words(answer.content.decode())


def call(client: Client, method: str, url: str, status: int = 200, **body: Any) -> Any:
    answer = client.generic(method, url, json.dumps(body), "application/json")
    assert answer.status_code == status, answer.content
    return answer.json()


def test_rules_are_written_tried_out_and_switched_on(ada: Client) -> None:
    assert "No queue has rules." in look(ada, LIST)
    assert "DLQ…" in look(ada, LIST)

    tried = send(ada, RETRY, deed="check")
    assert "What these rules, not saved yet, would do now" in tried
    assert "1 line 1 RETRY 1 to orders 1 1 1 such as" in tried
    assert not RuleTable.objects.exists()

    assert "are saved, as revision 1." in send(ada, RETRY)
    assert "off" in look(ada, LIST)
    said = ada.post(MODE, {"mode": "active"}, follow=True).content.decode()
    assert "DLQ: Act." in words(said)
    assert "it acts with the authority of administrator" in words(said)

    rules.run(RuleTable.objects.get().pk)

    done = look(ada, PAGE)
    assert re.search(r"Rule 1, RETRY to orders: 1 of 1 done · operation \d+", done)
    assert "0 dead letters here." in done
    assert not dead_letters.letters(ALL)


def test_faults_stand_in_their_lines_and_what_was_typed_is_kept(ada: Client) -> None:
    text = "ACTION(IGNORE)\nREASON(MQRC_Q_FUL) ACTION(JUMP)\n"

    answer = ada.post(PAGE, {"text": text, "deed": "save", "revision": 0})

    html = answer.content.decode()
    assert answer.status_code == 422
    assert "2 places cannot be read." in words(html)
    assert "Line 2, column 8: REASON is a number up to" in words(html)
    assert "Line 2, column 27: ACTION is DISCARD, IGNORE, RETRY or FWD." in words(html)
    assert re.search(r'REASON\(</bdi><mark class="fault-at"><bdi>M</bdi></mark>', html)
    assert "ACTION(JUMP)\n</textarea>" in html
    assert not RuleTable.objects.exists()


def test_hostile_rules_stay_text(ada: Client) -> None:
    send(ada, f"* {EVIL}\nPROPERTY('a={EVIL.replace(chr(39), '')}') ACTION(IGNORE)")
    for html in (ada.get(PAGE), ada.post(PAGE, {"text": EVIL, "deed": "check"})):
        assert "<script>alert" not in html.content.decode()


def test_changed_rules_are_observed_until_somebody_lets_them_act(ada: Client) -> None:
    send(ada, RETRY)
    ada.post(MODE, {"mode": "active"})

    said = send(ada, "ACTION(IGNORE)", revision=1)

    assert "They are only observed now" in said
    assert RuleTable.objects.get().mode == rules.Mode.OBSERVE


def test_who_comes_too_late_is_told(ada: Client) -> None:
    send(ada, RETRY)
    said = send(ada, "ACTION(DISCARD)", revision=0, status=409)
    assert "Somebody else saved the rules of DLQ meanwhile" in said
    assert RuleTable.objects.get().text == RETRY


def test_shadowed_rules_and_rules_without_letters_are_told(ada: Client) -> None:
    text = "ACTION(RETRY)\nDESTQ('orders') ACTION(DISCARD)\nREASON(9) ACTION(IGNORE)"
    said = send(ada, text, deed="check")
    assert said.count("Rule 1 matches all letters that this rule matches") == 2
    said = send(ada, "REASON(9) ACTION(IGNORE)", deed="check")
    assert "Matches no letter on the queue." in said
    assert "1 matches no rule." in said


def test_a_table_is_exported_as_ibm_mq_reads_it(ada: Client) -> None:
    send(ada, "* for people\ndestq('orders')   action(retry)\n")
    answer = ada.get(EXPORT)
    assert answer.content.decode() == "DESTQ('orders') ACTION(RETRY)\n"
    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    assert answer["Content-Disposition"].startswith("attachment")


@pytest.mark.parametrize("role", ["viewer", "operator"])
def test_only_administrators_write_rules(sign_in: SignIn, role: str) -> None:
    rules.save("DLQ", RETRY, make_user("ada"))
    client = sign_in(role)

    assert "Users with the role administrator may change them" in look(client, PAGE)
    assert client.post(PAGE, {"text": "", "deed": "save"}).status_code == 403
    assert client.post(MODE, {"mode": "active"}).status_code == 403
    assert call(client, "PUT", API, 403, text=RETRY)["code"] == "not-permitted"
    assert call(client, "POST", f"{API}/mode", 403, mode="active")
    assert RuleTable.objects.get().mode == rules.Mode.OFF


def test_rules_of_a_queue_that_one_may_not_see_are_hidden(client: Client) -> None:
    rules.save("DLQ", RETRY, make_user("ada"))
    everything = tuple(roles.ROLES["administrator"])
    omar = make_user("omar", permissions=everything, pattern="orders")
    client.force_login(omar)

    assert "No queue has rules." in look(client, LIST)
    urls = (PAGE, EXPORT, API, f"{API}/passes")
    assert [client.get(url).status_code for url in urls] == [404] * 4
    assert client.post(MODE, {"mode": "active"}).status_code == 404
    assert call(client, "PUT", API, 404, text=RETRY)["code"] == "not-found"
    assert call(client, "POST", f"{API}/preview", 404)["code"] == "not-found"


def test_the_api_keeps_previews_and_switches_rules(ada: Client) -> None:
    assert call(ada, "GET", "/api/v1/dead-letter-rules") == {"tables": []}
    assert call(ada, "GET", API, 404)["code"] == "no-such-rules"
    kept = call(ada, "PUT", API, text=RETRY, revision=0)
    assert (kept["revision"], kept["mode"], kept["table"]) == (1, "off", RETRY)
    assert call(ada, "PUT", API, 409, text="ACTION(IGNORE)", revision=0)["code"] == (
        "rules-changed"
    )

    seen = call(ada, "POST", f"{API}/preview")
    assert seen["rules"][0]["targets"] == {"orders": 1}
    other = call(ada, "POST", f"{API}/preview", text="ACTION(IGNORE)")
    assert (other["rules"][0]["matched"], other["rules"][0]["acts"]) == (1, 0)

    assert call(ada, "POST", f"{API}/mode", mode="active")["acts_for"] == (
        "administrator"
    )
    rules.run(RuleTable.objects.get().pk)
    (one,) = call(ada, "GET", f"{API}/passes")["passes"]
    assert one["deeds"][0]["done"] == 1
    assert call(ada, "GET", f"{API}/passes?after={one['id']}")["passes"] == []
    assert len(call(ada, "GET", "/api/v1/dead-letter-rules")["tables"]) == 1


def test_commands_preview_save_and_print_rules(ada: Client, tmp_path: Path) -> None:
    file = tmp_path / "rules.txt"
    file.write_text(RETRY)
    assert refused("rules", "list")[0] == 3
    assert refused("rules", "show", "DLQ")[0] == 1

    (rule,) = told("rules", "preview", "DLQ", file)["rules"]
    told("rules", "save", "DLQ", file, "--user", "administrator")

    assert (rule["matched"], rule["targets"]) == (1, {"orders": 1})
    assert told("rules", "preview", "DLQ")["rules"] == [rule]
    assert [one["queue"] for one in told("rules", "list")["tables"]] == ["DLQ"]
    assert run("rules", "show", "DLQ").strip() == RETRY.strip()
    assert refused("rules", "passes", "DLQ")[0] == 3


def test_the_api_tells_every_fault_with_its_place(ada: Client) -> None:
    answer = call(ada, "PUT", API, 400, text="ACTION(JUMP)\nFOO(1)\n")

    assert answer["code"] == "invalid-rules"
    assert [one["where"] for one in answer["errors"]] == [
        ["text", 1, 8],
        ["text", 2, 1],
    ]
    call(ada, "PUT", "/api/v1/queues/NONE/dead-letter-rules", 404, text=RETRY)


def test_what_rules_did_has_pages(ada: Client) -> None:
    make_queue("bills")
    send(ada, RETRY)
    table, now = RuleTable.objects.get(), dead_letters.letters(ALL)[0].died_at
    RulePass.objects.bulk_create(
        RulePass(
            table=table, mode="observe", revision=1, began_at=now, looked_at=1, deeds=[]
        )
        for _ in range(25)
    )
    html = ada.get(PAGE).content.decode()
    link = re.search(r'href="([^"]*)" rel="next"', html)
    assert link
    rest = ada.get(PAGE + link[1].replace("&amp;", "&")).content.decode()
    assert "5 shown" in words(rest)
    assert User.objects.exists()
