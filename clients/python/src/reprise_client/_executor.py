"""An executor of the standard library's kind, on which joblib, dask and asyncio sit."""

from __future__ import annotations

import queue
import threading
import time
import uuid
from concurrent.futures import Executor as StandardExecutor
from concurrent.futures import Future, InvalidStateError, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Set, TypeVar

from ._calls import archives, command, dumps, name_of, outcome, outputs_with_result, retry_of
from ._client import session_input
from ._retry import RetryInput
from ._upload import Upload
from ._waiting import POLL_SECONDS, says_that_work_continues, wait_for
from .errors import RepriseError, error_of_problem

if TYPE_CHECKING:
    from ._client import Client

T = TypeVar("T")

_BATCH_MAX = 500
#: How long a batch waits for further calls.
_BATCH_SECONDS = 0.02
_WAIT_IDS_MAX = 1000
_WAITERS_MAX = 4
_READERS = 8
#: Ends that come close together are read together.
_PACE_SECONDS = 0.05


class _Pending(NamedTuple):
    future: "RemoteFuture"
    packed: bytes
    name: str


class RemoteFuture(Future):  # type: ignore[type-arg]
    """The result of a call. Cancelling it ends the call on the server, too."""

    def __init__(self, client: "Client") -> None:
        super().__init__()
        self._client = client
        #: Id of the job, once the server has it.
        self.job_id: Optional[str] = None

    def cancel(self) -> bool:
        cancelled = super().cancel()
        if cancelled and self.job_id is not None:
            self.set_running_or_notify_cancel()
            _end(self._client, self.job_id)
        return cancelled


class Executor(StandardExecutor):
    """Runs calls as jobs: `with rp.Executor(client, memory="1g") as executor: executor.submit(pow, 2, 10)`.

    Calls are sent in batches. Options are those of `session_input`, and `python` and `upload` as for functions.
    """

    def __init__(
        self,
        client: "Client",
        *,
        python: str = "python3",
        upload: Optional[Upload] = None,
        retry: Optional[RetryInput] = None,
        **options: Any,
    ) -> None:
        self._client = client
        self._python = python
        self._upload = upload
        options.setdefault("project", client.project)
        options["outputs"] = outputs_with_result(options.get("outputs"))
        self._spec = session_input(command(python, "call", 0), **options)
        policy = retry_of(retry)
        if policy is not None:
            self._spec["retry_policy"] = policy
        self._lock = threading.Lock()
        self._unsent: "queue.SimpleQueue[Optional[_Pending]]" = queue.SimpleQueue()
        self._futures: Set[RemoteFuture] = set()
        #: Calls on the server for which no waiter asks at the moment, by the ids of their chains.
        self._unwatched: Dict[str, RemoteFuture] = {}
        self._waiters = 0
        self._readers = ThreadPoolExecutor(max_workers=_READERS, thread_name_prefix="reprise-results")
        self._sender: Optional[threading.Thread] = None
        self._is_shut = False

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> "Future[T]":
        """Sends a call soon, together with others, and returns its future at once."""
        packed = dumps((fn, args, kwargs), getattr(fn, "__module__", None))
        future = RemoteFuture(self._client)
        with self._lock:
            if self._is_shut:
                raise RuntimeError("the executor has been shut down")
            self._futures.add(future)
            if self._sender is None:
                self._sender = threading.Thread(target=self._send, name="reprise-submissions", daemon=True)
                self._sender.start()
        future.add_done_callback(self._forget)
        self._unsent.put(_Pending(future, packed, name_of(fn)))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Takes no more calls. With `wait`, returns when all have ended; Ctrl-C leaves them running."""
        with self._lock:
            first = not self._is_shut
            self._is_shut = True
            left = list(self._futures)
        if cancel_futures:
            for future in left:
                future.cancel()
        if first:
            self._unsent.put(None)
        if wait:
            with says_that_work_continues(f"{len(left)} calls", "job.cancel()"):
                _wait(left)
            self._readers.shutdown(wait=True)

    def __exit__(self, kind: Optional[type], *_: Any) -> Optional[bool]:
        self.shutdown(wait=kind is None or not issubclass(kind, KeyboardInterrupt))
        return None

    def _forget(self, future: Any) -> None:
        with self._lock:
            self._futures.discard(future)

    def _send(self) -> None:
        """Sends calls in batches, in a thread of its own, until the executor is shut down."""
        more = True
        while more:
            batch: List[_Pending] = []
            first = self._unsent.get()
            more = first is not None
            if first is not None:
                batch.append(first)
            while more and len(batch) < _BATCH_MAX:
                try:
                    item = self._unsent.get(timeout=_BATCH_SECONDS)
                except queue.Empty:
                    break
                more = item is not None
                if item is not None:
                    batch.append(item)
            alive = [each for each in batch if not each.future.cancelled()]
            if alive:
                try:
                    self._send_batch(alive)
                except BaseException as error:
                    for each in alive:
                        _fail(each.future, error)

    def _send_batch(self, batch: List[_Pending]) -> None:
        sent: Dict[str, RemoteFuture] = {}
        for first, count, archive in archives([each.packed for each in batch], None, self._upload):
            code = self._client._send_code(archive)
            part = batch[first : first + count]
            sessions = [
                {
                    "name": each.name,
                    **self._spec,
                    "code_sha256": code,
                    "command": command(self._python, "call", at),
                    "creation_id": str(uuid.uuid4()),
                }
                for at, each in enumerate(part)
            ]
            made = self._client._json(
                "POST", "/v2/sessions/bulk", {"sessions": sessions}, wait=60, feature="submission in bulk"
            )
            for each, result in zip(part, made["results"]):
                if "error" in result:
                    _fail(each.future, error_of_problem(int(result["status"]), result["error"]))
                    continue
                each.future.job_id = chain_id = str(result["session"]["chain_id"])
                if each.future.cancelled():
                    _end(self._client, chain_id)
                else:
                    sent[chain_id] = each.future
        with self._lock:
            self._unwatched.update(sent)
            if not self._unwatched or self._waiters >= _WAITERS_MAX:
                return
            self._waiters += 1
        threading.Thread(target=self._watch, name="reprise-waiter", daemon=True).start()

    def _watch(self) -> None:
        """Waits for calls that nobody waits for, until there are none."""
        while True:
            watched: Dict[str, RemoteFuture] = {}
            with self._lock:
                for chain_id in list(self._unwatched)[:_WAIT_IDS_MAX]:
                    watched[chain_id] = self._unwatched.pop(chain_id)
                if not watched:
                    self._waiters -= 1
                    return
            for chain_id in [each for each, future in watched.items() if future.done()]:
                del watched[chain_id]
            try:
                ended, _ = wait_for(self._client, list(watched), POLL_SECONDS, any_of=True) if watched else ([], [])
            except BaseException as error:
                for future in watched.values():
                    _fail(future, error)
                continue
            for end in ended:
                future = watched.pop(str(end["chain_id"]))
                self._readers.submit(self._finish, future, end)
            with self._lock:
                self._unwatched.update(watched)
            time.sleep(_PACE_SECONDS)

    def _finish(self, future: RemoteFuture, end: Mapping[str, Any]) -> None:
        try:
            value, error = outcome(self._client, end)
        except BaseException as fault:
            value, error = None, fault
        if error is not None:
            _fail(future, error)
            return
        try:
            future.set_result(value)
        except InvalidStateError:
            pass

    def __repr__(self) -> str:
        return f"<Executor {self._client.url}: {len(self._futures)} calls>"


def _wait(futures: List[RemoteFuture]) -> None:
    wait(futures)


def _fail(future: RemoteFuture, error: BaseException) -> None:
    try:
        future.set_exception(error)
    except InvalidStateError:
        pass


def _end(client: "Client", chain_id: str) -> None:
    """Ends a call; one that has ended meanwhile is no error."""
    try:
        client._json("DELETE", f"/v2/sessions/{chain_id}", query={"reason": "its future was cancelled"})
    except RepriseError:
        pass
