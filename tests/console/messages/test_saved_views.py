"""Saved views: filters with a name, whose they are, and who opens them."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from broker.queueing.put import put
from console.messages import acts, saved_views
from console.models import SavedView
from tests.console.conftest import SignIn
from tests.console.layout.test_frame import INLINE
from tests.console.messages.finding import PAGE, filters_of, links, listed, page
from tests.console.messages.test_messages import words
from tests.make import make_queue, make_user

SAVE = reverse("console:save_view")
LOOKS = ("broker.view_queue",)


def save(client: Client, name: str, *filters: str, **fields: str) -> str:
    """What the page says after it."""
    answer = client.post(SAVE, {"name": name, "filter": filters, **fields}, follow=True)
    assert answer.status_code == 200
    return words(answer.content.decode())


def view_url(name: str, slug: str) -> str:
    return reverse(f"console:{name}", args=[slug])


@pytest.fixture
def vera(client: Client, db: None) -> Client:
    client.force_login(make_user("vera", permissions=LOOKS))
    return client


@pytest.fixture
def olga(db: None) -> Client:
    other = Client()
    other.force_login(make_user("olga", permissions=LOOKS, pattern="orders"))
    return other


def test_a_view_is_saved_listed_and_opened(vera: Client) -> None:
    assert "The view “Dead ones” is saved." in save(vera, "Dead ones", "is:dead", "row")

    html = page(vera, "state:dead", "row")
    (url,) = links(html, "Dead ones")
    assert url == "/views/dead-ones/"
    assert 'href="/views/dead-ones/" aria-current="page"' in html
    opened = vera.get(url)
    assert opened.status_code == 302
    assert filters_of(opened["Location"]) == ["state:dead", "row"]
    assert opened["Location"].startswith(PAGE)


def test_a_view_is_its_owner_s_until_it_is_shared(vera: Client, olga: Client) -> None:
    save(vera, "Mine", "state:dead")
    save(vera, "Ours", "state:ready", is_shared="on")

    assert not links(page(olga), "Mine")
    assert links(page(olga), "Ours by vera") == ["/views/ours/"]
    assert olga.get("/views/mine/").status_code == 404
    assert olga.get("/views/ours/").status_code == 302
    for name in ("edit_view", "delete_view"):
        assert olga.post(view_url(name, "ours"), {"name": "x"}).status_code == 404
    assert SavedView.objects.count() == 2


def test_who_opens_a_view_sees_what_they_may(vera: Client, olga: Client) -> None:
    make_queue("orders")
    make_queue("secret")
    own = put("orders").message_id
    put("secret")
    save(vera, "Everything", "queue:*", is_shared="on")

    html = olga.get("/views/everything/", follow=True).content.decode()
    assert listed(html) == [own]

    User.objects.filter(username="olga").update(is_superuser=False)
    make_user("nobody")
    stranger = Client()
    stranger.force_login(User.objects.get(username="nobody"))
    assert stranger.get("/views/everything/").status_code == 403


def test_a_view_of_bodies_is_refused_to_who_may_not_read_them(
    sign_in: SignIn, vera: Client
) -> None:
    reader = sign_in("operator")
    save(reader, "Bodies", "body:x", is_shared="on")
    vera.force_login(User.objects.get(username="vera"))

    answer = vera.get("/views/bodies/", follow=True)

    assert answer.status_code == 403
    assert "need the permission broker.browse_queue" in words(answer.content.decode())


def test_a_view_is_renamed_and_shared_and_keeps_its_url(vera: Client) -> None:
    save(vera, "Old", "state:dead")
    form = vera.get(view_url("edit_view", "old")).content.decode()
    assert 'value="Old"' in form
    assert 'name="is_shared" checked' not in form

    said = {"name": " New   name ", "is_shared": "on"}
    answer = vera.post(view_url("edit_view", "old"), said)

    assert answer["Location"] == "/views/old/"
    view = SavedView.objects.get()
    assert (view.name, view.slug, view.is_shared) == ("New name", "old", True)
    assert (view.filter, view.owner.username) == ("state:dead", "vera")


def test_a_view_is_deleted(vera: Client) -> None:
    save(vera, "Gone", "state:dead")
    assert vera.get(view_url("delete_view", "gone")).status_code == 405

    answer = vera.post(view_url("delete_view", "gone"), follow=True)

    assert "deleted. No message changed." in words(answer.content.decode())
    assert not SavedView.objects.exists()


def test_names_are_one_s_own_and_urls_everybody_s(vera: Client, olga: Client) -> None:
    save(vera, "Dead", "state:dead")
    assert "You have a view of this name." in save(vera, " Dead ", "state:ready")
    assert "Give the view a name." in save(vera, " ", "state:ready")
    save(olga, "Dead", "state:dead")
    save(olga, "死信", "state:dead", is_shared="on")

    slugs = SavedView.objects.order_by("pk").values_list("owner__username", "slug")
    assert list(slugs) == [("vera", "dead"), ("olga", "dead-2"), ("olga", "view")]
    renamed = olga.post(view_url("edit_view", "view"), {"name": "Dead"})
    assert renamed.status_code == 422
    assert 'aria-invalid="true"' in renamed.content.decode()


def test_nobody_has_more_views_than_there_is_room_for(
    vera: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acts, "MOST", 1)
    save(vera, "One", "state:dead")
    assert "You have 1 views. Delete one first." in save(vera, "Two", "state:dead")


def test_one_s_own_views_come_first_however_many_others_share(
    vera: Client, olga: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saved_views, "SHOWN", 1)
    save(olga, "A", "state:dead", is_shared="on")
    save(olga, "B", "state:dead", is_shared="on")
    save(vera, "Z", "state:dead")

    shown = saved_views.views_of(User.objects.get(username="vera"))

    assert [view.name for view in shown] == ["Z", "A"]


def test_what_cannot_be_read_is_not_saved(vera: Client) -> None:
    answer = vera.post(SAVE, {"name": "x", "filter": "queu:x"})
    assert answer.status_code == 400
    assert not SavedView.objects.exists()


def test_a_view_whose_words_were_lost_says_which(vera: Client) -> None:
    owner = User.objects.get(username="vera")
    SavedView.objects.create(owner=owner, name="Old", slug="old", filter="colour:red")

    answer = vera.get("/views/old/", follow=True)

    assert answer.status_code == 400
    assert "there is no key colour" in words(answer.content.decode())


def test_a_hostile_name_is_shown_for_what_it_is(vera: Client) -> None:
    save(vera, '<script>"\u202e', "state:dead", is_shared="on")
    form = vera.get(view_url("edit_view", "script")).content.decode()
    for html in (page(vera), form):
        assert "<script>&" not in html
        assert "[U+202E]" in html
        assert not INLINE.search(html)


def test_only_forms_of_this_site_save(vera: Client) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(User.objects.get(username="vera"))
    assert strict.post(SAVE, {"name": "x", "filter": "state:dead"}).status_code == 403
    assert not SavedView.objects.exists()
