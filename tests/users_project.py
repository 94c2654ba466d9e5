"""A project of a user, with the tests that users write.

Environment variables vary its settings: see ``SETTINGS``.
"""

from __future__ import annotations

from django.core.management import call_command

from tests.installed import TREE, Project
from tests.installed_users import MODELS as PEOPLE
from tests.users_tests import CONFTEST, PYTEST, UNITTEST

PACKAGES = ("pytest", "pytest-django", "pytest-xdist", "django-tasks")

# The first block of the page about tests.
PAGE = (
    (TREE / "docs" / "testing.md").read_text().split("```python\n")[1].split("```")[0]
)
SETTINGS = """
import os

VARIED = os.environ.get("VARIED", "").split()
NAME = os.environ.get("DATABASE", "postgres")
WAREHOUSE = os.environ.get("WAREHOUSE", NAME)
INSTALLED_APPS += ["django.contrib.postgres", "broker", "trade", "stock"]
DATABASES = {
    alias: {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": name,
        "TEST": {"NAME": f"test_{NAME}_{alias}"},
    }
    for alias, name in {"default": NAME, "warehouse": WAREHOUSE}.items()
}
SECRET_KEY = "-" * 50
# As Django's documentation has it for serialized_rollback.
TEST_NON_SERIALIZED_APPS = ["django.contrib.contenttypes", "django.contrib.auth"]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
TASKS = {"default": {"BACKEND": "broker.client.django_tasks.BackoutBackend"}}
if "router" in VARIED:
    DATABASE_ROUTERS = ["shop.routers.Router"]
if "users" in VARIED:
    INSTALLED_APPS += ["people"]
    AUTH_USER_MODEL = "people.Person"
if "local" in VARIED:
    USE_TZ, TIME_ZONE = False, "America/New_York"
if "small" in VARIED:
    DEFAULT_AUTO_FIELD = "django.db.models.SmallAutoField"
if "schema" in VARIED:
    for one in DATABASES.values():
        one["OPTIONS"] = {"options": "-c search_path=trading"}
if "unmigrated" in VARIED:
    for one in DATABASES.values():
        one["TEST"]["MIGRATE"] = False
if "left_out" in VARIED:
    MIGRATION_MODULES = {"broker": None}
"""
ROUTER = """
class Router:
    def place(self, label):
        return "warehouse" if label == "stock" else "default"

    def db_for_read(self, model, **hints):
        return self.place(model._meta.app_label)

    db_for_write = db_for_read

    def allow_migrate(self, db, app_label, **hints):
        return db == self.place(app_label)
"""
SCHEMA = """
from django.core.management.commands.migrate import Command as Migrate
from django.db import connections


class Command(Migrate):  # a schema of the project's own, as its settings name it
    def handle(self, *args, **options):
        with connections[options["database"]].cursor() as cursor:
            cursor.execute("CREATE SCHEMA IF NOT EXISTS trading")
        return super().handle(*args, **options)
"""
MODELS = """
from django.conf import settings
from django.db import models


class Booking(models.Model):
    customer = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE)
    article = models.TextField()
    booked_at = models.DateTimeField(auto_now_add=True)
"""
STOCK = """
from django.db import models


class Item(models.Model):
    article = models.TextField()
"""
HANDLERS = """
import json

from django.contrib.auth import get_user_model
from django.db import transaction

from broker.client import put, consumes
from trade.models import Booking


@consumes("orders")
def book(delivery, work):
    order = json.loads(delivery.body)
    if order["article"] == "poison":
        raise ValueError("No such article: poison")
    customer = get_user_model().objects.get(pk=order["customer"])
    Booking.objects.create(customer=customer, article=order["article"])
    transaction.on_commit(lambda: put("invoices", delivery.body))


@consumes("invoices", join=False)
def invoice(delivery, work):
    work.put("mail", b"an invoice")
"""
TASKS = """
from django_tasks import task

from trade.models import Booking


@task
def cancel(booking_id):
    Booking.objects.get(pk=booking_id).delete()
    return "cancelled"
"""
QUEUES = """
from broker.client import declare_queue


def declare_queues(**_):
    declare_queue("orders", dead_letter_address="DLQ", max_delivery_attempts=2,
        redelivery_delay_ms=60_000)
    declare_queue("invoices")
    declare_queue("mail")
"""
URLS = """
import json

from django.db import transaction
from django.http import JsonResponse
from django.urls import path
from django.views.decorators.csrf import csrf_exempt

from broker.client import put


@csrf_exempt
@transaction.atomic
def order(request):
    put("orders", request.body, content_type="application/json")
    return JsonResponse({"ordered": True})


urlpatterns = [path("order/", order)]
"""


def create(project: Project) -> None:
    """Write the project into its folder."""
    folder = project.folder
    folder.mkdir()
    call_command("startproject", "shop", str(folder))
    with (folder / "shop" / "settings.py").open("a") as settings:
        settings.write(SETTINGS)
    files = {
        "shop/routers.py": ROUTER,
        "shop/urls.py": URLS,
        "people/models.py": PEOPLE,
        "stock/models.py": STOCK,
        "trade/models.py": MODELS,
        "trade/handlers.py": HANDLERS,
        "trade/tasks.py": TASKS,
        "trade/queues.py": QUEUES,
        "trade/management/commands/migrate.py": SCHEMA,
        "trade/tests.py": UNITTEST,
        "trade/test_pytest.py": PYTEST,
        "trade/test_page.py": PAGE,
        "conftest.py": CONFTEST,
    }
    for name, text in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if place.parent != folder:
            (place.parent / "__init__.py").touch()
        place.write_text(text)
    for app in ("people", "stock", "trade"):
        (folder / app / "migrations").mkdir()
        (folder / app / "migrations" / "__init__.py").touch()

    apps = ("people", "stock", "trade")
    project.run("makemigrations", *apps, "--verbosity=0", VARIED="users")
