"""The client against a real server with real processes."""

from __future__ import annotations

import asyncio
import operator
import os
import pickle
import random
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
import uuid
from concurrent.futures import as_completed
from typing import Any, List, Tuple

import support
from support import PYTHON, Proxy, client, eventually, once

import reprise_client as rp

TRAIN = """
import os, sys, time
attempt = int(os.environ["REPRISE_ATTEMPT"])
print("attempt", attempt, flush=True)
os.makedirs("results", exist_ok=True)
open("results/model", "w").write("weights %d" % attempt)
print("no line end", end="")
sys.exit(0 if attempt == 2 else 3)
"""


def key(name: str) -> str:
    return f"{name}-{uuid.uuid4().hex[:8]}"


class InDirectory(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        self.addCleanup(support.close_clients)
        self.client = client()


class Jobs(InDirectory):
    def test_a_job_with_all_its_attempts(self) -> None:
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(self.directory)
        for name, text in (("train.py", TRAIN), (".gitignore", "large\nout/\n"), ("large", "x")):
            with open(name, "w", encoding="utf-8") as file:
                file.write(text)
        options: Any = dict(
            upload=".",
            outputs=["results/**"],
            memory="512m",
            cpus=1,
            timeout="2h",
            key=key("train"),
            labels={"team": "red"},
            retry=rp.Retry(
                5,
                delay="100ms",
                backoff="exponential",
                rules=[rp.on("oom").grow(memory=2, to="64g"), rp.on(exit=64).fail()],
            ),
        )
        job = self.client.run("ls large; python3 train.py", **options)
        lines = list(job.logs(follow=True, stream="stdout"))
        self.assertEqual(lines, ["attempt 1\n", "no line end", "\n", "attempt 2\n", "no line end"])
        self.assertIs(job.wait(timeout="1m"), job)
        self.assertEqual(list(job.logs(stream="stdout")), lines)
        self.assertIn("large", "".join(job.logs(stream="stderr")))
        self.assertEqual([(each.number, each.exit_code) for each in job.attempts()], [(1, 3), (2, 0)])
        self.assertEqual(job.download("out"), ["results/model"])
        with open("out/results/model", encoding="utf-8") as file:
            self.assertEqual(file.read(), "weights 2")
        self.assertEqual(job.download("out"), ["results/model"])
        with open("out/results/model", "w", encoding="utf-8") as file:
            file.write("changed")
        with self.assertRaisesRegex(rp.DownloadError, "would be replaced"):
            job.download("out")
        job.download("out", force=True)
        same = self.client.run("ls large; python3 train.py", **options)
        self.assertEqual(same.id, job.id)
        self.assertIn("SUCCEEDED, 2 attempts", repr(same.refresh()))
        self.assertIn("<td>ERROR</td><td>3</td>", job._repr_html_())
        self.assertEqual(self.client.job(job.id).state, "SUCCEEDED")
        self.assertEqual([each.id for each in self.client.jobs(name=options["key"])], [job.id])
        with self.assertRaises(rp.Conflict) as raised:
            self.client.run("other", **options)
        self.assertIn("Use another key", str(raised.exception))

    def test_a_failure_says_why(self) -> None:
        job = self.client.run("echo so far; echo but no further >&2; exit 4", retry=rp.Retry(1, delay="50ms"))
        with self.assertRaises(rp.ChainFailed) as raised:
            job.wait()
        error = raised.exception
        self.assertEqual((error.state, error.cause, error.exit_code), ("FAILED", "KERNEL_NONZERO_EXIT", 4))
        self.assertEqual((error.attempts, sorted(error.last_lines)), (2, ["but no further", "so far"]))
        self.assertIn("retries exhausted: 1 of 1 retry used", str(error))
        self.assertEqual(job.wait(check=False).state, "FAILED")
        again = job.resubmit(env={"UNUSED": "1"}, retry=0)
        self.assertEqual(again.wait(check=False).attempts()[-1].number, 3)

    def test_errors_have_their_types(self) -> None:
        with self.assertRaises(rp.ValidationError) as raised:
            self.client.run("true", priority=1000, batch_timeout=-1)
        self.assertEqual(sorted(issue.path for issue in raised.exception.issues), ["batch_timeout", "priority"])
        with self.assertRaises(rp.NotFound):
            self.client.job("00000000-0000-7000-8000-000000000000")
        with self.assertRaises(rp.Forbidden) as forbidden:
            client(token="rpr_unknown").run("true")
        self.assertIn("Set REPRISE_TOKEN", str(forbidden.exception))
        with self.assertRaises(rp.Unreachable):
            os.environ["REPRISE_NETWORK_RETRY_SECONDS"] = "0"
            self.addCleanup(os.environ.pop, "REPRISE_NETWORK_RETRY_SECONDS")
            client(url="http://127.0.0.1:9").run("true")

    def test_waiting_has_an_end_and_cancelling_ends_the_job(self) -> None:
        job = self.client.run("sleep 600")
        with self.assertRaises(rp.WaitTimeout) as raised:
            job.wait(timeout="100ms")
        self.assertIsInstance(raised.exception, TimeoutError)
        job.cancel("not needed", force=True)
        with self.assertRaises(rp.ChainFailed) as failed:
            job.wait()
        self.assertEqual(failed.exception.state, "CANCELLED")

    def test_a_retry_now_and_a_pipeline(self) -> None:
        job = self.client.run("test $REPRISE_ATTEMPT = 2", retry=rp.Retry(1, delay="1h"))
        eventually(lambda: job.attempts()[0].decision and job.retry_now())
        job.wait()
        first = self.client.run("mkdir data; seq 3 > data/numbers", outputs=["data/**"])
        second = self.client.run("paste -sd+ in/data/numbers", inputs=[rp.Input(first, to="in")], after=first)
        self.assertEqual(list(second.wait().logs()), ["1+2+3\n"])

    def test_ctrl_c_leaves_the_work_running(self) -> None:
        program = (
            "import sys, reprise_client as rp\n"
            "job = rp.connect().run('sleep 600')\n"
            "print(job.id, flush=True)\n"
            f"{'{}'}\n"
        )
        for wait in ("job.wait()", "list(job.logs(follow=True))"):
            found = support.server()
            env = {**os.environ, "REPRISE_URL": found.url, "REPRISE_TOKEN": found.token}
            child = subprocess.Popen(
                [sys.executable, "-c", program.format(wait)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env
            )
            assert child.stdout is not None
            job = self.client.job(child.stdout.readline().decode().strip())
            eventually(lambda: job.attempts()[0].status == "RUNNING")
            child.send_signal(signal.SIGINT)
            _, said = child.communicate(timeout=60)
            self.assertIn("continues on the server; job.cancel() ends it.", said.decode())
            self.assertIn("KeyboardInterrupt", said.decode())
            self.assertEqual(job.attempts()[0].status, "RUNNING")
            job.cancel(force=True)


class Functions(InDirectory):
    def function(self, work: Any, **options: Any) -> "rp.Function[Any]":
        made: "rp.Function[Any]" = rp.function(client=self.client, python=PYTHON, **options)(work)
        return made

    def test_a_mapped_function(self) -> None:
        def score(seed: int) -> float:
            if seed == 3:
                raise ValueError("three")
            return random.Random(seed).random()

        mapped = self.function(score, retry=rp.Retry(1, delay="50ms"))
        self.assertEqual(mapped(1), random.Random(1).random())
        group = mapped.map(range(6), group=key("sweep"), max_failed="50%")
        self.assertIs(group.wait(timeout="2m"), group)
        values = group.results(return_exceptions=True)
        self.assertEqual([each for at, each in enumerate(values) if at != 3], [mapped(at) for at in (0, 1, 2, 4, 5)])
        self.assertIsInstance(values[3], ValueError)
        # Without the source line: a kernel that cannot read this file does not have it.
        self.assertRegex(str(values[3].__cause__), r'test_server\.py", line \d+, in score\n(.*\n)*ValueError: three')
        with self.assertRaisesRegex(ValueError, "three"):
            group.results()
        same = self.client.group(str(group.key))
        self.assertEqual((same.id, len(same), len(same.failed())), (group.id, 6, 1))
        self.assertIn(group.id, [each.id for each in self.client.groups(search=str(group.key))])
        self.assertEqual([(each.index, each.attempts) for each in same.failed()], [(3, 2)])
        self.assertIn("5 succeeded, 1 failed, of 6", repr(group))
        self.assertIn("100% · 1 failed", group._repr_html_())
        again = same.failed().resubmit(memory="256m", retry=0).wait()
        self.assertEqual([each.attempts for each in again.failed()], [3])

    def test_calls_one_by_one(self) -> None:
        self.assertEqual(self.function(pow).submit(2, 10).result(timeout="1m"), 1024)
        with self.assertRaisesRegex(rp.RemoteError, "Traceback of the program"):
            self.function(_raises_what_cannot_be_sent).submit().result()
        with self.assertRaises(rp.ChainFailed):
            self.function(os._exit).submit(9).result()

    def test_another_python_is_refused_with_the_way_out(self) -> None:
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(self.directory)
        program = (
            "import sys; sys.version_info = (3, 1); sys.argv = sys.argv[1:]; "
            "__file__ = sys.argv[0]; exec(open(__file__).read())"
        )
        with open("python", "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\nexec {sys.executable} -c '{program}' \"$@\"\n")
        os.chmod("python", 0o755)
        call = self.function(pow, upload="python", retry=5).options(python="./python").submit(2, 3)
        with self.assertRaisesRegex(rp.RemoteError, "is Python 3.1. Name an interpreter of the same version"):
            call.result()
        self.assertEqual(len(call.attempts()), 1)

    def test_large_arguments_fill_several_archives(self) -> None:
        items = [bytes([at]) * (17 * 1024 * 1024) for at in range(3)]
        sized = self.function(_measure)
        group = sized.map(items, group=key("large"))
        self.assertEqual(group.results(), [(at, 17 * 1024 * 1024) for at in range(3)])
        self.assertEqual(sized.map(items, group=group.key).id, group.id)

    def test_results_of_another_project_are_not_unpickled(self) -> None:
        group = self.function(pow).starmap([(2, 3)], group=key("own"))
        self.assertEqual(group.results(), [8])
        with self.assertRaises(rp.Forbidden) as raised:
            client(project="research").group(group.id).results()
        self.assertEqual(raised.exception.code, "NOT_OWN_PROJECT")
        self.assertEqual(client(project="default").group(group.id).results(), [8])

    def test_an_array_and_its_outputs(self) -> None:
        command = 'test "$REPRISE_INDEX" != 2 && mkdir out && echo "$REPRISE_INDEX" > out/number'
        group = self.client.array(command, range(1, 4), outputs="out/*", group=key("array"), max_failed=2)
        after = self.client.array("true", "1", after=(group, "ended"), group=key("after"))
        self.assertEqual(after.wait().outcome, "SUCCEEDED")
        paths = group.wait().download(os.path.join(self.directory, "results"))
        self.assertEqual(paths, ["1/out/number", "3/out/number"])
        self.assertEqual([each.state for each in group.members()], ["SUCCEEDED", "FAILED", "SUCCEEDED"])
        running = self.client.array("sleep 600", "1-2", group=key("long"))
        self.assertEqual(running.cancel("enough").wait().outcome, "CANCELLED")
        self.assertEqual(running.job(2).wait(check=False).state, "CANCELLED")

    def test_an_executor(self) -> None:
        with rp.Executor(self.client, python=PYTHON, memory="128m") as executor:
            futures = [executor.submit(pow, 2, number) for number in range(10)]
            self.assertEqual(sorted(each.result() for each in as_completed(futures)), [2**at for at in range(10)])
            self.assertEqual(list(executor.map(operator.add, [1, 2], [10, 20])), [11, 22])
            failing = executor.submit(int, "no number")
            self.assertIsInstance(failing.exception(), ValueError)
            long: Any = executor.submit(_sleep)
            job = self.client.job(eventually(lambda: long.job_id))
            self.assertTrue(long.cancel())
            self.assertEqual(job.wait(check=False).state, "CANCELLED")
        with self.assertRaises(RuntimeError):
            executor.submit(pow, 2, 2)
        refused = rp.Executor(self.client, python=PYTHON, priority=1000)
        with self.assertRaises(rp.ValidationError):
            refused.submit(pow, 2, 2).result()
        refused.shutdown()

    def test_asyncio(self) -> None:
        async def main() -> None:
            found = support.server()
            async with rp.AsyncClient(found.url, found.token) as each:
                jobs = await asyncio.gather(*(each.run(f"echo {number}") for number in range(3)))
                lines = await asyncio.gather(*(_lines(job) for job in jobs))
                self.assertEqual(lines, [["0\n"], ["1\n"], ["2\n"]])
                self.assertEqual(await (await jobs[0].wait()).state(), "SUCCEEDED")
                group = await each.array("exit 3", "1-2", group=key("async"))
                self.assertEqual([m.state async for m in (await group.wait()).members()], ["FAILED", "FAILED"])
                with self.assertRaises(rp.ChainFailed):
                    await (await each.run("exit 1")).wait()

        asyncio.run(main())


async def _lines(job: Any) -> List[str]:
    return [line async for line in job.logs(follow=True)]


def _increment(number: int) -> int:
    return number + 1


def _measure(item: bytes) -> Tuple[int, int]:
    return item[0], len(item)


def _sleep() -> None:
    import time

    time.sleep(600)


def _raises_what_cannot_be_sent() -> None:
    class Local(Exception):
        def __reduce__(self) -> str:
            raise pickle.PicklingError("no")

    raise Local("remote")


class Faults(InDirectory):
    """A connection that breaks, and a server that is killed."""

    def setUp(self) -> None:
        super().setUp()
        self.proxy = Proxy(support.server().port)
        self.addCleanup(self.proxy.close)
        self.through = client(url=self.proxy.url)

    def count(self, text: bytes) -> int:
        return sum(text in each for each in self.proxy.seen)

    def test_a_request_that_fails_is_sent_again_and_creates_nothing_twice(self) -> None:
        for fault in ("reset", "502", "half", "slow"):
            with self.subTest(fault):
                self.proxy.seen.clear()
                self.proxy.fault = once(b"POST /v2/sessions ", fault)
                job = self.through.run("true", name=key(fault)).wait()
                self.assertEqual(self.count(b"POST /v2/sessions "), 1 if fault == "slow" else 2)
                self.assertEqual([each.id for each in self.client.jobs(name=job.name)], [job.id])

    def test_results_arrive_through_faults(self) -> None:
        for fault in ("reset", "502", "half", "slow"):
            with self.subTest(fault):
                self.proxy.fault = once(b"results/result.pkl", fault)
                work = rp.function(client=self.through, python=PYTHON)(_increment)
                self.assertEqual(work.map(range(2)).results(), [1, 2])

    def test_a_broken_download_continues(self) -> None:
        job = self.client.run("head -c 3000000 /dev/urandom > data", outputs="data").wait()
        self.proxy.seen.clear()
        self.proxy.fault = once(b"/outputs/files/data", "half")
        through = self.through.job(job.id)
        self.assertEqual(through.download(self.directory), ["data"])
        self.assertEqual(os.path.getsize(os.path.join(self.directory, "data")), 3_000_000)

    def test_a_log_is_followed_without_a_gap_when_its_connection_breaks(self) -> None:
        program = "for i in $(seq 30); do echo line $i; sleep 0.05; done"
        self.proxy.fault = once(b"/log/follow", "cut")
        lines = list(self.through.run(program).logs(follow=True))
        self.assertEqual(lines, [f"line {at}\n" for at in range(1, 31)])
        self.assertGreaterEqual(self.count(b"/log/follow"), 2)

    def test_a_server_that_is_killed_only_delays(self) -> None:
        found = support.server()
        program = (
            'echo begun; while ! [ -e "$REPRISE_CHAIN_DIR/go" ]; do sleep 0.05; done; '
            "for i in $(seq 20); do echo line $i; done"
        )
        job = self.client.run(program, cpus=0.1)
        lines: List[str] = []
        begun = threading.Event()

        def follow() -> None:
            for line in job.logs(follow=True):
                lines.append(line)
                begun.set()

        gated = rp.function(client=self.client, python=PYTHON, cpus=0.1)(_wait_for_file)
        group = gated.map(range(3), group=key("killed"))
        ids = [each.chain_id for each in group.members()]
        results: List[Any] = []
        work = [follow, lambda: job.wait(), lambda: results.extend(group.results())]
        threads = [threading.Thread(target=each) for each in work]
        for thread in threads:
            thread.start()
        self.assertTrue(begun.wait(120))
        places = [os.path.join(found.data_dir, "agent", "chains", chain_id) for chain_id in (job.id, *ids)]
        eventually(lambda: all(os.path.isdir(place) for place in places))
        found.kill()
        try:
            for place in places:
                with open(os.path.join(place, "go"), "w", encoding="utf-8"):
                    pass
        finally:
            found.start()
        for thread in threads:
            thread.join(180)
            self.assertFalse(thread.is_alive())
        self.assertEqual(lines, ["begun\n", *(f"line {at}\n" for at in range(1, 21))])
        self.assertEqual(results, [0, 1, 2])
        self.assertEqual(job.state, "SUCCEEDED")


def _wait_for_file(number: int) -> int:
    import os
    import time

    while not os.path.exists(os.path.join(os.environ["REPRISE_CHAIN_DIR"], "go")):
        time.sleep(0.05)
    return number


if __name__ == "__main__":
    unittest.main()
