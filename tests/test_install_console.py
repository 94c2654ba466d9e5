"""The console in somebody else's project, below a prefix, beside that project's admin.

The project is new, has a user model of its own, and ``backout init`` has changed it.
Nothing of this tree is on the path of its processes.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.cookiejar import CookieJar
from pathlib import Path
from threading import Timer
from time import monotonic, sleep
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode, urljoin, urlsplit
from urllib.request import HTTPCookieProcessor, Request, build_opener

import pytest
from django.conf import settings
from django.core.management import call_command
from selectolax.lexbor import LexborHTMLParser, LexborNode
from websockets.sync.client import ClientConnection, connect

from tests import installed
from tests.installed import TREE, Project, ended
from tests.installed_users import give_own_users

pytestmark = pytest.mark.thorough

PAGE = (TREE / "docs" / "install.md").read_text()
CHAPTER = PAGE.partition("## 5. ")[2].partition("\n## ")[0]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.M | re.S)
BROKER, *_ = BLOCK.findall(PAGE)
IN_SETTINGS, IN_URLS, IN_ASGI, LIVE = BLOCK.findall(CHAPTER)
DATABASE = f"ops_{os.getpid()}"
WITHIN_S = 20
ADA, PASSWORD = "ada@example.org", "correct horse battery"
LINKS = ("href", "src", "action", "formaction", "ws-connect", "data-url", "data-root")
NO_PAGES = ("export", "logout", "/file/", "/body/", "/data/", "openapi", "metrics")
MOST = 170  # pages
DEAD = f"""
from broker.client import put, unit_of_work
from broker.models import Address, AddressSetting, Queue
from broker.security import authorities, credentials
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
users = get_user_model().objects
users.create_superuser("{ADA}", password="{PASSWORD}")
omar = users.create_user("omar@example.org")
assert not authorities.may(omar, "get", "orders")
omar.groups.add(Group.objects.get(name="backout-operator"))
assert authorities.may(omar, "get", "orders")
_, secret = credentials.create("robot", omar)
assert credentials.bearer(secret).user == omar
for name in ("orders", "DLQ"):
    Queue.objects.create(name=name, address=Address.objects.create(name=name))
AddressSetting.objects.create(
    match="#", dead_letter_address="DLQ", max_delivery_attempts=1
)
put("orders", b"", content_type="application/json")
try:
    with unit_of_work() as work:
        work.get("orders")
        raise ValueError("no such customer")
except ValueError:
    pass
"""


@dataclass
class Browser:
    """A person's browser, without scripts."""

    site: str
    cookies: CookieJar = field(default_factory=CookieJar)

    def ask(self, path: str, data: dict[str, str] | None = None) -> Answer:
        sent = urlencode(data).encode() if data is not None else None
        request = Request(urljoin(self.site, path), sent, {"Referer": self.site})
        opener = build_opener(HTTPCookieProcessor(self.cookies))
        try:
            with opener.open(request, timeout=WITHIN_S) as answer:
                return Answer(answer.status, answer.url, answer.read().decode())
        except HTTPError as error:
            return Answer(error.code, str(error.url), error.read().decode())

    def choose(self, page: Answer, words: str) -> Answer:
        """Follow the link, or press the button, that begins with these words."""
        (one, *_) = [one for one in page.all("a[href], button") if says(one, words)]
        if one.tag == "a":
            return self.ask(urljoin(page.url, one.attributes["href"] or ""))
        form = one.attributes.get("form") or ""
        around = one.parent
        while not form and around is not None and around.tag != "form":
            around = around.parent
        found = page.all(f"form#{form}")[0] if form else around
        assert found is not None, words
        return self.send(page, found.attributes["action"] or "")

    def send(self, page: Answer, action: str, **values: str) -> Answer:
        """Send the form of a page that goes there, with its hidden fields."""
        (form, *_) = [
            one
            for one in page.all("form")
            if action in (one.attributes.get("action") or "")
        ]
        hidden = {
            str(one.attributes["name"]): one.attributes.get("value") or ""
            for one in form.css("input[name]")
            if one.attributes.get("type") not in ("checkbox", "radio")
        }
        return self.ask(form.attributes.get("action") or page.url, hidden | values)


def says(node: LexborNode, words: str) -> bool:
    """Whether a person reads these words first; a picture before them has none."""
    return " ".join(node.text().split()).startswith(words)


@dataclass(frozen=True)
class Answer:
    status: int
    url: str
    html: str

    @property
    def path(self) -> str:
        return urlsplit(self.url).path

    def all(self, selector: str) -> list[LexborNode]:
        return LexborHTMLParser(self.html).css(selector)

    def links(self) -> set[str]:
        """All addresses on this site that its attributes have."""
        found = {
            value
            for node in self.all("*")
            for name, value in node.attributes.items()
            if value and (name in LINKS or name.startswith("hx-"))
        }
        return {one for one in found if one.startswith("/")}


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python with the wheel and what the console needs."""
    place = tmp_path_factory.mktemp("console")
    wheel = installed.build(place)
    return installed.environment(place / "venv", wheel, ["console"])


@pytest.fixture(scope="module")
def project(
    python: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Project]:
    """A new project that has the broker; its database is empty."""
    installed.recreate(DATABASE)
    yield new_project(tmp_path_factory.mktemp("shop"), python)
    installed.recreate(DATABASE, create=False)


def new_project(folder: Path, python: Path) -> Project:
    call_command("startproject", "shop", str(folder))
    with (folder / "shop" / "settings.py").open("a") as written:
        written.write(BROKER.replace('"shop"', f'"{DATABASE}"'))
    made = Project(folder, python)
    give_own_users(made)
    return made


@pytest.fixture
def site(project: Project, unused_tcp_port: int) -> Iterator[str]:
    """The address of the project while it runs."""
    url = f"http://127.0.0.1:{unused_tcp_port}/"
    ended(project.script("init", "--yes"))
    with (project.folder / "shop" / "settings.py").open("a") as written:
        written.write(LIVE.replace("redis://localhost", f"{settings.REDIS_URL}?db=5"))
    project.run("migrate", "--verbosity=0")
    project.run("shell", "--verbosity=0", "-c", DEAD)
    port = ("--port", str(unused_tcp_port))
    running = project.manage("backout", "run", "--web", *port, "dispatcher")
    late = Timer(4 * WITHIN_S, running.kill)  # so that nothing is read for ever
    late.start()
    try:
        until_it_answers(url)
        yield url
    finally:
        running.send_signal(signal.SIGINT)
        said, _ = running.communicate()
        late.cancel()
    assert said.endswith("Everything is stopped.\n"), said
    assert "again in" not in said, f"a process ended by itself: {said}"


@pytest.mark.usefixtures("project")  # its database
def test_init_shows_what_it_changes_and_changes_it_once(
    python: Path, tmp_path: Path
) -> None:
    project = new_project(tmp_path, python)

    shown = ended(project.script("init", "--yes"))

    added = "".join(
        f"{line[1:]}\n"
        for line in shown.splitlines()
        if line.startswith("+") and not line.startswith("+++")
    )
    for block in (IN_SETTINGS, IN_URLS, IN_ASGI):
        assert block in added
    assert "+++ b/shop/settings.py" in shown
    assert ended(project.script("init", "--yes")) == "There is nothing to change.\n"
    assert ended(project.manage("backout", "init")) == "There is nothing to change.\n"
    assert project.run("makemigrations", "--check") == "No changes detected\n"
    with (project.folder / "shop" / "settings.py").open("a") as written:
        written.write('STATIC_ROOT = BASE_DIR / "collected"\n')
    project.run("collectstatic", "--noinput", "--verbosity=0")
    assert (project.folder / "collected/console/css/base.css").exists()


@pytest.mark.parametrize("name", ["broker", "console", "dashboards"])
@pytest.mark.usefixtures("project")  # its database
def test_init_refuses_a_project_with_a_package_of_that_name(
    python: Path, tmp_path: Path, name: str
) -> None:
    project = new_project(tmp_path, python)
    (project.folder / name).mkdir()
    before = (project.folder / "shop" / "settings.py").read_text()

    refused = project.script("init", "--yes")
    refused.communicate()

    assert refused.returncode == 1
    assert (project.folder / "shop" / "settings.py").read_text() == before


def test_what_celery_and_channels_load_for_redis_is_installed(
    project: Project,
) -> None:
    """They load it by name when they start, and do not declare all of it."""
    ended(project.start("-c", "import kombu.transport.redis, channels_redis.core"))


def test_one_signs_in_and_resubmits_a_dead_letter_below_the_prefix(site: str) -> None:
    ada = Browser(site)
    asked = ada.ask("/ops/dead/")
    assert asked.path == "/ops/accounts/login/"
    letters = ada.send(asked, "", username=ADA, password=PASSWORD)
    assert (letters.status, letters.path) == (200, "/ops/dead/")
    assert "no such customer" in letters.html

    plan = ada.send(letters, "/ops/dead/resubmit/")
    assert plan.path.startswith("/ops/operations/")
    with socket(ada) as live:
        assert total(live.recv(timeout=WITHIN_S)) == "0"
        assert ada.send(plan, "/start/").status == 200
        assert until(lambda: total(live.recv(timeout=WITHIN_S)) == "1")
    assert ada.ask("/ops/queues/orders/").all('[data-slot$="-ready"][value="1"]')

    pages = crawled(ada, "/ops/")
    wrong = {(one.path, one.status) for one in pages if one.status != 200}
    assert wrong == set()
    away = {
        (one.path, link)
        for one in pages
        for link in one.links()
        if not link.startswith(("/ops/", "/static/"))
    }
    assert away == set()
    assert {"/ops/queues/", "/ops/admin/", "/ops/messages/1/"} <= {
        one.path for one in pages
    }
    files = {one for page in pages for one in page.links() if "/static/" in one}
    assert {ada.ask(one).status for one in files} == {200}
    assert len(files) > 20

    outside(ada)


def socket(ada: Browser) -> ClientConnection:
    """The socket that pages open."""
    cookie = "; ".join(f"{one.name}={one.value}" for one in ada.cookies)
    url = f"{ada.site.replace('http', 'ws')}ops/ws/depths/"
    headers = {"Cookie": cookie, "Origin": ada.site.rstrip("/")}
    return connect(url, additional_headers=headers)


def total(numbers: str | bytes) -> str:
    """How many messages are ready on all queues together."""
    found = re.search(r'data-slot="ready" value="(\d+)"', str(numbers))
    return found[1] if found else ""


def outside(ada: Browser) -> None:
    """Pages of the project are as they were."""
    admin = ada.ask("/admin/")
    assert admin.status == 200
    assert "Django administration" in admin.html
    assert "Backout" not in admin.html
    stranger = Browser(ada.site)
    assert stranger.ask("/").status == 404
    assert stranger.ask("/admin/").path == "/admin/login/"
    assert stranger.ask("/ops/healthz").html == '{"alive": true}'
    left = ada.send(ada.ask("/ops/"), "/logout/")
    assert left.path == "/ops/accounts/login/"


def crawled(ada: Browser, first: str) -> list[Answer]:
    """The pages that links lead to, one of each kind."""
    left, seen = [first], {first}
    found: list[Answer] = []
    kinds: set[str] = set()
    while left and len(found) < MOST:
        page = ada.ask(left.pop(0))
        found.append(page)
        for link in sorted(one.attributes["href"] or "" for one in page.all("a[href]")):
            path = urljoin(page.url, link).partition("#")[0].removeprefix(ada.site)
            kind = re.sub(r"\d+|\?.*|(?<=reports/).*|(?<=docs/).*", "", path)
            is_page = not any(one in path for one in NO_PAGES)
            if path.startswith("ops/") and is_page and path not in seen:
                seen.add(path)
                if kind not in kinds:
                    left.append(f"/{path}")
                kinds.add(kind)
    return found


def until(is_so: Callable[[], bool]) -> bool:
    ends = monotonic() + WITHIN_S
    while monotonic() < ends:
        if is_so():
            return True
        sleep(0.1)
    return False


def until_it_answers(url: str) -> None:
    def answers() -> bool:
        try:
            return Browser(url).ask("/ops/healthz").status == 200
        except URLError:
            return False

    assert until(answers), "the project does not answer"
