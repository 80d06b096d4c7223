"""Errors of the client. Each message ends with a sentence about what to do."""

from __future__ import annotations

from typing import Any, Dict, Mapping, NamedTuple, Optional, Sequence, Type


class Issue(NamedTuple):
    """One problem with an input."""

    path: str
    message: str


class RepriseError(Exception):
    """Base class of all errors of this client."""

    def __init__(self, code: str, message: str, *, request_id: Optional[str] = None, status: int = 0) -> None:
        super().__init__(message)
        #: The server's own code (docs/errors.md) if it responded, otherwise one of the client's.
        self.code = code
        #: Id under which the server's log has the details.
        self.request_id = request_id
        self.message = message
        #: HTTP status of the response; 0 without one.
        self.status = status

    def __str__(self) -> str:
        behind = f" (request {self.request_id})" if self.request_id and self.status >= 500 else ""
        return f"{self.code}: {self.message}{behind}"


class ConfigurationError(RepriseError):
    """Arguments, environment or profile are invalid, or no server is configured."""

    def __init__(self, message: str) -> None:
        super().__init__("CLIENT_CONFIGURATION", message)


class ValidationError(RepriseError):
    """The input is invalid; `issues` lists every problem with its path."""

    def __init__(self, code: str, message: str, issues: Sequence[Issue] = (), **details: Any) -> None:
        super().__init__(code, message, **details)
        self.issues = list(issues)


class NotFound(RepriseError):
    """The object does not exist, or you may not see it."""


class Conflict(RepriseError):
    """The key or the name belongs to something that was created with another input."""


class InvalidState(RepriseError):
    """The state of the object does not allow it."""


class Forbidden(RepriseError):
    """The token does not allow it, or there is no valid token."""


class QuotaExceeded(RepriseError):
    """A limit on how many may exist at once, or on requests, is reached."""


class ServerError(RepriseError):
    """The server, or a proxy in front of it, failed; its log has the details under `request_id`."""


class NotSupported(RepriseError):
    """The server is older than this client and lacks a feature."""


class Unreachable(RepriseError):
    """No complete response arrived. `may_have_arrived` is false if the request cannot have reached a server."""

    def __init__(self, code: str, message: str, *, may_have_arrived: bool) -> None:
        super().__init__(code, message)
        self.may_have_arrived = may_have_arrived


class WaitTimeout(RepriseError, TimeoutError):
    """The time given to `wait` is over. The work continues on the server."""

    def __init__(self, message: str) -> None:
        super().__init__("WAIT_TIMEOUT", message)


class DownloadError(RepriseError):
    """Outputs cannot be written, are damaged, or are missing."""

    def __init__(self, message: str) -> None:
        super().__init__("DOWNLOAD_FAILED", message)


class ChainFailed(RepriseError):
    """All attempts of a chain failed, or it was cancelled."""

    def __init__(
        self,
        message: str,
        *,
        chain_id: str,
        state: str,
        cause: Optional[str],
        exit_code: Optional[int],
        attempts: int,
        explanation: Optional[str],
        last_lines: Sequence[str],
    ) -> None:
        super().__init__("CHAIN_" + state, message)
        self.chain_id = chain_id
        #: FAILED or CANCELLED.
        self.state = state
        self.cause = cause
        self.exit_code = exit_code
        self.attempts = attempts
        #: What the server decided about a further retry, in words.
        self.explanation = explanation
        #: The end of the last attempt's output.
        self.last_lines = list(last_lines)


class RemoteError(RepriseError):
    """A function raised. `cause` is its exception, if that could be transferred; `traceback` is text."""

    def __init__(self, message: str, traceback: str, cause: Optional[BaseException] = None) -> None:
        super().__init__("FUNCTION_FAILED", message)
        self.traceback = traceback
        self.cause = cause

    def __str__(self) -> str:
        return f"{self.message}\n\nTraceback of the program:\n{self.traceback.rstrip()}"


_ADVICE = {
    "UNAUTHENTICATED": "Set REPRISE_TOKEN or give token=.",
    "FORBIDDEN": "Use a token with another role or project.",
    "CREATION_ID_REUSED": "Use another key, or run exactly the same input.",
    "CLIENT_KEY_REUSED": "Use another client_key, or repeat exactly the same request.",
    "QUOTA_EXCEEDED": "Try again when some work has ended, or ask for a larger quota.",
    "TOO_MANY_REQUESTS": "Send fewer requests at once.",
    "SESSION_NOT_FOUND": "Check the id, and the project of your token.",
    "GROUP_NOT_FOUND": "Check the key or id, and the project of your token.",
    "OUTPUTS_IN_PLACE": "Read the files where the program left them.",
}

_TYPES: Dict[str, Type[RepriseError]] = {
    "ValidationError": ValidationError,
    "NotFoundError": NotFound,
    "ConflictError": Conflict,
    "ForbiddenError": Forbidden,
    "QuotaExceededError": QuotaExceeded,
    "InvalidStateError": InvalidState,
    "InternalError": ServerError,
}


def error_of_problem(status: int, problem: Mapping[str, Any]) -> RepriseError:
    """Returns the error for a problem document of the server. An unknown code of a newer server keeps its type."""
    code = str(problem["code"])
    detail = str(problem.get("detail") or problem.get("title") or code)
    advice = _ADVICE.get(code)
    sentence = detail if detail.endswith((".", "!", "?")) else f"{detail}."
    message = f"{sentence} {advice}" if advice else sentence
    request_id = problem.get("request_id")
    kind = _TYPES.get(str(problem.get("title")), ServerError if status >= 500 else RepriseError)
    if kind is ValidationError:
        found = problem.get("issues") or ()
        issues = [Issue(str(each.get("path", "")), str(each.get("message", ""))) for each in found]
        return ValidationError(code, message, issues, request_id=request_id, status=status)
    return kind(code, message, request_id=request_id, status=status)
