"""A body of very many lines does not make a page of megabytes."""

from __future__ import annotations

from broker.queueing.put import put
from tests.console.conftest import SignIn
from tests.console.test_messages import page, words
from tests.make import make_queue


def test_of_a_body_of_many_lines_the_first_are_shown_and_the_others_counted(
    sign_in: SignIn, db: None
) -> None:
    client = sign_in("operator")
    make_queue("orders")
    message_id = put("orders", b"\n" * 1_000_000).message_id

    html = page(client, message_id)

    assert len(html) < 300_000
    told = "The first 4,096 lines are shown; 995,904 more follow."
    assert told in words(html)
    assert "Download all 976.6 KiB" in words(html)
    assert "64 KiB" not in words(html)
    more = put("orders", b"\n" * 2**21).message_id
    told = "The first 4,096 lines are shown; at least 1,044,480 more follow."
    assert told in words(page(client, more))
