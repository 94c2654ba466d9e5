"""The reference of the API: its parts, and the operations of one part."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from console.reference import document


@require_safe
def parts(request: HttpRequest) -> HttpResponse:
    """All operations in one table for each part; ``q`` is a part of their words."""
    wanted = request.GET.get("q", "").strip()
    found = [
        (part, [one for one in part.operations if has(one, wanted.lower())])
        for part in document.parts().values()
    ]
    context = {
        "parts": [(part, operations) for part, operations in found if operations],
        "wanted": wanted,
        "count": sum(len(operations) for _, operations in found),
    }
    return render(request, "console/reference/parts.html", context)


@require_safe
def part(request: HttpRequest, slug: str) -> HttpResponse:
    """The operations of one part, with their parameters, fields and answers."""
    found = document.parts().get(slug)
    if found is None:
        raise Http404(f"The API has no part {slug!r}.")
    return render(request, "console/reference/part.html", {"part": found})


def has(operation: document.Operation, words: str) -> bool:
    texts = (operation.name, operation.path, operation.summary)
    return (
        all(any(word in text.lower() for text in texts) for word in words.split())
        or words == operation.method.lower()
    )
