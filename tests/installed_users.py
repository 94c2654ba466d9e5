"""A user model of somebody else's project: an e-mail address is the name."""

from __future__ import annotations

from tests.installed import Project

MODELS = """
from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.models import PermissionsMixin
from django.db import models

from broker.client import put  # as a project's models may


class People(BaseUserManager):
    def create_user(self, email, password=None, **fields):
        person = self.model(email=email, **fields)
        person.set_password(password)
        person.save()
        return person

    def create_superuser(self, email, password=None):
        return self.create_user(email, password, is_staff=True, is_superuser=True)


class Person(AbstractBaseUser, PermissionsMixin):
    number = models.BigAutoField(primary_key=True)
    email = models.EmailField(unique=True, db_column="mail")
    is_staff = models.BooleanField(default=False)
    is_active = models.BooleanField(default=True)
    objects = People()
    USERNAME_FIELD = EMAIL_FIELD = "email"
"""
SETTINGS = """
INSTALLED_APPS += ["people"]
AUTH_USER_MODEL = "people.Person"
"""


def give_own_users(project: Project) -> None:
    """Let a new project have this model."""
    folder = project.folder / "people"
    (folder / "migrations").mkdir(parents=True)
    (folder / "__init__.py").touch()
    (folder / "migrations" / "__init__.py").touch()
    (folder / "models.py").write_text(MODELS)
    with (project.folder / "shop" / "settings.py").open("a") as written:
        written.write(SETTINGS)
    project.run("makemigrations", "people", "--verbosity=0")
