"""Groups: many jobs as one piece of work, such as a sweep or a mapped function."""

from __future__ import annotations

import os
import time
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from ._download import Path, download_files
from ._job import Job
from ._overrides import override_fields
from ._retry import RetryInput
from ._transport import reconnect_seconds
from ._values import Bytes, Duration, parse_share, progress_html, seconds
from ._waiting import POLL_SECONDS, in_parallel, log, says_that_work_continues, settled_outputs
from .errors import ConfigurationError, DownloadError, Forbidden, InvalidState, Unreachable, WaitTimeout

if TYPE_CHECKING:
    from ._client import Client

GROUPS = "groups over REST"
_MEMBERS_PAGE = 1000
#: A condition on another group: "all_succeeded" (default), "ended" or "same_index".
After = Union["Group", Tuple[Any, ...]]


@dataclass(frozen=True)
class Member:
    """A member of a group: one job."""

    index: Optional[int]
    chain_id: str
    state: str
    session_id: str
    attempts: int
    exit_code: Optional[int]
    cause: Optional[str]
    reason: Optional[str]


class Group:
    """Many jobs as one piece of work. It exists on the server, independently of this program."""

    def __init__(self, client: "Client", resource: Mapping[str, Any], *, own: bool = False) -> None:
        self._client = client
        self._resource = dict(resource)
        self._own = own

    @property
    def id(self) -> str:
        return str(self._resource["id"])

    @property
    def key(self) -> Optional[str]:
        key: Optional[str] = self._resource["key"]
        return key

    @property
    def name(self) -> str:
        return str(self._resource["name"])

    @property
    def state(self) -> str:
        """RUNNING, ENDING or ENDED and others, as last read: `refresh` reads it again."""
        return str(self._resource["state"])

    @property
    def outcome(self) -> Optional[str]:
        """SUCCEEDED, FAILED or CANCELLED; None while this is not decided."""
        outcome: Optional[str] = self._resource["outcome"]
        return outcome

    @property
    def counts(self) -> Dict[str, int]:
        """Numbers of members: queued, running, waiting, succeeded, failed, cancelled, total."""
        return dict(self._resource["counts"])

    @property
    def url(self) -> str:
        """Address of its page in the web UI."""
        return f"{self._client.url}/groups/{self.id}"

    def refresh(self) -> "Group":
        """Reads its present state."""
        self._resource = self._client._json("GET", f"/v2/groups/{self.id}", feature=GROUPS)
        return self

    def done(self) -> bool:
        return self.refresh()._resource["ended_at"] is not None

    def wait(self, timeout: Optional[Duration] = None) -> "Group":
        """Waits until all its members have ended, however they did. Raises WaitTimeout when the time is over."""
        deadline = None if timeout is None else time.monotonic() + seconds(timeout)
        failed = 0
        with says_that_work_continues(f"group {self.name!r}", "group.cancel()"):
            while self._resource["ended_at"] is None:
                left = POLL_SECONDS if deadline is None else max(0.0, min(POLL_SECONDS, deadline - time.monotonic()))
                path = f"/v2/groups/{self.id}/wait"
                try:
                    self._resource = self._client._json("POST", path, {"timeout": left}, wait=left, feature=GROUPS)
                    failed = 0
                except Unreachable as error:
                    if deadline is not None and time.monotonic() >= deadline:
                        raise
                    failed += 1
                    log.warning("the server does not answer, still waiting: %s", error)
                    time.sleep(reconnect_seconds(self._client._transport.reconnect, failed))
                    continue
                if self._resource["ended_at"] is None and deadline is not None and time.monotonic() >= deadline:
                    words = self._words()
                    raise WaitTimeout(f"Group {self.name!r} has not ended in time ({words}). It continues: wait again.")
        return self

    def members(self, state: Optional[str] = None) -> Iterator[Member]:
        """Yields its members by index; `state` such as "FAILED" selects some."""
        for each in self._members(state):
            yield Member(
                each["index"],
                each["chain_id"],
                each["state"],
                each["newest_session_id"],
                each["attempts"],
                each["exit_code"],
                each["cause"],
                each["reason"],
            )

    def job(self, index: int) -> Job:
        """Returns the member with this index."""
        for each in self._members():
            if each["index"] == index:
                return self._client.job(str(each["newest_session_id"]))
        raise ConfigurationError(f"Group {self.name!r} has no member {index}. `members()` lists them.")

    def failed(self) -> "Selection":
        """Selects the members that have failed."""
        return Selection(self, ("FAILED",))

    def cancelled(self) -> "Selection":
        """Selects the members that were cancelled."""
        return Selection(self, ("CANCELLED",))

    def resubmit(self, **overrides: Any) -> "Group":
        """Begins all members again that have failed or were cancelled; see `Selection.resubmit`."""
        return Selection(self, ("FAILED", "CANCELLED")).resubmit(**overrides)

    def cancel(self, reason: Optional[str] = None) -> "Group":
        """Ends all its members."""
        body = {} if reason is None else {"reason": reason}
        self._resource = self._client._json("POST", f"/v2/groups/{self.id}/cancel", body, feature=GROUPS)
        return self

    def results(self, return_exceptions: bool = False, timeout: Optional[Duration] = None) -> List[Any]:
        """Waits, and returns what each call of the function returned, in order.

        The first failure is raised, with the traceback of the program as its cause; with `return_exceptions` failures
        are values. Only for a group that a function was mapped to.
        """
        self._assert_own()
        self.wait(timeout)
        from ._calls import outcomes

        with says_that_work_continues(f"group {self.name!r}", "group.cancel()"):
            found = outcomes(self._client, list(self._members()))
        first = next((error for _, error in found if error is not None), None)
        if first is not None and not return_exceptions:
            raise first
        return [value if error is None else error for value, error in found]

    def download(self, to: Path, *, match: Optional[str] = None, force: bool = False) -> List[str]:
        """Writes the outputs of each member that succeeded into `to/INDEX`, and returns the paths."""

        def one(end: Mapping[str, Any]) -> List[str]:
            session_id, index = str(end["newest_session_id"]), str(end["index"])
            state, reasons = settled_outputs(self._client, str(end["chain_id"]), session_id)
            if state != "COMPLETE":
                why = "; ".join(reasons) or "nothing was written"
                raise DownloadError(f"The outputs of member {index} are {state}: {why}.")
            transport = self._client._transport
            paths = download_files(transport, session_id, os.path.join(to, index), match=match, force=force)
            return [f"{index}/{path}" for path in paths]

        with says_that_work_continues(f"group {self.name!r}", "group.cancel()"):
            return [path for paths in in_parallel(one, list(self._members("SUCCEEDED"))) for path in paths]

    def _members(self, state: Optional[str] = None) -> Iterator[Mapping[str, Any]]:
        cursor: Optional[str] = None
        while True:
            query = {"state": state, "limit": _MEMBERS_PAGE, "cursor": cursor}
            page = self._client._json("GET", f"/v2/groups/{self.id}/members", query=query, feature=GROUPS)
            yield from page["members"]
            cursor = page["next"]
            if cursor is None:
                return

    def _assert_own(self) -> None:
        """Unpickling runs what a pickle contains, so only results of the client's own project are read."""
        project = str(self._resource["project"])
        if self._own or project == self._client.project:
            return
        message = (
            f"Results of project {project!r} are not unpickled: connect(project={project!r}) if you trust its members."
        )
        raise Forbidden("NOT_OWN_PROJECT", message)

    def _words(self) -> str:
        counts = self.counts
        said = [
            f"{counts[name]} {name}" for name in ("succeeded", "failed", "cancelled", "running") if counts.get(name)
        ]
        return ", ".join([*said, f"of {counts['total']}"])

    def __len__(self) -> int:
        return self.counts["total"]

    def _shown_state(self) -> str:
        return self.state if self._resource["ended_at"] is None else self.outcome or self.state

    def __repr__(self) -> str:
        return f"<Group {self.key or self.name!r} {self._shown_state()}: {self._words()}>"

    def _repr_html_(self) -> str:
        counts = self.refresh().counts
        done = counts["succeeded"] + counts["failed"] + counts["cancelled"]
        return progress_html(self.name, done, counts["failed"], counts["total"], self._shown_state())


class Selection:
    """Members of a group in certain states, for an action on all of them."""

    def __init__(self, group: Group, states: Sequence[str]) -> None:
        self._group = group
        self._states = tuple(states)

    def __iter__(self) -> Iterator[Member]:
        for state in self._states:
            yield from self._group.members(state)

    def __len__(self) -> int:
        counts = self._group.refresh().counts
        return sum(counts[state.lower()] for state in self._states)

    def resubmit(
        self,
        *,
        memory: Optional[Bytes] = None,
        cpus: Optional[float] = None,
        timeout: Optional[Duration] = None,
        env: Optional[Mapping[str, str]] = None,
        retry: Optional[RetryInput] = None,
        client_key: Optional[str] = None,
        **overrides: Any,
    ) -> Group:
        """Begins them again, with changes; the group runs until they have ended. A `client_key` works once."""
        changed = override_fields(memory=memory, cpus=cpus, timeout=timeout, env=env, retry=retry, **overrides)
        body: Dict[str, Any] = {"states": list(self._states), "client_key": client_key or str(uuid.uuid4())}
        if changed:
            body["overrides"] = changed
        group = self._group
        before = group.refresh()._resource
        action = group._client._json("POST", f"/v2/groups/{group.id}/resubmit", body, feature=GROUPS)
        pauses = iter([0.02, 0.05, 0.1, 0.2, 0.5])
        while action["state"] == "RUNNING":
            time.sleep(next(pauses, 1))
            action = group._client._json("GET", f"/v2/bulk-actions/{action['id']}")
        if action["refused"] and not action["done"]:
            message = f"None of the {action['refused']} members began again: they do already, or may still be alive."
            raise InvalidState("NOTHING_RESUBMITTED", message)
        # A group that had ended reopens a moment after its members.
        pauses = iter([0.05] * 100 + [0.5] * 60)
        while before["ended_at"] is not None and group.refresh()._resource["epoch"] == before["epoch"]:
            pause = next(pauses, None)
            if pause is None:
                break
            time.sleep(pause)
        return group.refresh()

    def __repr__(self) -> str:
        return f"<{len(self)} members of {self._group.name!r}: {', '.join(self._states)}>"


def find_group(client: "Client", key: str) -> Group:
    try:
        uuid.UUID(key)
    except ValueError:
        query = {"key": key, "project": client.project}
        return Group(client, client._json("GET", "/v2/groups/by-key", query=query, feature=GROUPS), own=True)
    return Group(client, client._json("GET", f"/v2/groups/{key}", feature=GROUPS))


def create_group(
    client: "Client",
    key: str,
    sessions: Sequence[Mapping[str, Any]],
    indexes: str,
    settings: Mapping[str, Any],
    *,
    more: Iterator[Tuple[Mapping[str, Any], str]] = iter(()),
) -> Group:
    """Creates a group from one template and its indexes; `more` has further templates with theirs.

    The server adds no index twice, so a repeated call completes a group of which a part is there.
    """
    following = next(more, None)
    group: Dict[str, Any] = {"name": key, "key": key, "indexes": indexes, **settings}
    if following is not None:
        group["open"] = True
    body = {"sessions": list(sessions), "group": group}
    made = client._json("POST", "/v2/sessions/bulk", body, wait=60, feature=GROUPS)
    resource = made["group"]
    while following is not None:
        template, numbers = following
        following = next(more, None)
        add = {"sessions": [template], "indexes": numbers, "close": following is None}
        path = f"/v2/groups/{resource['id']}/sessions"
        try:
            resource = client._json("POST", path, add, wait=60, feature=GROUPS)["group"]
        except InvalidState as error:
            if error.code != "GROUP_CLOSED":
                raise
            break
    return Group(client, resource, own=True).refresh()


def group_options(options: Dict[str, Any]) -> Dict[str, Any]:
    """Takes the options of a group out of `options`, and returns them for the server."""
    settings: Dict[str, Any] = {}
    share = options.pop("max_failed", None)
    if share is not None:
        field, value = parse_share(share)
        settings[field] = value
    for name in ("min_succeeded", "max_running"):
        value = options.pop(name, None)
        if value is not None:
            settings[name] = value
    on_failure = options.pop("on_failure", None)
    if on_failure is not None:
        settings["on_failure"] = str(on_failure).upper()
    after = options.get("after")
    groups: List[Any] = [after] if isinstance(after, (Group, tuple, str, Job)) else list(after or ())
    conditions = [_condition(each) for each in groups if isinstance(each, (Group, tuple))]
    if conditions:
        settings["depends_on"] = conditions
        options["after"] = [each for each in groups if not isinstance(each, (Group, tuple))]
    return settings


def _condition(after: After) -> Dict[str, str]:
    group, condition = after if isinstance(after, tuple) else (after, "all_succeeded")
    return {"group_id": group.id, "condition": condition.upper().replace("-", "_")}


def written_indexes(indexes: Union[str, range]) -> str:
    if isinstance(indexes, str):
        return indexes
    if not indexes or indexes.step < 1:
        raise ConfigurationError(f"{indexes!r} has no indexes. Write range(1, 201), or text such as '1-200'.")
    step = "" if indexes.step == 1 else f":{indexes.step}"
    return f"{indexes[0]}-{indexes[-1]}{step}"
