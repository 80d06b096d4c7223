"""What a server answers: bodies, errors, streams of events."""

from __future__ import annotations

import gzip
import json
import zlib
from http.client import HTTPException, HTTPResponse
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional

from .errors import NotSupported, RepriseError, ServerError, Unreachable, error_of_problem

_CHUNK_BYTES = 256 * 1024


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes


class Event(NamedTuple):
    """A server-sent event; its `id` continues the stream after it."""

    name: str
    data: Any
    id: Optional[str]


FAULTS = (OSError, HTTPException, EOFError)


class Cut(Exception):
    """A response is not complete."""


def headers_of(response: HTTPResponse) -> Dict[str, str]:
    return {name.lower(): value for name, value in response.getheaders()}


def read_part(response: HTTPResponse) -> bytes:
    """Returns the next bytes of a body; empty at its end."""
    try:
        chunk = response.read(_CHUNK_BYTES)
    except FAULTS as error:
        raise Cut(repr(error)) from error
    if not chunk and response.length:
        raise Cut(f"{response.length} bytes are missing")
    return chunk


def read_all(response: HTTPResponse) -> Answer:
    headers = headers_of(response)
    try:
        body = response.read()
        if headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        if response.status < 300 and "json" in headers.get("content-type", "") and body:
            json.loads(body)
    except (*FAULTS, zlib.error, ValueError) as error:
        raise Cut(repr(error)) from error
    return Answer(response.status, headers, body)


def error_of(answer: Answer, feature: Optional[str], url: str) -> RepriseError:
    """Returns the error for a response that is not a success."""
    problem: Any = None
    if "json" in answer.headers.get("content-type", ""):
        try:
            problem = json.loads(answer.body)
        except ValueError:
            pass
    if isinstance(problem, dict) and "code" in problem:
        missing = problem["code"] in ("NO_SUCH_PATH", "METHOD_NOT_ALLOWED")
        if missing and feature is not None:
            older = f"This server has no {feature}: it is older than this client."
            message = f"{older} Install its own client, {url}/clients/python/."
            return NotSupported("NOT_SUPPORTED", message, status=answer.status)
        return error_of_problem(answer.status, problem)
    said = answer.body[:200].decode("utf-8", "replace").strip() if answer.body else ""
    text = f"The server responded with {answer.status}{': ' + said if said else ''}."
    return ServerError(f"HTTP_{answer.status}", text, status=answer.status)


_UNAVAILABLE = ("SERVER_STOPPING", "DATABASE_UNAVAILABLE", "STORAGE_UNAVAILABLE", "SERVER_DISK_FULL")


def is_network_fault(error: RepriseError) -> bool:
    """Whether every server would fail in the same way at once, so that only a longer pause helps."""
    return isinstance(error, Unreachable) or error.code in _UNAVAILABLE


def may_repeat(repeatable: bool, error: RepriseError) -> bool:
    return repeatable or (isinstance(error, Unreachable) and not error.may_have_arrived)


def fault_status(answer: Answer, error: RepriseError) -> Optional[int]:
    """Returns the status of a fault of the server or its proxy; None for a response to the request itself."""
    if error.code in _UNAVAILABLE:
        return None
    if error.code == "TOO_MANY_REQUESTS":
        return answer.status
    if isinstance(error, ServerError):
        return answer.status if error.code.startswith("HTTP_") else max(answer.status, 500)
    return None


def parse_events(response: HTTPResponse) -> Iterator[Event]:
    name = "message"
    identity: Optional[str] = None
    data: List[str] = []
    for raw in iter(response.readline, b""):
        line = raw.decode("utf-8").rstrip("\r\n")
        if line:
            field, _, value = line.partition(":")
            value = value[1:] if value.startswith(" ") else value
            if field == "event":
                name = value
            elif field == "id":
                identity = value
            elif field == "data":
                data.append(value)
            continue
        if not raw.endswith(b"\n"):
            break
        if data:
            yield Event(name, json.loads("\n".join(data)), identity)
        elif identity is not None:
            yield Event("", None, identity)
        name, data = "message", []
    raise Unreachable("CONNECTION_LOST", "The stream ended.", may_have_arrived=True)
