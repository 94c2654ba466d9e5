"""Names that people give: one name means one thing."""

from __future__ import annotations

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import Model

from broker.models import Address, ModelQueue, Queue, QueueAlias

MEANT_BY: dict[
    type[Model], tuple[type[Model], ...]
] = {  # what can be meant where each of these is named
    Address: (Address, QueueAlias),
    ModelQueue: (ModelQueue, Queue, QueueAlias),
    Queue: (Queue, QueueAlias, ModelQueue),
    QueueAlias: (QueueAlias, Queue, ModelQueue, Address),
}


class NamedForm(forms.ModelForm):
    """Refuses a name that something else has already.

    An address and a queue may share one: an address with one queue mostly does.
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
