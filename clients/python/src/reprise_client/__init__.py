"""Client of Reprise, a server for compute sessions that retry themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._client import Client, Input, connect
from ._job import Attempt, Job, OutputFile
from ._retry import Retry, Rule, on
from ._version import __version__
from .errors import (
    ChainFailed,
    ConfigurationError,
    Conflict,
    DownloadError,
    Forbidden,
    InvalidState,
    Issue,
    NotFound,
    NotSupported,
    QuotaExceeded,
    RemoteError,
    RepriseError,
    ServerError,
    Unreachable,
    ValidationError,
    WaitTimeout,
)

if TYPE_CHECKING:
    from ._async import AsyncClient as AsyncClient
    from ._executor import Executor as Executor
    from ._function import Function as Function
    from ._function import function as function
    from ._group import Group as Group
    from ._group import Member as Member

_LATER = {
    "AsyncClient": "_async",
    "Executor": "_executor",
    "Function": "_function",
    "function": "_function",
    "Group": "_group",
    "Member": "_group",
}


def __getattr__(name: str) -> Any:
    """Imports what many programs do not need at its first use, so that the package itself is imported fast."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f".{_LATER[name]}", __name__), name)


__all__ = [
    "AsyncClient",
    "Attempt",
    "ChainFailed",
    "Client",
    "ConfigurationError",
    "Conflict",
    "DownloadError",
    "Executor",
    "Forbidden",
    "Function",
    "Group",
    "Input",
    "InvalidState",
    "Issue",
    "Job",
    "Member",
    "NotFound",
    "NotSupported",
    "OutputFile",
    "QuotaExceeded",
    "RemoteError",
    "RepriseError",
    "Retry",
    "Rule",
    "ServerError",
    "Unreachable",
    "ValidationError",
    "WaitTimeout",
    "__version__",
    "connect",
    "function",
    "on",
]
