"""Functions that run on the server's agents."""

from __future__ import annotations

import uuid
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Dict,
    Generic,
    Iterable,
    Iterator,
    List,
    Mapping,
    Optional,
    Tuple,
    TypeVar,
    overload,
)

from ._calls import archives, command, dumps, name_of, outcome, outputs_with_result, retry_of
from ._client import default_client, session_input
from ._job import Job
from ._retry import RetryInput
from ._upload import Upload
from ._values import Duration
from ._waiting import wait_for
from .errors import ConfigurationError, WaitTimeout

if TYPE_CHECKING:
    from ._client import Client
    from ._group import Group

R = TypeVar("R")

#: Members that one request creates.
_MEMBERS_MAX = 10_000


class Call(Job):
    """A call of a function, which is a job."""

    def result(self, timeout: Optional[Duration] = None) -> Any:
        """Waits, and returns what the function returned, or raises what it raised, caused by the remote traceback."""
        ended, _ = wait_for(self._client, [self.id], timeout)
        if not ended:
            raise WaitTimeout(f"The call of {self.name} has not ended in time. It continues on the server: ask again.")
        value, error = outcome(self._client, ended[0])
        if error is not None:
            raise error
        return value


class Function(Generic[R]):
    """A function with the resources that each of its calls gets. Calling it runs it here; `submit` and `map`, there."""

    def __init__(self, function: Callable[..., R], client: Optional["Client"], options: Mapping[str, Any]) -> None:
        self._function = function
        self._client = client
        self._options = dict(options)
        self.__name__ = name_of(function)
        self.__doc__ = function.__doc__
        self.__wrapped__ = function

    def __call__(self, *args: Any, **kwargs: Any) -> R:
        return self._function(*args, **kwargs)

    def options(self, **changed: Any) -> "Function[R]":
        """Returns the same function with other options."""
        return Function(self._function, self._client, {**self._options, **changed})

    def submit(self, *args: Any, **kwargs: Any) -> Call:
        """Calls it once on the server and returns at once; `result()` waits."""
        client, spec, python, upload = self._prepare(self._options)
        packed = dumps((self._function, args, kwargs), self._function.__module__)
        for _, _, archive in archives([packed], None, upload):
            spec["code_sha256"] = client._send_code(archive)
        spec.update(command=command(python, "call", 0), creation_id=str(uuid.uuid4()))
        return Call(client, client._json("POST", "/v2/sessions", spec))

    def map(self, items: Iterable[Any], *, group: Optional[str] = None, **options: Any) -> "Group":
        """Calls it for each item, as a group; `group` is its key. Further options are those of `Client.array`."""
        return self._map([((item,), {}) for item in items], group, options)

    def starmap(self, items: Iterable[Tuple[Any, ...]], *, group: Optional[str] = None, **options: Any) -> "Group":
        """Calls it for each tuple of arguments, as a group."""
        return self._map([(tuple(item), {}) for item in items], group, options)

    def _map(
        self, calls: List[Tuple[Tuple[Any, ...], Dict[str, Any]]], group: Optional[str], given: Dict[str, Any]
    ) -> "Group":
        from ._group import create_group, group_options

        if not calls:
            raise ConfigurationError("There are no items to map the function to.")
        options = {**self._options, **given}
        settings = group_options(options)
        client, spec, python, upload = self._prepare(options)
        module = self._function.__module__
        packed = [dumps(call, module) for call in calls]

        def templates() -> Iterator[Tuple[Mapping[str, Any], str]]:
            for first, count, archive in archives(packed, dumps(self._function, module), upload):
                code = {"code_sha256": client._send_code(archive), "command": command(python, "array", first)}
                for begin in range(first, first + count, _MEMBERS_MAX):
                    end = min(begin + _MEMBERS_MAX, first + count) - 1
                    yield {**spec, **code}, f"{begin}-{end}"

        more = templates()
        template, indexes = next(more)
        settings["name"] = group or self.__name__
        return create_group(client, group or str(uuid.uuid4()), [template], indexes, settings, more=more)

    def _prepare(self, given: Mapping[str, Any]) -> Tuple["Client", Dict[str, Any], str, Optional[Upload]]:
        options = dict(given)
        client = options.pop("client", None) or self._client or default_client()
        python: str = options.pop("python", "python3")
        upload: Optional[Upload] = options.pop("upload", None)
        retry: Optional[RetryInput] = options.pop("retry", None)
        options.setdefault("name", self.__name__)
        options.setdefault("project", client.project)
        options["outputs"] = outputs_with_result(options.get("outputs"))
        spec = session_input(command(python, "call", 0), **options)
        policy = retry_of(retry)
        if policy is not None:
            spec["retry_policy"] = policy
        return client, spec, python, upload

    def __repr__(self) -> str:
        return f"<Function {self.__name__} {self._options}>"


@overload
def function(given: Callable[..., R]) -> Function[R]: ...


@overload
def function(*, client: Optional["Client"] = None, **options: Any) -> Callable[[Callable[..., R]], Function[R]]: ...


def function(given: Optional[Callable[..., Any]] = None, *, client: Optional["Client"] = None, **options: Any) -> Any:
    """Makes a function that runs on the server: `@rp.function(memory="2g", retry=3)`.

    Options are those of `session_input`, and `python`, the interpreter there; `upload`, files that it needs; `client`.
    """
    if given is not None:
        return Function(given, client, options)
    return lambda each: Function(each, client, options)
