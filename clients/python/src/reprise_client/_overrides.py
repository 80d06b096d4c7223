"""Resources, and what a resubmission changes, as the server reads them."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional

from ._retry import RetryInput, policy_of
from ._values import Bytes, Duration, byte_count, optional_seconds


def override_fields(
    *,
    memory: Optional[Bytes] = None,
    cpus: Optional[float] = None,
    gpus: Optional[int] = None,
    timeout: Optional[Duration] = None,
    env: Optional[Mapping[str, str]] = None,
    retry: Optional[RetryInput] = None,
    **others: Any,
) -> Dict[str, Any]:
    """Returns the overrides of a resubmission for the server; other fields have the server's names."""
    slots = resource_slots(memory=memory, cpus=cpus)
    given = {
        "resource_slots": slots or None,
        "gpus": None if gpus is None else {"count": gpus},
        "batch_timeout": optional_seconds(timeout),
        "environ": [{"name": name, "value": str(value)} for name, value in (env or {}).items()] or None,
        "retry_policy": policy_of(retry),
    }
    return {**{name: value for name, value in given.items() if value is not None}, **others}


def resource_slots(
    *, memory: Optional[Bytes], cpus: Optional[float], slots: Optional[Mapping[str, Any]] = None
) -> List[Dict[str, str]]:
    amounts: Dict[str, Any] = dict(slots or {})
    if memory is not None:
        amounts["mem"] = byte_count(memory)
    if cpus is not None:
        amounts["cpu"] = cpus
    return [{"slot": slot, "amount": str(amount)} for slot, amount in amounts.items()]
