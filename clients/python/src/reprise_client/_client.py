"""The client: connects to a server, runs jobs, finds groups."""

from __future__ import annotations

import ssl
import uuid
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, Optional, Sequence, Union

from ._job import Job
from ._overrides import resource_slots
from ._retry import RetryInput, policy_of
from ._schedule import HttpRetry, NetworkRetry
from ._settings import find_server, number_setting
from ._transport import Transport
from ._upload import Upload, pack_files, send_code
from ._values import Bytes, Duration, optional_seconds, pairs
from ._version import __version__
from .errors import ConfigurationError

if TYPE_CHECKING:
    from ._group import Group

_PAGE = 100
Command = Union[str, Sequence[str]]
JobOrId = Union[Job, str]


class Input:
    """Outputs of a job that another one finds in the directory `to` of its working directory."""

    def __init__(self, job: JobOrId, to: Optional[str] = None, match: Optional[str] = None) -> None:
        self.wire = {"from": job_id(job), "to": to, "match": match}


class Client:
    """A connection to a server. Threads may share it; `close` it, or use it as a context manager."""

    def __init__(self, transport: Transport, project: Optional[str] = None) -> None:
        self._transport = transport
        #: Project of its work; None: the only project of the token, or `default`.
        self.project = project

    @property
    def url(self) -> str:
        return self._transport.urls[0]

    def close(self) -> None:
        self._transport.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Client {self.url}{'' if self.project is None else f' project {self.project}'}>"

    def run(
        self, command: Command, *, upload: Optional[Upload] = None, key: Optional[str] = None, **options: Any
    ) -> Job:
        """Starts a job and returns it at once.

        A text is a command of the shell, a list a program with its arguments. `key` names the job: running the same
        again returns the same job, with all its attempts. For the other options see `session_input`.
        """
        code = self._upload(upload)
        spec = session_input(command, code_sha256=code, project=self.project, **options)
        spec["creation_id"] = key or str(uuid.uuid4())
        if "name" not in options or options["name"] is None:
            spec["name"] = key or default_name(command)
        return Job(self, self._json("POST", "/v2/sessions", spec))

    def job(self, job_id: str) -> Job:
        """Returns the job with this id: that of its chain, or of any of its attempts."""
        return Job(self, self._json("GET", f"/v2/sessions/{job_id}"))

    def jobs(self, **filters: Any) -> Iterator[Job]:
        """Yields jobs, those with the latest activity first, by the filters of `GET /v2/chains`: `state="FAILED"`."""
        for chain in self._pages("/v2/chains", {"project": self.project, **filters}):
            job = Job(self, {"chain_id": chain["id"], "name": chain["name"]})
            job._chain = dict(chain)
            yield job

    def array(
        self,
        command: Command,
        indexes: Union[str, range],
        *,
        group: Optional[str] = None,
        upload: Optional[Upload] = None,
        **options: Any,
    ) -> "Group":
        """Starts one job for each index, as one group, such as `"1-200"`. Each finds its number in REPRISE_INDEX.

        `group` is the key: the same again returns the same group. Options of the group are max_failed, min_succeeded,
        max_running, on_failure and after; the others are those of `session_input`.
        """
        from ._group import create_group, group_options, written_indexes

        key = group or str(uuid.uuid4())
        settings = group_options(options)
        spec = session_input(command, code_sha256=self._upload(upload), project=self.project, **options)
        spec.setdefault("name", group or default_name(command))
        return create_group(self, key, [spec], written_indexes(indexes), settings)

    def group(self, key: str) -> "Group":
        """Returns the group with this key or id."""
        from ._group import find_group

        return find_group(self, key)

    def groups(self, **filters: Any) -> Iterator["Group"]:
        """Yields groups, newest first, by the filters of `GET /v2/groups`: `ended=False`."""
        from ._group import GROUPS, Group

        given = {name: str(value).lower() if isinstance(value, bool) else value for name, value in filters.items()}
        for group in self._pages("/v2/groups", {"project": self.project, **given}, feature=GROUPS):
            yield Group(self, group)

    def _upload(self, upload: Optional[Upload]) -> Optional[str]:
        return None if upload is None else self._send_code(pack_files(upload))

    def _send_code(self, archive: bytes) -> str:
        return send_code(self._transport, archive, self.project)

    def _json(self, method: str, path: str, body: Any = None, **options: Any) -> Any:
        return self._transport.json(method, path, body, **options)

    def _pages(
        self, path: str, query: Optional[Mapping[str, Any]] = None, *, feature: Optional[str] = None
    ) -> Iterator[Mapping[str, Any]]:
        cursor: Optional[str] = None
        while True:
            wanted = {"limit": _PAGE, **(query or {}), "cursor": cursor}
            page = self._json("GET", path, query=wanted, feature=feature)
            yield from page["items"]
            cursor = page["next_cursor"]
            if cursor is None:
                return


def connect(
    url: Optional[str] = None,
    token: Optional[str] = None,
    *,
    profile: Optional[str] = None,
    project: Optional[str] = None,
    tls: Optional[ssl.SSLContext] = None,
) -> Client:
    """Returns a client for the server of the arguments, the environment, the profile or this directory, in this order.

    Sends nothing yet. Functions that are given no client use the one that was made last.
    """
    server = find_server(url, token, profile)
    connect_timeout = number_setting("REPRISE_CONNECT_TIMEOUT", 3) or None
    read_timeout = number_setting("REPRISE_READ_TIMEOUT", 20) or None
    transport = Transport(
        server.urls,
        server.token,
        connect_timeout=connect_timeout,
        read_timeout=read_timeout,
        http_retry=HttpRetry(total=int(number_setting("REPRISE_HTTP_RETRIES", 3))),
        network_retry=NetworkRetry(stop_after_seconds=number_setting("REPRISE_NETWORK_RETRY_SECONDS", 60)),
        user_agent=f"reprise-client-python/{__version__}",
        tls=tls,
    )
    client = Client(transport, project)
    _newest[:] = [client]
    return client


#: The client that was made last.
_newest: List[Client] = []


def default_client() -> Client:
    """Returns the client of functions that are given none: the one that `connect` made last."""
    return _newest[0] if _newest else connect()


def default_name(command: Command) -> str:
    words = command.split() if isinstance(command, str) else list(command)
    return " ".join(words[:3])[:200] or "job"


def job_id(job: JobOrId) -> str:
    return job if isinstance(job, str) else job.id


def session_input(
    command: Command,
    *,
    name: Optional[str] = None,
    memory: Optional[Bytes] = None,
    cpus: Optional[float] = None,
    gpus: Optional[Union[int, Mapping[str, Any]]] = None,
    slots: Optional[Mapping[str, Any]] = None,
    timeout: Optional[Duration] = None,
    retry: Optional[RetryInput] = None,
    outputs: Optional[Union[str, Sequence[str]]] = None,
    inputs: Sequence[Input] = (),
    after: Union[JobOrId, Sequence[JobOrId]] = (),
    env: Optional[Mapping[str, str]] = None,
    secrets: Optional[Mapping[str, str]] = None,
    labels: Optional[Mapping[str, str]] = None,
    project: Optional[str] = None,
    code_sha256: Optional[str] = None,
    progress_timeout: Optional[Duration] = None,
    stop_grace: Optional[Duration] = None,
    max_pending: Optional[Duration] = None,
    **others: Any,
) -> Dict[str, Any]:
    """Returns the input of a session for the server.

    memory: bytes, or text such as "8g". cpus, gpus: numbers. slots: other resources by name. timeout: duration of one
    attempt. retry: a number of retries, or Retry. outputs: patterns of files to keep. inputs: outputs of other jobs.
    after: jobs that must succeed first. env, secrets, labels: texts by name. Others are fields of the REST API.
    """
    if not command:
        raise ConfigurationError("The command is empty.")
    first = [after] if isinstance(after, (str, Job)) else list(after)
    given: Dict[str, Any] = {
        "name": name,
        "project": project,
        "command": ["sh", "-c", command] if isinstance(command, str) else [str(word) for word in command],
        "code_sha256": code_sha256,
        "resource_slots": resource_slots(memory=memory, cpus=cpus, slots=slots) or None,
        "gpus": {"count": gpus} if isinstance(gpus, int) else gpus,
        "batch_timeout": optional_seconds(timeout),
        "retry_policy": policy_of(retry),
        "outputs": {"paths": [outputs] if isinstance(outputs, str) else list(outputs)} if outputs else None,
        "inputs": [each.wire for each in inputs] or None,
        "depends_on": [job_id(each) for each in first] or None,
        "environ": pairs(env, "name") or None,
        "secret_environ": pairs(secrets, "name") or None,
        "labels": pairs(labels, "key") or None,
        "progress_timeout": optional_seconds(progress_timeout),
        "stop_grace": optional_seconds(stop_grace),
        "max_pending": optional_seconds(max_pending),
    }
    return {**{field: value for field, value in given.items() if value is not None}, **others}
