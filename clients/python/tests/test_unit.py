"""Parts without a server: schedules, values, settings, archives, paths."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import tarfile
import tempfile
import threading
import unittest
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from io import BytesIO
from typing import Any, Dict, List

import support

import reprise_client as rp
from reprise_client._calls import archives
from reprise_client._download import _assert_plain, read_file
from reprise_client._group import written_indexes
from reprise_client._retry import policy_of
from reprise_client._schedule import (
    HttpRetry,
    NetworkRetry,
    ReconnectRetry,
    judge_answer,
    next_attempt_delay,
    parse_retry_after,
    reconnect_delay,
)
from reprise_client._settings import find_server
from reprise_client._transport import Transport
from reprise_client._upload import pack_files, stays_inside
from reprise_client._values import byte_count, parse_share, seconds

VECTORS = os.path.join(os.path.dirname(__file__), "..", "..", "..", "test", "unit", "client", "client-retry.json")


class Schedules(unittest.TestCase):
    """The schedule of the JavaScript client, by the same vectors."""

    def setUp(self) -> None:
        with open(VECTORS, encoding="utf-8") as file:
            self.vectors = json.load(file)

    def test_http_layer(self) -> None:
        asked = {
            "Retry-After 7 on 429": 7,
            "Retry-After 0 falls back to backoff": 0,
            "blog list without 429/503: 503 + Retry-After still retried": 2,
        }
        cases = [case for case in self.vectors["http_layer"]["cases"] if case["name"] != "POST is not retried"]
        self.assertGreaterEqual(len(cases), 10)
        for case in cases:
            with self.subTest(case["name"]):
                given = case["config"]
                config = HttpRetry(given["total"], given["backoff_factor"], statuses=tuple(given["force"]))
                for step in case["out"]["steps"]:
                    verdict = judge_answer(config, step["status"], asked.get(case["name"]), step["response"])
                    action = step["action"] if step["action"] in ("retry", "raise") else "return"
                    self.assertEqual(verdict, (action, step["sleep_s"] if action == "retry" else None))

    def test_network_layer(self) -> None:
        layer = self.vectors["network_layer"]
        for case in layer["wait_exponential(1,min=1,max=10) by failed attempt number"]:
            self.assertEqual(next_attempt_delay(NetworkRetry(), case["attempt"], 0, _never), case["sleep_s"])
        for vector in layer["cases"]:
            sleeps: List[float] = []
            elapsed, attempts = 0.0, 0
            while True:
                attempts += 1
                elapsed += vector["attempt_cost_s"]
                if vector["result"] == "ok" and attempts == vector["attempts"]:
                    break
                delay = next_attempt_delay(NetworkRetry(), attempts, elapsed, _never)
                if delay is None:
                    break
                sleeps.append(delay)
                elapsed += delay
            expected = (vector["attempts"], vector["sleeps_s"], vector["elapsed_s"])
            self.assertEqual((attempts, sleeps, round(elapsed, 1)), expected)
        random = NetworkRetry(maximum=30, random=True, stop_after_seconds=None, stop_after_attempts=7)
        for case in layer["wait_random_exponential(1,min=1,max=30) bounds by failed attempt"][:6]:
            for value, bound in ((0.0, case["low"]), (1.0, case["high"])):
                self.assertEqual(next_attempt_delay(random, case["attempt"], 1e9, lambda: value), bound)
        self.assertIsNone(next_attempt_delay(random, 7, 0, lambda: 0.0))

    def test_retry_after_and_reconnects(self) -> None:
        noon = 1_795_262_400
        cases: Dict[Any, Any] = {
            "7": 7,
            " 120 ": 120,
            "Sat, 21 Nov 2026 12:00:30 GMT": 30,
            "Sat, 21 Nov 2026 11:00:00 GMT": 0,
            "soon": None,
            "": None,
            None: None,
        }
        for header, expected in cases.items():
            self.assertEqual(parse_retry_after(header, noon), expected)
        for failed in (1, 2, 3, 10, 10_000):
            most = min(10, 0.25 * 2 ** min(failed - 1, 30))
            self.assertEqual(reconnect_delay(ReconnectRetry(), failed, lambda: 0.0), most / 2)
            self.assertEqual(reconnect_delay(ReconnectRetry(), failed, lambda: 1.0), most)


def _never() -> float:
    raise AssertionError("asked for randomness")


class Values(unittest.TestCase):
    def test_durations(self) -> None:
        cases: Dict[Any, float] = {
            "90s": 90,
            "5m": 300,
            "2h": 7200,
            "1d": 86400,
            "1h30m": 5400,
            "1.5m": 90,
            "250ms": 0.25,
            "30": 30,
            7: 7,
        }
        for given, expected in cases.items():
            self.assertEqual(seconds(given), expected)
        self.assertEqual(seconds(timedelta(minutes=2)), 120)
        refused: List[Any] = ["", "soon", "5x", "m5", "1m1h", True]
        for wrong in refused:
            with self.assertRaises(rp.ConfigurationError):
                seconds(wrong)

    def test_bytes(self) -> None:
        cases: Dict[Any, int] = {
            "512m": 512 * 1024**2,
            "8g": 8 * 1024**3,
            "1.5k": 1536,
            "4GiB": 4 * 1024**3,
            "7": 7,
            9: 9,
        }
        for given, expected in cases.items():
            self.assertEqual(byte_count(given), expected)
        with self.assertRaises(rp.ConfigurationError):
            byte_count("much")

    def test_shares_and_indexes(self) -> None:
        self.assertEqual(parse_share("5%"), ("max_failed_percent", 5))
        self.assertEqual(parse_share(3), ("max_failed", 3))
        self.assertEqual(written_indexes(range(1, 201)), "1-200")
        self.assertEqual(written_indexes(range(0, 100, 10)), "0-90:10")
        with self.assertRaises(rp.ConfigurationError):
            written_indexes(range(0))

    def test_policies(self) -> None:
        rules = [rp.on("oom").grow(memory=2, to="64g"), rp.on(exit=64).fail(), rp.on(exit="65-70").retry(delay="5s")]
        policy = rp.Retry(5, delay="30s", backoff="exponential", rules=rules)
        self.assertEqual(
            policy_of(policy),
            {
                "max_retries": 5,
                "retry_delay": 30,
                "backoff": "EXPONENTIAL",
                "rules": [
                    {
                        "match": {"causes": ["OOM_KILLED"]},
                        "action": "RETRY",
                        "scale_resources": [{"slot": "mem", "factor": 2, "max": "64g"}],
                    },
                    {"match": {"exit_codes": [64]}, "action": "FAIL"},
                    {"match": {"exit_codes": ["65-70"]}, "action": "RETRY", "delay": 5},
                ],
            },
        )
        self.assertEqual(policy_of(0), {"max_retries": 0})
        self.assertIsNone(policy_of(None))
        with self.assertRaises(rp.ConfigurationError):
            policy_of(rp.Retry(1, rules=[rp.on("oom")]))


class Settings(unittest.TestCase):
    def setUp(self) -> None:
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.env = {
            "XDG_CONFIG_HOME": self.directory.name,
            "REPRISE_DATA_DIR": os.path.join(self.directory.name, "data"),
        }

    def profiles(self, mode: int = 0o600) -> None:
        path = os.path.join(self.directory.name, "reprise", "config.json")
        os.makedirs(os.path.dirname(path))
        lab = {"urls": ["https://lab.example"], "token": "rpr_lab"}
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"current": "lab", "profiles": {"lab": lab}}, file)
        os.chmod(path, mode)

    def test_the_order_of_places(self) -> None:
        with self.assertRaisesRegex(rp.ConfigurationError, "There is no token for http://127.0.0.1:4000"):
            find_server(environment=self.env)
        os.makedirs(self.env["REPRISE_DATA_DIR"])
        for name, text in (("admin-token", "rpr_admin\n"), ("server-url", "http://127.0.0.1:4999\n")):
            with open(os.path.join(self.env["REPRISE_DATA_DIR"], name), "w", encoding="utf-8") as file:
                file.write(text)
        found = find_server(environment=self.env)
        self.assertEqual((list(found.urls), found.token), (["http://127.0.0.1:4999"], "rpr_admin"))
        self.profiles()
        found = find_server(environment=self.env)
        self.assertEqual((list(found.urls), found.token), (["https://lab.example"], "rpr_lab"))
        found = find_server(environment={**self.env, "REPRISE_URL": "http://a,http://b/", "REPRISE_TOKEN": "rpr_env"})
        self.assertEqual((list(found.urls), found.token), (["http://a", "http://b"], "rpr_env"))
        found = find_server("http://c", "rpr_given", environment={**self.env, "REPRISE_TOKEN": "rpr_env"})
        self.assertEqual((list(found.urls), found.token), (["http://c"], "rpr_given"))

    def test_a_stored_token_goes_to_its_own_server_only(self) -> None:
        self.profiles()
        with self.assertRaisesRegex(rp.ConfigurationError, "no token for https://other.example"):
            find_server("https://other.example", environment=self.env)

    def test_profiles_that_others_can_read_are_refused(self) -> None:
        self.profiles(0o644)
        with self.assertRaisesRegex(rp.ConfigurationError, "chmod 600"):
            find_server(environment=self.env)


class Uploads(unittest.TestCase):
    def setUp(self) -> None:
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(self.directory.name)

    def write(self, **files: str) -> None:
        for name, text in files.items():
            path = name.replace("__", "/").replace("_dot_", ".")
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)

    def names(self, archive: bytes) -> List[str]:
        with tarfile.open(fileobj=BytesIO(archive)) as read:
            return read.getnames()

    def test_ignored_files_are_left_out(self) -> None:
        self.write(train_dot_py="print(1)\n", data__large="x", lib__a_dot_py="", **{"_dot_gitignore": "data/\n"})
        os.chmod("train.py", 0o755)
        archive = pack_files(".")
        self.assertEqual(self.names(archive), [".gitignore", "lib/a.py", "train.py"])
        with tarfile.open(fileobj=BytesIO(archive)) as read:
            self.assertEqual([each.mode for each in read.getmembers()], [0o644, 0o644, 0o755])
        self.assertEqual(self.names(pack_files("lib")), ["lib/a.py"])
        self.assertEqual(hashlib.sha256(archive).digest(), hashlib.sha256(pack_files(".")).digest())

    def test_long_names_and_links(self) -> None:
        long = "d" * 90 + "/" + "é" * 60
        os.makedirs("d" * 90)
        with open(long, "w", encoding="utf-8") as file:
            file.write("content")
        os.symlink(long, "link")
        with tarfile.open(fileobj=BytesIO(pack_files("."))) as read:
            members = {each.name: each for each in read.getmembers()}
            self.assertEqual(members["link"].linkname, long)
            content = read.extractfile(long)
            assert content is not None
            self.assertEqual(content.read(), b"content")
        os.symlink("../outside", "bad")
        with self.assertRaisesRegex(rp.ConfigurationError, "leads out"):
            pack_files(".")

    def test_the_archive_is_that_of_the_command_line(self) -> None:
        command = support.COMMAND
        if command == [""]:
            self.skipTest("there is no command line")
        self.write(train_dot_py="print(1)\n", lib__a_dot_py="a" * 1000)
        os.makedirs("d" * 99)
        with open("d" * 99 + "/file", "w", encoding="utf-8") as file:
            file.write("x")
        found = support.server()
        env = {**os.environ, "REPRISE_URL": found.url, "REPRISE_TOKEN": found.token}
        made = subprocess.run(
            [*command, "create", "--upload", ".", "--", "true"], env=env, check=True, capture_output=True
        )
        self.assertIn(hashlib.sha256(pack_files(".")).hexdigest()[:12], made.stderr.decode())

    def test_large_calls_are_split(self) -> None:
        calls = [b"x" * (20 * 1024 * 1024)] * 3
        self.assertEqual([(first, count) for first, count, _ in archives(calls, b"f", None)], [(0, 1), (1, 1), (2, 1)])
        self.assertIn(".reprise-function/run.py", self.names(next(archives([b"call"], None, None))[2]))


class Paths(unittest.TestCase):
    def test_links_stay_inside(self) -> None:
        for depth, target, expected in (
            (0, "a/b", True),
            (1, "../a", True),
            (0, "../a", False),
            (1, "../../a", False),
            (1, "a/../../b", False),
            (0, "/etc", False),
            (0, "C:\\x", False),
            (0, "", False),
        ):
            self.assertEqual(stays_inside(depth, target), expected, target)

    def test_paths_that_leave_the_directory_are_refused(self) -> None:
        for path in ("../a", "/etc/passwd", "a/../../b", "a//b", "a\\b", "./a", "C:a", "a.reprise-part"):
            with self.assertRaises(rp.DownloadError):
                _assert_plain(path, None)
        with self.assertRaisesRegex(rp.DownloadError, "outside"):
            _assert_plain("link", "../../etc")


class Tokens(unittest.TestCase):
    """What another server gets, and what a server that lies can do."""

    def serve(self, answer: Any) -> str:
        self.headers: List[Any] = []
        test = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                test.headers.append(self.headers)
                answer(self)

            def log_message(self, *_: Any) -> None:
                pass

        listener = HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=listener.serve_forever, daemon=True).start()
        self.addCleanup(listener.server_close)
        self.addCleanup(listener.shutdown)
        return f"http://127.0.0.1:{listener.server_port}"

    def test_the_token_does_not_follow_a_redirect_to_another_host(self) -> None:
        def elsewhere(handler: BaseHTTPRequestHandler) -> None:
            handler.send_response(307)
            handler.send_header("Location", f"http://localhost:{handler.server.server_port}/v2/other")  # type: ignore[attr-defined]
            handler.send_header("Content-Length", "0")
            handler.end_headers()

        url = self.serve(elsewhere)
        with self.assertRaisesRegex(rp.RepriseError, "sent to configured servers only"):
            Transport([url], "rpr_secret").json("GET", "/v2/sessions")
        self.assertEqual([each["authorization"] for each in self.headers], ["Bearer rpr_secret"])

    def test_a_result_with_another_hash_is_not_used(self) -> None:
        def lie(handler: BaseHTTPRequestHandler) -> None:
            handler.send_response(200)
            handler.send_header("ETag", '"' + hashlib.sha256(b"honest").hexdigest() + '"')
            handler.send_header("Content-Length", "7")
            handler.end_headers()
            handler.wfile.write(b"changed")

        with self.assertRaisesRegex(rp.DownloadError, "damaged"):
            read_file(Transport([self.serve(lie)], None), "session", "result.pkl")

    def test_an_older_server_is_named(self) -> None:
        def unknown(handler: BaseHTTPRequestHandler) -> None:
            body = b'{"code":"NO_SUCH_PATH","detail":"There is nothing here."}'
            handler.send_response(404)
            handler.send_header("Content-Type", "application/problem+json")
            handler.send_header("Content-Length", str(len(body)))
            handler.end_headers()
            handler.wfile.write(body)

        with self.assertRaisesRegex(rp.NotSupported, "This server has no groups over REST: it is older"):
            rp.connect(self.serve(unknown), "rpr_x").group("sweep")


if __name__ == "__main__":
    unittest.main()
