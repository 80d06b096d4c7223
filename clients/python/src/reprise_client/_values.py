"""Durations, amounts of bytes, and how both are written."""

from __future__ import annotations

import re
from datetime import timedelta
from html import escape
from typing import Any, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

from .errors import ConfigurationError

#: Seconds, `"90s"`, `"5m"`, `"2h"`, `"1d"`, `"1h30m"`, or a timedelta.
Duration = Union[int, float, str, timedelta]
#: A number of bytes, or text such as `"512m"` and `"8g"`, in units of 1024.
Bytes = Union[int, str]

_UNITS = (("w", 604_800.0), ("d", 86_400.0), ("h", 3_600.0), ("m", 60.0), ("s", 1.0), ("ms", 0.001))
_DURATION = re.compile("".join(rf"(?:(\d+(?:\.\d+)?){unit})?" for unit, _ in _UNITS))
_BYTES = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?", re.IGNORECASE)


def seconds(given: Duration) -> float:
    """Returns a duration in seconds."""
    if isinstance(given, timedelta):
        return given.total_seconds()
    if isinstance(given, (int, float)) and not isinstance(given, bool):
        return given
    text = str(given).strip()
    if re.fullmatch(r"\d+(\.\d+)?", text):
        return float(text)
    match = _DURATION.fullmatch(text)
    if not match or not any(match.groups()):
        raise ConfigurationError(f"{given!r} is not a duration. Write 30, 90s, 5m, 2h, 1d or 1h30m.")
    total = sum(float(amount or 0) * unit for amount, (_, unit) in zip(match.groups(), _UNITS))
    return round(total, 6)


def optional_seconds(given: Optional[Duration]) -> Optional[float]:
    return None if given is None else seconds(given)


def byte_count(given: Bytes) -> int:
    """Returns an amount of memory in bytes."""
    if isinstance(given, int) and not isinstance(given, bool):
        return given
    match = _BYTES.fullmatch(str(given).strip())
    if not match:
        raise ConfigurationError(f"{given!r} is not an amount of bytes. Write a number, 512m or 8g.")
    return int(float(match[1]) * 1024.0 ** " kmgt".index(match[2].lower() or " "))


def words_of_seconds(total: float) -> str:
    """Returns a duration in words: `1h 5m`, `12s`."""
    whole = int(total)
    parts: List[str] = []
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)):
        amount, whole = divmod(whole, size)
        if amount:
            parts.append(f"{amount}{unit}")
    return " ".join(parts[:2]) or "0s"


def pairs(given: Optional[Mapping[str, str]], key: str) -> List[Mapping[str, str]]:
    return [{key: name, "value": str(value)} for name, value in (given or {}).items()]


def html_table(caption: str, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Returns a table for notebooks; all texts are escaped."""
    cells = "".join(f"<th>{escape(each)}</th>" for each in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape('' if each is None else str(each))}</td>" for each in row) + "</tr>"
        for row in rows
    )
    return f"<table><caption>{escape(caption)}</caption><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>"


def parse_share(given: Union[int, str]) -> Tuple[str, float]:
    """Parses a number of members such as 5, or a share such as `"5%"`, into the field of a group and its value."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(%?)", str(given).strip())
    if not match or (not match[2] and "." in match[1]):
        raise ConfigurationError(f'{given!r} is neither a number of members nor a share. Write 5 or "5%".')
    return ("max_failed_percent", float(match[1])) if match[2] else ("max_failed", int(match[1]))


def progress_html(name: str, done: int, failed: int, total: int, words: str) -> str:
    """Returns a line with a bar for notebooks."""
    share = 100 * done / total if total else 100
    return (
        f"<div><b>{escape(name)}</b> <progress value='{done}' max='{max(total, 1)}'></progress> "
        f"{share:.0f}% · {failed} failed · {escape(words)}</div>"
    )
