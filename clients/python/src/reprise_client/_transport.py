"""Requests over kept connections, with two layers of retries, and streams of server-sent events."""

from __future__ import annotations

import json
import random
import socket
import ssl
import threading
import time
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, cast
from urllib.parse import urlencode, urljoin, urlsplit
from weakref import WeakKeyDictionary

from ._answers import (
    FAULTS,
    Answer,
    Cut,
    Event,
    error_of,
    fault_status,
    headers_of,
    is_network_fault,
    may_repeat,
    parse_events,
    read_all,
    read_part,
)
from ._schedule import (
    HttpRetry,
    NetworkRetry,
    ReconnectRetry,
    judge_answer,
    next_attempt_delay,
    parse_retry_after,
    reconnect_delay,
)
from .errors import RepriseError, ServerError, Unreachable, error_of_problem

#: A server closes idle connections after some seconds; older ones are not used again.
_IDLE_SECONDS = 3.5
_REDIRECTS_MAX = 5
#: Servers send a comment into silent streams every 12 s.
_STREAM_SILENCE_SECONDS = 45.0


#: Takes the next bytes of a body.
Sink = Callable[[bytes], Any]


class Transport:
    """Sends requests to one of several servers. Threads may share it."""

    def __init__(
        self,
        urls: Sequence[str],
        token: Optional[str],
        *,
        connect_timeout: Optional[float] = 3,
        read_timeout: Optional[float] = 20,
        http_retry: HttpRetry = HttpRetry(),
        network_retry: NetworkRetry = NetworkRetry(),
        reconnect: ReconnectRetry = ReconnectRetry(),
        user_agent: str = "reprise-client",
        tls: Optional[ssl.SSLContext] = None,
    ) -> None:
        self.urls = list(urls)
        self._origins = {_origin(url) for url in urls}
        self._token = token
        self._connect_timeout = connect_timeout
        self._read_timeout = read_timeout
        self._http_retry = http_retry
        self._network_retry = network_retry
        self.reconnect = reconnect
        self._user_agent = user_agent
        self._tls = tls or (ssl.create_default_context() if any(url.startswith("https:") for url in urls) else None)
        self._lock = threading.Lock()
        self._idle: Dict[Tuple[str, str], List[Tuple[float, HTTPConnection]]] = {}
        #: Scheme and address of each connection, as written in the URL.
        self._places: WeakKeyDictionary[HTTPConnection, Tuple[str, str]] = WeakKeyDictionary()
        self._first = 0
        self._closed = False

    def close(self) -> None:
        """Closes idle connections; others close when their requests have ended."""
        with self._lock:
            self._closed = True
            idle = [connection for kept in self._idle.values() for _, connection in kept]
            self._idle.clear()
        for connection in idle:
            connection.close()

    def json(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Optional[Mapping[str, Any]] = None,
        wait: float = 0,
        repeatable: bool = True,
        feature: Optional[str] = None,
    ) -> Any:
        """Sends a request that may reach the server twice; returns its JSON. The server may hold it for `wait` seconds.

        `feature` names what an older server without this path lacks.
        """
        headers = {"Accept": "application/json"}
        content: Optional[bytes] = None
        if body is not None:
            content = json.dumps(body, separators=(",", ":")).encode()
            headers["Content-Type"] = "application/json"
        answer = self.send(
            method, path, headers, content, query=query, wait=wait, repeatable=repeatable, feature=feature
        )
        return json.loads(answer.body) if answer.body else None

    def send(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: Optional[bytes] = None,
        *,
        query: Optional[Mapping[str, Any]] = None,
        wait: float = 0,
        repeatable: bool = True,
        feature: Optional[str] = None,
        sink: Optional[Callable[[], Sink]] = None,
    ) -> Answer:
        """Sends a request through both layers of retries. With `sink`, each try begins a new one for the body."""
        target = path + ("?" + urlencode(_stated(query), doseq=True) if query else "")
        began = time.monotonic()
        failed = 0
        while True:
            try:
                return self._until_answered(method, target, headers, body, wait, repeatable, feature, sink)
            except (Unreachable, ServerError) as error:
                if not is_network_fault(error) or not may_repeat(repeatable, error):
                    raise
                failed += 1
                elapsed = time.monotonic() - began
                delay = next_attempt_delay(self._network_retry, failed, elapsed, random.random)
                if delay is None:
                    raise
                time.sleep(delay)

    def events(
        self, path: str, query: Optional[Mapping[str, Any]] = None, *, after: Optional[str] = None, feature: str
    ) -> Iterator[Optional[Event]]:
        """Yields events; None when a connection begins. Continues after the last event when the connection is lost.

        Ends with the event `end`. The generator never ends by itself otherwise: its caller closes it.
        """
        failed = 0
        while True:
            try:
                for event in self._stream(path, query, after, feature):
                    failed = 0
                    if event is not None:
                        after = event.id or after
                        if event.name == "problem":
                            raise error_of_problem(int(event.data.get("status") or 500), event.data)
                    yield event
                    if event is not None and event.name == "end":
                        return
            except (Unreachable, ServerError):
                pass
            failed += 1
            time.sleep(reconnect_seconds(self.reconnect, failed))

    def _stream(
        self, path: str, query: Optional[Mapping[str, Any]], after: Optional[str], feature: str
    ) -> Iterator[Optional[Event]]:
        """Yields the events of one connection, None first."""
        headers = {
            "Accept": "text/event-stream",
            "Accept-Encoding": "identity",
            **({"Last-Event-ID": after} if after else {}),
        }
        target = path + ("?" + urlencode(_stated(query), doseq=True) if query else "")
        connection, response = self._open("GET", target, headers, None, _STREAM_SILENCE_SECONDS)
        try:
            if response.status != 200:
                raise error_of(read_all(response), feature, self.urls[0])
            yield None
            yield from parse_events(response)
        except (*FAULTS, Cut) as error:
            raise Unreachable("CONNECTION_LOST", f"The stream broke: {error!r}.", may_have_arrived=True) from error
        finally:
            connection.close()

    def _until_answered(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str],
        body: Optional[bytes],
        wait: float,
        repeatable: bool,
        feature: Optional[str],
        sink: Optional[Callable[[], Sink]],
    ) -> Answer:
        failures = 0
        while True:
            answer = self._somewhere(method, target, headers, body, wait, repeatable, sink)
            if answer.status < 300:
                return answer
            error = error_of(answer, feature, self.urls[0])
            fault = fault_status(answer, error)
            if fault is None or not (repeatable or error.code == "TOO_MANY_REQUESTS"):
                raise error
            failures += 1
            asked = parse_retry_after(answer.headers.get("retry-after"), time.time())
            verdict, delay = judge_answer(self._http_retry, fault, asked, failures)
            if verdict != "retry":
                raise error
            if fault >= 500 and len(self.urls) > 1:
                self._first += 1
            else:
                time.sleep(delay or 0)

    def _somewhere(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str],
        body: Optional[bytes],
        wait: float,
        repeatable: bool,
        sink: Optional[Callable[[], Sink]],
    ) -> Answer:
        """Tries one server after the other until one responds."""
        silence = None if self._read_timeout is None else self._read_timeout + wait
        for tries_left in range(len(self.urls) - 1, -1, -1):
            try:
                answer = self._exchange(method, target, headers, body, silence, sink)
                if answer.status == 503 and b'"SERVER_STARTING"' in answer.body:
                    raise Unreachable("CONNECT_FAILED", "The server is starting.", may_have_arrived=False)
                return answer
            except Unreachable as error:
                self._first += 1
                if tries_left == 0 or not may_repeat(repeatable, error):
                    raise
        raise AssertionError("there is at least one server")

    def _exchange(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str],
        body: Optional[bytes],
        silence: Optional[float],
        sink: Optional[Callable[[], Sink]],
    ) -> Answer:
        connection, response = self._open(method, target, headers, body, silence)
        try:
            if sink is not None and response.status in (200, 206):
                take = sink()
                for chunk in iter(lambda: read_part(response), b""):
                    take(chunk)
                answer = Answer(response.status, headers_of(response), b"")
            else:
                answer = read_all(response)
        except Cut as error:
            connection.close()
            message = f"The response of {self.urls[0]} was cut off: {error}. The request may have been carried out."
            raise Unreachable("BODY_CUT_OFF", message, may_have_arrived=True) from error
        except BaseException:
            connection.close()
            raise
        if response.will_close:
            connection.close()
        else:
            self._keep(connection)
        return answer

    def _open(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str],
        body: Optional[bytes],
        silence: Optional[float],
    ) -> Tuple[HTTPConnection, HTTPResponse]:
        """Sends a request and follows redirects that keep it, to configured servers only, as the token is."""
        url = self.urls[self._first % len(self.urls)] + target
        for _ in range(_REDIRECTS_MAX + 1):
            connection, response = self._send_once(method, url, headers, body, silence)
            if response.status not in (301, 302, 303, 307, 308):
                return connection, response
            location = urljoin(url, response.headers.get("location") or "")
            connection.close()
            if response.status not in (307, 308) or _origin(location) not in self._origins:
                message = (
                    f"{url} redirects to {location}. The token is sent to configured servers only: use that address."
                )
                raise RepriseError(f"HTTP_{response.status}", message, status=response.status)
            url = location
        raise RepriseError("TOO_MANY_REDIRECTS", f"{url} redirects again and again. Check the proxy.")

    def _send_once(
        self, method: str, url: str, headers: Mapping[str, str], body: Optional[bytes], silence: Optional[float]
    ) -> Tuple[HTTPConnection, HTTPResponse]:
        parts = urlsplit(url)
        path = parts.path + ("?" + parts.query if parts.query else "")
        sent = {"Accept-Encoding": "gzip", "User-Agent": self._user_agent, **headers}
        if self._token is not None:
            sent["Authorization"] = f"Bearer {self._token}"
        while True:
            connection, was_idle = self._take(parts.scheme, parts.netloc)
            try:
                if not was_idle:
                    connection.connect()
                cast(socket.socket, connection.sock).settimeout(silence)
            except FAULTS as error:
                connection.close()
                code = "CONNECT_TIMEOUT" if isinstance(error, socket.timeout) else "CONNECT_FAILED"
                message = (
                    f"{parts.scheme}://{parts.netloc} does not answer ({error}). Check REPRISE_URL and the server."
                )
                raise Unreachable(code, message, may_have_arrived=False) from error
            try:
                connection.request(method, path, body=body, headers=sent)
                return connection, connection.getresponse()
            except FAULTS as error:
                connection.close()
                # The server closed it while it was idle, before it could see the request.
                if was_idle and isinstance(error, ConnectionError):
                    continue
                silent = isinstance(error, socket.timeout)
                message = f"{parts.netloc} was silent for too long." if silent else f"The connection broke: {error!r}."
                raise Unreachable(
                    "READ_TIMEOUT" if silent else "CONNECTION_LOST", message, may_have_arrived=True
                ) from error
            except BaseException:
                connection.close()
                raise

    def _take(self, scheme: str, netloc: str) -> Tuple[HTTPConnection, bool]:
        now = time.monotonic()
        with self._lock:
            kept = self._idle.get((scheme, netloc), [])
            while kept:
                since, connection = kept.pop()
                if now - since < _IDLE_SECONDS:
                    return connection, True
                connection.close()
        timeout = self._connect_timeout
        if scheme == "https":
            made: HTTPConnection = HTTPSConnection(netloc, timeout=timeout, context=self._tls)
        else:
            made = HTTPConnection(netloc, timeout=timeout)
        self._places[made] = scheme, netloc
        return made, False

    def _keep(self, connection: HTTPConnection) -> None:
        with self._lock:
            if not self._closed:
                self._idle.setdefault(self._places[connection], []).append((time.monotonic(), connection))
                return
        connection.close()


def _stated(query: Optional[Mapping[str, Any]]) -> Dict[str, Any]:
    return {name: value for name, value in (query or {}).items() if value is not None}


def _origin(url: str) -> Tuple[str, str, int]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)


def reconnect_seconds(config: ReconnectRetry, failed: int) -> float:
    return reconnect_delay(config, failed, random.random)
