"""Stack traces that are stored: the innermost frames, bounded, without values."""

from __future__ import annotations

from broker.formats.selectors.parsing import parse
from broker.formats.stack_trace import LONGEST, stack_trace


def raised(what: object) -> BaseException:
    try:
        what()  # type: ignore[operator]
    except BaseException as error:  # noqa: BLE001
        return error
    raise AssertionError("it should raise")


def deep(left: int, secret: str = "s3cret-4711") -> None:
    if not left:
        raise ValueError("no such customer")
    deep(left - 1, secret)


def test_it_has_the_frames_and_the_words_and_no_values() -> None:
    text = stack_trace(raised(lambda: deep(2)))

    assert text.startswith("Traceback (most recent call last):\n")
    assert text.count("in deep\n") == 3
    assert text.endswith("ValueError: no such customer\n")
    assert "s3cret-4711" not in text


def test_of_a_deep_stack_the_innermost_frames_are_kept() -> None:
    error = raised(lambda: deep(400))

    text = stack_trace(error)

    assert "  … 383 frames before\n" in text
    assert text.count("in deep\n") == 20
    assert "raise ValueError" in text


def test_frames_of_the_broker_that_the_application_called_are_kept() -> None:
    text = stack_trace(raised(lambda: parse("(")))

    assert "selectors/parsing.py" in text


def test_what_led_to_it_comes_first() -> None:
    def by_cause() -> None:
        try:
            deep(0)
        except ValueError as error:
            raise RuntimeError("the order failed") from error

    def by_context() -> None:
        try:
            deep(0)
        except ValueError:
            raise KeyError("c17")  # noqa: B904

    def hidden() -> None:
        try:
            deep(0)
        except ValueError:
            raise KeyError("c17") from None

    cause = stack_trace(raised(by_cause))
    assert cause.index("ValueError") < cause.index("direct cause") < cause.index("Runt")
    assert "During handling" in stack_trace(raised(by_context))
    assert "ValueError" not in stack_trace(raised(hidden))


def test_it_is_bounded_whatever_the_error_says() -> None:
    def loud() -> None:
        for _ in range(9):
            try:
                deep(30)
            except ValueError as error:
                raise RuntimeError("x\0\ud800" * 100_000) from error

    text = stack_trace(raised(loud))

    assert len(text) <= LONGEST
    assert "\0" not in text
    text.encode()
    assert ".loud\n" in text
