"""Unique names across queues, aliases, model queues and addresses."""

from __future__ import annotations

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext

from broker.config.names import other_of_name


class NamedForm(forms.ModelForm):
    """Refuses a name that is taken by another object."""

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        own = type(self.instance)
        other = other_of_name(own(pk=self.instance.pk, name=name))
        if other is not None:
            raise ValidationError(
                gettext(
                    "%(name)s is the name of another %(kind)s already. Choose another"
                    " name."
                )
                % {"name": name, "kind": other._meta.verbose_name}
            )
        return name
