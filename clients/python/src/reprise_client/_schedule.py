"""When requests are repeated: the schedule of the JavaScript client, as pure functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Optional, Tuple

#: Statuses that are retried if they have a Retry-After header, even if `statuses` does not list them.
_STATUSES_WITH_TIME = (413, 429, 503)


@dataclass(frozen=True)
class HttpRetry:
    """Retries after certain responses. There are 1 + `total` attempts; the first retry is at once."""

    total: int = 3
    backoff_factor: float = 0.5
    backoff_max: float = 120
    statuses: Tuple[int, ...] = (429, 500, 502, 503, 504)
    retry_after_max: float = 21_600


@dataclass(frozen=True)
class NetworkRetry:
    """Retries of operations without a response. Attempt n waits multiplier × 2^(n−1), from minimum to maximum."""

    multiplier: float = 1
    minimum: float = 1
    maximum: float = 10
    random: bool = False
    #: No attempt starts if this much time has passed since the first one. None: no limit.
    stop_after_seconds: Optional[float] = 60
    stop_after_attempts: Optional[int] = None


@dataclass(frozen=True)
class ReconnectRetry:
    """Reconnects of streams and long polls: between half and all of minimum × 2^(n−1), up to the maximum."""

    minimum: float = 0.25
    maximum: float = 10


def judge_answer(
    config: HttpRetry, status: int, retry_after: Optional[float], failures: int
) -> Tuple[str, Optional[float]]:
    """Returns ("return", None), ("raise", None) or ("retry", seconds) for a response to a repeatable request.

    `failures` counts responses that called for a retry, including this one.
    """
    has_time = retry_after is not None and status in _STATUSES_WITH_TIME
    if status not in config.statuses and not has_time:
        return "return", None
    if failures > config.total:
        return "raise", None
    asked = min(retry_after or 0, config.retry_after_max)
    if asked > 0:
        return "retry", asked
    if failures <= 1:
        return "retry", 0
    return "retry", min(config.backoff_max, config.backoff_factor * 2 ** (failures - 1))


def parse_retry_after(header: Optional[str], now: float) -> Optional[float]:
    """Returns the seconds that a Retry-After header requests from `now` (Unix time); None if it is invalid."""
    text = (header or "").strip()
    if not text:
        return None
    if text.isascii() and text.isdigit():
        return float(text)
    from email.utils import parsedate_to_datetime

    try:
        moment = parsedate_to_datetime(text).timestamp()
    except (TypeError, ValueError, IndexError):
        return None
    return max(0.0, moment - now)


def next_attempt_delay(
    config: NetworkRetry, failed: int, elapsed: float, random: Callable[[], float]
) -> Optional[float]:
    """Returns the seconds to wait after attempt number `failed` has failed, or None if that was the last one."""
    if config.stop_after_seconds is not None and elapsed >= config.stop_after_seconds:
        return None
    if config.stop_after_attempts is not None and failed >= config.stop_after_attempts:
        return None
    grown = min(config.maximum, config.multiplier * 2 ** (failed - 1))
    delay = max(config.minimum, grown)
    return float(config.minimum + random() * (delay - config.minimum) if config.random else delay)


def reconnect_delay(config: ReconnectRetry, failed: int, random: Callable[[], float]) -> float:
    """Returns the seconds before connection attempt `failed` + 1; random, so that not all clients return at once."""
    grown = min(config.maximum, config.minimum * 2 ** min(failed - 1, 30))
    return float(grown * (0.5 + random() / 2))
