"""A job: one piece of work with all its attempts. The server calls it a chain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, NamedTuple, Optional

from ._download import Path, download_files, list_files
from ._overrides import override_fields
from ._retry import RetryInput
from ._values import Bytes, Duration, html_table
from ._waiting import changes, says_that_work_continues, settled_outputs, wait_for
from .errors import ChainFailed, DownloadError, WaitTimeout

if TYPE_CHECKING:
    from ._client import Client

ENDED = ("SUCCEEDED", "FAILED", "CANCELLED")
_LAST_LINES = 20


class Attempt(NamedTuple):
    """One attempt of a job."""

    number: int
    session_id: str
    status: str
    exit_code: Optional[int]
    cause: Optional[str]
    reason: Optional[str]
    #: What was decided after its end, in words.
    decision: Optional[str]
    started_at: Optional[str]
    ended_at: Optional[str]


class OutputFile(NamedTuple):
    """A file that an attempt left."""

    path: str
    size: int
    sha256: str


class Job:
    """A piece of work with all its attempts. It exists on the server, independently of this program."""

    def __init__(self, client: "Client", session: Mapping[str, Any]) -> None:
        self._client = client
        self._chain: Dict[str, Any] = {}
        #: Id of the chain, which is that of its first session.
        self.id = str(session["chain_id"])
        self.name = str(session["name"])
        self.key = session.get("creation_id")

    @property
    def state(self) -> str:
        """QUEUED, RUNNING, SUCCEEDED, FAILED or CANCELLED and others, asked for once it is read."""
        return str(self.refresh()._chain["state"])

    @property
    def url(self) -> str:
        """Address of its page in the web UI."""
        return f"{self._client.url}/chains/{self.id}"

    def refresh(self) -> "Job":
        """Reads its present state."""
        if self._chain.get("state") not in ENDED:
            self._chain = self._client._json("GET", f"/v2/chains/{self.id}")
        return self

    def done(self) -> bool:
        return self.state in ENDED

    @property
    def exit_code(self) -> Optional[int]:
        """Exit code of the newest attempt; None while it runs."""
        code = self._newest()["exit_code"]
        return None if code is None else int(code)

    def attempts(self) -> List[Attempt]:
        """Returns all attempts, oldest first."""
        return [_attempt(each) for each in self._sessions()]

    def wait(self, timeout: Optional[Duration] = None, *, check: bool = True) -> "Job":
        """Waits until it has ended. With `check`, raises ChainFailed unless it succeeded.

        Lost connections and restarts of the server only delay the answer. Raises WaitTimeout when the time is over.
        """
        with says_that_work_continues(f"job {self.name!r}", "job.cancel()"):
            ended, _ = wait_for(self._client, [self.id], timeout)
        if not ended:
            raise WaitTimeout(f"Job {self.name!r} has not ended in time. It continues on the server: wait again.")
        self._chain = {}
        self.refresh()
        if check and self._chain["state"] != "SUCCEEDED":
            raise self._failure()
        return self

    def logs(self, follow: bool = False, *, stream: Optional[str] = None, kernel: str = "main1") -> Iterator[str]:
        """Yields the lines of all attempts, each with its end of line. With `follow`, until the job has ended.

        `stream` is "stdout" or "stderr"; without it both come, in the order in which they arrived. A lost connection or
        a restart of the server leaves no gap and repeats nothing.
        """
        wanted = stream and stream.upper()
        if not follow:
            stored = (self._stored_lines(attempt["id"], wanted, kernel) for attempt in self._sessions())
            yield from _separate(stored)
            return
        with says_that_work_continues(f"job {self.name!r}", "job.cancel()"):
            yield from self._follow(wanted, kernel)

    def cancel(self, reason: Optional[str] = None, *, force: bool = False) -> "Job":
        """Ends what is alive of it. It is not retried until somebody resubmits it."""
        query = {"reason": reason, "force": "true" if force else None}
        self._client._json("DELETE", f"/v2/sessions/{self.id}", query=query)
        self._chain = {}
        return self

    def retry_now(self) -> "Job":
        """Makes its waiting retry due."""
        self._client._json("POST", f"/v2/sessions/{self._newest()['id']}/retry/now", {})
        return self

    def resubmit(
        self,
        *,
        memory: Optional[Bytes] = None,
        cpus: Optional[float] = None,
        timeout: Optional[Duration] = None,
        env: Optional[Mapping[str, str]] = None,
        retry: Optional[RetryInput] = None,
        **overrides: Any,
    ) -> "Job":
        """Begins again, with changes, after it has failed: a new attempt of the same job, with all retries."""
        changed = override_fields(memory=memory, cpus=cpus, timeout=timeout, env=env, retry=retry, **overrides)
        body: Dict[str, Any] = {"overrides": changed} if changed else {}
        self._client._json("POST", f"/v2/sessions/{self._newest()['id']}/resubmit", body, repeatable=False)
        self._chain = {}
        return self

    def outputs(self, match: Optional[str] = None) -> List[OutputFile]:
        """Returns the files that its newest attempt left, once they have arrived."""
        files = list_files(self._client._transport, self._settled_outputs(), match)
        return [OutputFile(each["path"], each["bytes"], each["sha256"]) for each in files]

    def download(
        self, to: Path, *, match: Optional[str] = None, force: bool = False, partial: bool = False
    ) -> List[str]:
        """Writes its outputs into a directory, each file verified by its hash, and returns their paths.

        Waits until they have arrived. With `partial`, files that are missing are no error.
        """
        session_id = self._settled_outputs(partial)
        return download_files(self._client._transport, session_id, to, match=match, force=force)

    def _settled_outputs(self, partial: bool = False) -> str:
        """Waits for the outputs of the newest attempt; returns its id."""
        session_id = str(self._newest()["id"])
        with says_that_work_continues(f"job {self.name!r}", "job.cancel()"):
            state, reasons = settled_outputs(self._client, self.id, session_id)
        if state != "COMPLETE" and not partial:
            why = "; ".join(reasons) or "nothing was written"
            raise DownloadError(
                f"The outputs of {self.name!r} are {state}: {why}. With partial=True the rest is taken."
            )
        return session_id

    def _newest(self) -> Mapping[str, Any]:
        self.refresh()
        read: Mapping[str, Any] = self._client._json("GET", f"/v2/sessions/{self._chain['newest_session_id']}")
        return read

    def _sessions(self) -> List[Mapping[str, Any]]:
        return list(self._client._pages(f"/v2/sessions/{self.id}/attempts"))

    def _kernel(self, session_id: str, name: str) -> Optional[str]:
        kernels = self._client._json("GET", f"/v2/sessions/{session_id}/kernels")["items"]
        return next((str(each["id"]) for each in kernels if f"{each['role']}{each['index']}" == name), None)

    def _stored_lines(self, session_id: str, stream: Optional[str], kernel: str) -> Iterator[str]:
        kernel_id = self._kernel(session_id, kernel)
        if kernel_id is None:
            return
        headers = {"Accept": "text/plain"}
        path = f"/v2/kernels/{kernel_id}/log"
        answer = self._client._transport.send("GET", path, headers, query={"stream": stream})
        yield from split_lines(answer.body.decode("utf-8", "replace"))

    def _follow(self, stream: Optional[str], kernel: str) -> Iterator[str]:
        session_id: Optional[str] = self.id

        def attempts() -> Iterator[Iterator[str]]:
            nonlocal session_id
            while session_id is not None:
                yield self._followed_lines(session_id, stream, kernel)
                session_id = self._child_of(session_id)

        return _separate(attempts())

    def _followed_lines(self, session_id: str, stream: Optional[str], kernel: str) -> Iterator[str]:
        kernel_id = self._kernel(session_id, kernel)
        if kernel_id is None:
            return
        rests: Dict[str, str] = {}
        path = f"/v2/kernels/{kernel_id}/log/follow"
        for event in self._client._transport.events(path, feature="streams of logs"):
            if event is None or event.name != "chunk":
                continue
            source = str(event.data["stream"])
            if stream is not None and source != stream:
                continue
            lines = split_lines(rests.pop(source, "") + str(event.data["text"]))
            if lines and not lines[-1].endswith("\n"):
                rests[source] = lines.pop()
            yield from lines
        yield from rests.values()

    def _child_of(self, session_id: str) -> Optional[str]:
        """Waits for the decision about an attempt, and for its retry; returns the next attempt, or None at the end."""
        for _ in changes(self._client, self.id):
            session = self._client._json("GET", f"/v2/sessions/{session_id}")
            if session["child_session_id"] is not None:
                return str(session["child_session_id"])
            if self._client._json("GET", f"/v2/chains/{self.id}")["state"] in ENDED:
                return None
        return None

    def _failure(self) -> ChainFailed:
        newest = self._newest()
        state = str(self._chain["state"])
        lines = list(self._stored_lines(str(newest["id"]), None, "main1"))[-_LAST_LINES:]
        explanation = newest["retry_state"]["reason"] or newest["status_reason"]
        code = newest["exit_code"]
        attempts = int(self._chain["attempts"])
        said = f", exit code {code}" if code is not None else ""
        count = "1 attempt" if attempts == 1 else f"{attempts} attempts"
        message = f"Job {self.name!r} is {state} after {count} ({newest['failure_cause']}{said})."
        if explanation:
            message += f" The server says: {explanation}."
        if lines:
            message += " Its last lines:\n" + "".join(lines).rstrip()
        return ChainFailed(
            message,
            chain_id=self.id,
            state=state,
            cause=newest["failure_cause"],
            exit_code=code,
            attempts=attempts,
            explanation=explanation,
            last_lines=[line.rstrip("\n") for line in lines],
        )

    def __repr__(self) -> str:
        state = self._chain.get("state", "?")
        attempts = self._chain.get("attempts")
        count = "" if attempts is None else f", {attempts} attempt{'' if attempts == 1 else 's'}"
        return f"<Job {self.name!r} {state}{count} {self.id}>"

    def _repr_html_(self) -> str:
        rows = [
            (a.number, a.status, a.exit_code, a.cause, a.decision, a.started_at, a.ended_at) for a in self.attempts()
        ]
        head = ("attempt", "status", "exit code", "cause", "decision", "started", "ended")
        return html_table(f"Job {self.name}: {self.state}", head, rows)


def _attempt(session: Mapping[str, Any]) -> Attempt:
    return Attempt(
        number=int(session["attempt"]),
        session_id=str(session["id"]),
        status=str(session["status"]),
        exit_code=session["exit_code"],
        cause=session["failure_cause"],
        reason=session["status_reason"],
        decision=session["retry_state"]["reason"],
        started_at=session["started_at"],
        ended_at=session["terminated_at"],
    )


def _separate(parts: Iterator[Iterator[str]]) -> Iterator[str]:
    """Yields all lines; one that an attempt did not end is ended before the next attempt."""
    last = "\n"
    for part in parts:
        for at, line in enumerate(part):
            if at == 0 and not last.endswith("\n"):
                yield "\n"
            last = line
            yield line


def split_lines(text: str) -> List[str]:
    """Splits at line feeds only: a carriage return redraws a line, and belongs to it."""
    parts = text.split("\n")
    lines = [part + "\n" for part in parts[:-1]]
    return lines + [parts[-1]] if parts[-1] else lines
