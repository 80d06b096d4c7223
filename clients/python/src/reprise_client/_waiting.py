"""Waiting for what happens on a server, for as long as it takes."""

from __future__ import annotations

import logging
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Callable, Iterator, List, Mapping, Optional, Sequence, Tuple, TypeVar

from ._transport import reconnect_seconds
from ._values import Duration, seconds
from .errors import NotFound, Unreachable

if TYPE_CHECKING:
    from ._client import Client

S = TypeVar("S")
T = TypeVar("T")
log = logging.getLogger("reprise_client")

#: A server holds a long poll for up to a minute; proxies cut silent requests after one.
POLL_SECONDS = 25.0
#: Requests that one answer needs are sent by this many threads; a server takes 16 at once of a token.
_AT_ONCE = 8
_SETTLED = ("COMPLETE", "PARTIAL", "LOST", "NONE", "EXPIRED")


def changes(client: "Client", chain_id: str) -> Iterator[None]:
    """Yields when a connection for the events of a chain begins, and after each event: what is read then is current."""
    for event in client._transport.events("/v2/events", {"chain_id": chain_id}, feature="streams of events"):
        if event is None or event.data is not None:
            yield None


def settled_outputs(client: "Client", chain_id: str, session_id: str) -> Tuple[str, Sequence[str]]:
    """Waits until the outputs of an attempt are settled; returns their state and the reasons for what is missing."""
    read = _read_outputs(client, session_id)
    if read[0] in _SETTLED:
        return read
    for _ in changes(client, chain_id):
        read = _read_outputs(client, session_id)
        if read[0] in _SETTLED:
            break
    return read


def are_settled(client: "Client", session_id: str) -> bool:
    """Whether the outputs of an attempt have arrived, or will not."""
    return _read_outputs(client, session_id)[0] in _SETTLED


def _read_outputs(client: "Client", session_id: str) -> Tuple[str, Sequence[str]]:
    try:
        read = client._json("GET", f"/v2/sessions/{session_id}/outputs", query={"limit": 1})
    except NotFound as error:
        if error.code != "OUTPUTS_NOT_FOUND":
            raise
        return "NONE", ["the attempt left no outputs"]
    return str(read["state"]), list(read["reasons"])


def wait_for(
    client: "Client", session_ids: Sequence[str], timeout: Optional[Duration], *, any_of: bool = False
) -> Tuple[List[Mapping[str, Any]], List[str]]:
    """Waits until the chains of all these sessions, or with `any_of` one of them, have ended.

    Returns the ends, and the ids that have not ended when the time is over. The request is repeated until a server
    answers: the work exists, however long its server is away.
    """
    deadline = None if timeout is None else time.monotonic() + seconds(timeout)
    failed = 0
    while True:
        left = POLL_SECONDS if deadline is None else max(0.0, min(POLL_SECONDS, deadline - time.monotonic()))
        body = {"session_ids": list(session_ids), "timeout": left, "any": any_of}
        try:
            read = client._json("POST", "/v2/sessions/wait", body, wait=left, feature="waiting for sessions")
        except Unreachable as error:
            if deadline is not None and time.monotonic() >= deadline:
                raise
            failed += 1
            log.warning("the server does not answer, still waiting: %s", error)
            time.sleep(reconnect_seconds(client._transport.reconnect, failed))
            continue
        failed = 0
        if not read["pending"] or (any_of and read["ended"]):
            return read["ended"], read["pending"]
        if deadline is not None and time.monotonic() >= deadline:
            return ([], read["pending"]) if not any_of else (read["ended"], read["pending"])


@contextmanager
def says_that_work_continues(what: str, how: str) -> Iterator[None]:
    """Ctrl-C ends only the waiting; the work continues, and this says so."""
    try:
        yield
    except KeyboardInterrupt:
        print(f"\n{what} continues on the server; {how} ends it.", file=sys.stderr)
        raise


def in_parallel(work: Callable[[S], T], items: Sequence[S]) -> List[T]:
    """Returns the results in the order of the items; the first failure ends it."""
    if len(items) <= 1:
        return [work(item) for item in items]
    with ThreadPoolExecutor(max_workers=min(_AT_ONCE, len(items))) as pool:
        futures = [pool.submit(work, item) for item in items]
        try:
            return [future.result() for future in futures]
        except BaseException:
            for future in futures:
                future.cancel()
            raise
