"""Unique names across queues, aliases, model queues and addresses."""

from __future__ import annotations

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import Model

from broker.models import Address, ModelQueue, Queue, QueueAlias

MEANT_BY: dict[
    type[Model], tuple[type[Model], ...]
] = {  # the models whose names must differ from names of each model
    Address: (Address, QueueAlias),
    ModelQueue: (ModelQueue, Queue, QueueAlias),
    Queue: (Queue, QueueAlias, ModelQueue),
    QueueAlias: (QueueAlias, Queue, ModelQueue, Address),
}


class NamedForm(forms.ModelForm):
    """Refuses a name that is taken by another object.

    An address and a queue may have the same name, as an address with one queue usually
    has.
    """

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        own = type(self.instance)
        for model in MEANT_BY[own]:
            others = model._default_manager.filter(name=name)
            if model is own:
                others = others.exclude(pk=self.instance.pk)
            if others.exists():
                raise ValidationError(
                    f"{name} is the name of another {model._meta.verbose_name}"
                    " already. Choose another name."
                )
        return name
