"""A file that is of no form, or of another, is refused with what to do."""

from __future__ import annotations

import json

import pytest

from broker.declarations.converters import FORMS, convert, read
from broker.errors.settings import WrongSettings
from tests.broker.bridges.config.jmsbridge_documents import DOCUMENT
from tests.broker.declarations.test_activemq import WHOLE as ACTIVEMQ
from tests.broker.declarations.test_converters import ARTEMIS, MQSC, RABBITMQ

POM = """<?xml version="1.0"?><!-- a build --><!DOCTYPE project>
<project xmlns="http://maven.apache.org/POM/4.0.0"><name>shop</name></project>"""
SETTINGS = '{"format": "backout-address-settings", "version": 1, "settings": []}'
OF_A_FORM = {
    "rabbitmq": json.dumps(RABBITMQ),
    "artemis": ARTEMIS,
    "activemq": ACTIVEMQ,
    "mqsc": MQSC,
}
STRANGERS = {
    "": "It is empty.",
    " \n\t": "It is empty.",
    POM: "It is XML, and its root is <project>.",
    DOCUMENT: "`backout bridge import`",
    SETTINGS: "`backout settings import`",
    "[1, 2]": "It is JSON, and no object.",
    '{"name": "shop"}': 'It is JSON, with "name".',
    "#!/bin/sh\necho hello\n": "It begins with '#!/bin/sh': it is neither XML nor",
    "$ cat broker.xml\n<core/>": "It begins with '$ cat broker.xml':",
    "* only a comment\n": "and has no command of MQSC.",
    "<!-- <core/> -->": "It is XML without an element, unless in a comment.",
    "[queues.orders]\nmax_depth = 5\n": "`backout apply`",
}


def test_there_is_a_file_of_each_form() -> None:
    assert set(OF_A_FORM) == set(FORMS)


@pytest.mark.parametrize("form", OF_A_FORM)
def test_all_that_is_made_has_its_place_in_the_file(form: str) -> None:
    found = read(form, OF_A_FORM[form].encode())

    assert found.declarations
    assert all(one.where for one in found.declarations)
    assert found.parts.counts.taken >= len(found.declarations)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("text", STRANGERS)
def test_a_file_of_no_form_is_refused(form: str, text: str) -> None:
    with pytest.raises(WrongSettings) as refusal:
        convert(form, text.encode(), source="file")

    assert STRANGERS[text] in str(refusal.value)
    assert str(refusal.value).startswith("This is no ")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("other", OF_A_FORM)
def test_a_file_of_another_form_is_refused_with_its_command(
    form: str, other: str
) -> None:
    if form == other:
        return
    with pytest.raises(WrongSettings) as refusal:
        convert(form, OF_A_FORM[other].encode(), source="file")

    assert f"`backout convert {other}`" in str(refusal.value)


def test_a_byte_order_mark_and_other_encodings() -> None:
    utf_16 = "DEFINE QLOCAL(A)".encode("utf-16")
    assert "[queues.A]" in convert("mqsc", utf_16, source="file")
    with pytest.raises(WrongSettings, match="iconv"):
        convert("mqsc", "DEFINE QLOCAL('é')".encode("latin-1"), source="file")
