"""The form of a new queue. A name is enough; its address is created with it."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.utils.translation import gettext_lazy

from broker.declarations import Declaration, advise, apply, one_at_a_time, plan
from broker.declarations.kinds import QUEUE
from broker.errors.settings import SettingsChanged, WrongSettings
from broker.models import Address, Queue
from broker.security import authorities
from console.accounts.declaring import require_rights

ADD = ("broker.add_queue", "broker.add_address")
# Attributes that the form shows only when the user opens “More”.
MORE = (
    *("routing_type", "max_depth", "backout_threshold", "backout_queue"),
    *("description", "contact", "runbook"),
)
TAKEN = gettext_lazy("This name is taken. Choose another.")


class NewQueueForm(forms.ModelForm):
    """A queue to create; attributes that are not here keep their defaults."""

    class Meta:
        model = Queue
        fields = ["name", *MORE]
        widgets = {
            "description": forms.Textarea(attrs={"rows": 2}),
            "backout_queue": forms.TextInput(attrs={"list": "queues"}),
        }
        help_texts = {
            "name": gettext_lazy(
                "For example orders or orders.eu: settings and rights apply to"
                " patterns of such names. Producers send to the address of the same"
                " name."
            ),
            "routing_type": gettext_lazy(
                "Of an address with several queues: whether each message goes to one"
                " of them or to all."
            ),
        }

    def __init__(self, said: Any = None) -> None:
        super().__init__(said)
        self.warnings: list[str] = []  # warnings about the queue that is created
        self.fields["name"].widget.attrs |= {"autofocus": True, "autocomplete": "off"}

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if Queue.objects.filter(name=name).exists():
            raise forms.ValidationError(TAKEN)
        return name

    @property
    def more(self) -> list[forms.BoundField]:
        return [self[name] for name in MORE]

    @property
    def has_more(self) -> bool:
        """Whether a field behind More was filled in, or has an error."""
        touched = {*self.changed_data, *self.errors} if self.is_bound else set()
        return not touched.isdisjoint(MORE)


def create(form: NewQueueForm, user: User) -> bool:
    """Create the queue of a valid form, and its address; False adds an error to it.

    Raises:
        PermissionDenied: the user may not create queues.
    """
    name = form.cleaned_data["name"]
    form.instance.address = Address(name=name)
    values = QUEUE.values_of(form.instance)
    chosen = {"address": name} | {one: values[one] for one in MORE}
    try:
        with one_at_a_time():
            wanted = plan([Declaration(QUEUE, (name,), chosen)])
            require_rights(user, wanted.changes)
            if not any(str(one) == f"create queue {name}" for one in wanted.changes):
                # the queue was created since the check
                raise SettingsChanged("definitions")
            form.warnings = [str(one) for one in advise(wanted)]
            apply(wanted, actor=authorities.name_of(user))
    except WrongSettings as error:
        form.add_error("name", error.why)
    except SettingsChanged:
        form.add_error("name", TAKEN)
    return form.is_valid()
