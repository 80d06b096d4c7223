"""Calls of functions as uploaded code, and what comes back.

A pickle can run any program, so nothing is unpickled on the server. This client unpickles only results of work that it
sent itself or that belongs to its own project, each verified by the hash that the server recorded.
"""

from __future__ import annotations

import os
import pickle
import struct
import sys
from pkgutil import get_data
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from ._download import read_file
from ._retry import RetryInput, Rule, on, policy_of
from ._upload import Upload, pack_files
from ._waiting import are_settled, in_parallel
from .errors import ChainFailed, ConfigurationError, NotFound, RemoteError

if TYPE_CHECKING:
    from ._client import Client

_DIRECTORY = ".reprise-function"
_RESULTS = f"{_DIRECTORY}/results"
#: Calls beyond this size go into further archives; a server takes 64 MiB by default.
_ARCHIVE_BYTES_MAX = 32 * 1024 * 1024
#: Exit code of the runner where the function cannot run at all.
_UNUSABLE = 78


def dumps(value: Any, module: Optional[str] = None) -> bytes:
    """Pickles by value what is defined in the program, and in `module` unless that is an installed package."""
    try:
        import cloudpickle
    except ImportError as error:
        message = "Functions need cloudpickle: python3 -m pip install cloudpickle, or your distribution's package."
        raise ConfigurationError(message) from error
    own = sys.modules.get(module or "")
    by_value = own is not None and _is_own(own)
    if by_value:
        cloudpickle.register_pickle_by_value(own)
    try:
        packed: bytes = cloudpickle.dumps(value, protocol=5)
        return packed
    finally:
        if by_value:
            cloudpickle.unregister_pickle_by_value(own)


def _is_own(module: Any) -> bool:
    """Whether a module is a file of the user, and not of an installed package."""
    path = getattr(module, "__file__", None)
    if module.__name__ == "__main__" or not path:
        return False
    places = [os.path.dirname(os.__file__), "site-packages", "dist-packages"]
    return not any(place in os.path.realpath(path) for place in places)


def archives(
    calls: Sequence[bytes], function: Optional[bytes], upload: Optional[Upload]
) -> Iterator[Tuple[int, int, bytes]]:
    """Yields the first call, the number of calls and the archive of each part."""
    first = 0
    while first < len(calls):
        count, size = 0, 0
        while first + count < len(calls) and (count == 0 or size + len(calls[first + count]) <= _ARCHIVE_BYTES_MAX):
            size += len(calls[first + count])
            count += 1
        yield first, count, pack_files(upload, _files(calls[first : first + count], function))
        first += count


def _files(calls: Sequence[bytes], function: Optional[bytes]) -> Dict[str, bytes]:
    offsets: List[int] = [8 * (len(calls) + 1)]
    for call in calls:
        offsets.append(offsets[-1] + len(call))
    files = {
        "calls.bin": struct.pack(f"<{len(offsets)}Q", *offsets) + b"".join(calls),
        "python": b"%d.%d\n" % sys.version_info[:2],
        "run.py": get_data("reprise_client", "_runner.py") or b"",
    }
    if function is not None:
        files["function.pkl"] = function
    return {f"{_DIRECTORY}/{name}": content for name, content in files.items()}


def command(python: str, kind: str, number: int) -> List[str]:
    return [os.path.expanduser(python), f"{_DIRECTORY}/run.py", kind, str(number)]


def outputs_with_result(given: Union[None, str, Sequence[str]]) -> List[str]:
    """Returns the patterns of outputs, with that of the result."""
    return [f"{_RESULTS}/*", *([given] if isinstance(given, str) else given or ())]


def retry_of(given: Optional[RetryInput]) -> Optional[Dict[str, Any]]:
    """The policy for calls: one that cannot run on this interpreter is not retried."""
    rules: Sequence[Rule] = [on(exit=_UNUSABLE).fail()]
    return policy_of(given, rules)


def name_of(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


#: The value that a call returned, or its exception.
Outcome = Tuple[Any, Optional[BaseException]]


def outcome(client: "Client", end: Mapping[str, Any]) -> Outcome:
    """Returns the outcome of an ended call. `end` is that of a chain, as the server lists it."""
    return outcomes(client, [end])[0]


def outcomes(client: "Client", ends: Sequence[Mapping[str, Any]]) -> List[Outcome]:
    """Returns the outcomes of ended calls, in their order. Waits for results that have not arrived, with one stream."""
    found: Dict[str, Outcome] = {}

    def take(batch: Sequence[Mapping[str, Any]], is_settled: Callable[[str], bool]) -> None:
        made = in_parallel(lambda end: _outcome(client, end, is_settled), batch)
        found.update((str(end["chain_id"]), each) for end, each in zip(batch, made) if each is not None)

    take(ends, lambda _: False)
    waiting = {str(end["newest_session_id"]): end for end in ends if str(end["chain_id"]) not in found}
    if waiting:
        query = {"types": "session.outputs_complete", "project": client.project}
        if len(ends) == 1:
            query["chain_id"] = str(ends[0]["chain_id"])
        for event in client._transport.events("/v2/events", query, feature="streams of events"):
            if event is None:
                take(list(waiting.values()), lambda session_id: are_settled(client, session_id))
                waiting = {key: end for key, end in waiting.items() if str(end["chain_id"]) not in found}
            elif event.data is not None:
                end = waiting.pop(str(event.data["data"]["session_id"]), None)
                take([] if end is None else [end], lambda _: True)
            if not waiting:
                break
    return [found[str(end["chain_id"])] for end in ends]


def _outcome(client: "Client", end: Mapping[str, Any], is_settled: Callable[[str], bool]) -> Optional[Outcome]:
    """Returns the outcome of a call; None while its outputs are not settled."""
    session_id = str(end["newest_session_id"])
    name = {"SUCCEEDED": "result.pkl", "FAILED": "traceback.txt"}.get(str(end["state"]))
    try:
        if name is None:
            return None, _chain_failed(end)
        try:
            content = _read(client, session_id, name)
        except NotFound as missing:
            if not is_settled(session_id):
                return None
            try:
                content = _read(client, session_id, name)
            except NotFound:
                return None, (missing if name == "result.pkl" else _chain_failed(end))
        if name == "result.pkl":
            return pickle.loads(content), None
        return None, _raised(client, session_id, content.decode("utf-8", "replace"))
    except Exception as error:
        return None, error


def _chain_failed(end: Mapping[str, Any]) -> ChainFailed:
    exit_code, explanation = end.get("exit_code"), end.get("reason")
    said = "" if exit_code is None else f", exit code {exit_code}"
    message = f"The call is {end['state']} after {end.get('attempts')} attempts ({end.get('cause')}{said})."
    return ChainFailed(
        message + (f" The server says: {explanation}." if explanation else ""),
        chain_id=str(end["chain_id"]),
        state=str(end["state"]),
        cause=end.get("cause"),
        exit_code=exit_code,
        attempts=int(end.get("attempts") or 0),
        explanation=explanation,
        last_lines=[],
    )


def _raised(client: "Client", session_id: str, text: str) -> BaseException:
    """Returns the exception of the program, whose cause is the remote traceback."""
    last = text.strip().splitlines()[-1] if text.strip() else "the program failed"
    remote = RemoteError(last, text)
    try:
        error = pickle.loads(_read(client, session_id, "error.pkl"))
    except NotFound:
        return remote
    except Exception:  # Its class may need a package that is not installed here.
        return remote
    if not isinstance(error, BaseException):
        return remote
    error.__cause__ = remote
    return error


def _read(client: "Client", session_id: str, name: str) -> bytes:
    return read_file(client._transport, session_id, f"{_RESULTS}/{name}")
