"""The same verbs for asyncio. Threads do the work: a cancelled task returns at once, its request ends later."""

from __future__ import annotations

import asyncio
import functools
from concurrent.futures import ThreadPoolExecutor
from typing import Any, AsyncIterator, Callable, Iterator, List, Optional, TypeVar

from ._client import Client, Command, connect
from ._download import Path
from ._group import Group, Member
from ._job import Attempt, Job, OutputFile
from ._values import Duration

T = TypeVar("T")
_THREADS = 64
_END: Any = object()


class AsyncClient:
    """A client for asyncio: `async with rp.AsyncClient() as client: job = await client.run("true")`."""

    def __init__(self, url: Optional[str] = None, token: Optional[str] = None, **options: Any) -> None:
        #: The client that does the work.
        self.client: Client = connect(url, token, **options)
        self._threads = ThreadPoolExecutor(max_workers=_THREADS, thread_name_prefix="reprise-async")

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._threads.shutdown(wait=False)
        self.client.close()

    async def run(self, command: Command, **options: Any) -> "AsyncJob":
        return AsyncJob(self, await self.call(self.client.run, command, **options))

    async def job(self, job_id: str) -> "AsyncJob":
        return AsyncJob(self, await self.call(self.client.job, job_id))

    async def array(self, command: Command, indexes: Any, **options: Any) -> "AsyncGroup":
        return AsyncGroup(self, await self.call(self.client.array, command, indexes, **options))

    async def group(self, key: str) -> "AsyncGroup":
        return AsyncGroup(self, await self.call(self.client.group, key))

    def jobs(self, **filters: Any) -> AsyncIterator[Job]:
        return self.iterate(lambda: self.client.jobs(**filters))

    def groups(self, **filters: Any) -> AsyncIterator[Group]:
        return self.iterate(lambda: self.client.groups(**filters))

    async def call(self, work: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        """Runs a blocking function in one of the client's threads."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, functools.partial(work, *args, **kwargs))

    async def iterate(self, begin: Callable[[], Iterator[T]]) -> AsyncIterator[T]:
        """Yields what a blocking iterator yields."""
        items = await self.call(begin)
        while True:
            item = await self.call(next, items, _END)
            if item is _END:
                return
            yield item

    def __repr__(self) -> str:
        return f"<AsyncClient {self.client.url}>"


class AsyncJob:
    """A job for asyncio; `job` is the blocking one."""

    def __init__(self, client: AsyncClient, job: Job) -> None:
        self._client = client
        self.job = job

    @property
    def id(self) -> str:
        return self.job.id

    async def state(self) -> str:
        return await self._client.call(lambda: self.job.state)

    async def wait(self, timeout: Optional[Duration] = None, *, check: bool = True) -> "AsyncJob":
        await self._client.call(self.job.wait, timeout, check=check)
        return self

    def logs(self, follow: bool = False, **options: Any) -> AsyncIterator[str]:
        return self._client.iterate(lambda: self.job.logs(follow, **options))

    async def attempts(self) -> List[Attempt]:
        return await self._client.call(self.job.attempts)

    async def cancel(self, reason: Optional[str] = None, *, force: bool = False) -> "AsyncJob":
        await self._client.call(self.job.cancel, reason, force=force)
        return self

    async def retry_now(self) -> "AsyncJob":
        await self._client.call(self.job.retry_now)
        return self

    async def resubmit(self, **overrides: Any) -> "AsyncJob":
        await self._client.call(self.job.resubmit, **overrides)
        return self

    async def outputs(self, match: Optional[str] = None) -> List[OutputFile]:
        return await self._client.call(self.job.outputs, match)

    async def download(self, to: Path, **options: Any) -> List[str]:
        return await self._client.call(self.job.download, to, **options)

    def __repr__(self) -> str:
        return f"<Async{repr(self.job)[1:]}"


class AsyncGroup:
    """A group for asyncio; `group` is the blocking one."""

    def __init__(self, client: AsyncClient, group: Group) -> None:
        self._client = client
        self.group = group

    @property
    def id(self) -> str:
        return self.group.id

    async def refresh(self) -> "AsyncGroup":
        await self._client.call(self.group.refresh)
        return self

    async def wait(self, timeout: Optional[Duration] = None) -> "AsyncGroup":
        await self._client.call(self.group.wait, timeout)
        return self

    def members(self, state: Optional[str] = None) -> AsyncIterator[Member]:
        return self._client.iterate(lambda: self.group.members(state))

    async def results(self, return_exceptions: bool = False, timeout: Optional[Duration] = None) -> List[Any]:
        return await self._client.call(self.group.results, return_exceptions, timeout)

    async def cancel(self, reason: Optional[str] = None) -> "AsyncGroup":
        await self._client.call(self.group.cancel, reason)
        return self

    async def resubmit(self, **overrides: Any) -> "AsyncGroup":
        await self._client.call(self.group.resubmit, **overrides)
        return self

    async def download(self, to: Path, **options: Any) -> List[str]:
        return await self._client.call(self.group.download, to, **options)

    def __repr__(self) -> str:
        return f"<Async{repr(self.group)[1:]}"
