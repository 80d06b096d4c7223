"""A real server for the tests, and a proxy that breaks connections on demand."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from typing import Any, Callable, List, Optional

import reprise_client as rp

#: The program of the server, with Node's: set by the test that runs these.
COMMAND = os.environ.get("TEST_SERVER_COMMAND", "").split("\n")
DIRECTORY = os.environ.get("TEST_DIRECTORY") or tempfile.mkdtemp()
#: The interpreter of calls on the agent: this one.
PYTHON = sys.executable


class Server:
    """A server with its agent, whose data survives kills."""

    def __init__(self) -> None:
        self.data_dir = os.path.join(DIRECTORY, ".reprise")
        self.log_path = os.path.join(DIRECTORY, "server.log")
        self.port = 0
        self.url = ""
        self.process: Optional[subprocess.Popen[bytes]] = None

    def start(self) -> "Server":
        environment = {**os.environ, "REPRISE_DATA_DIR": self.data_dir, "REPRISE_PORT": str(self.port)}
        at = os.path.getsize(self.log_path) if os.path.exists(self.log_path) else 0
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen([*COMMAND, "serve"], env=environment, stdout=log, stderr=log, cwd=DIRECTORY)

        def ready() -> Optional[str]:
            with open(self.log_path, encoding="utf-8") as log:
                log.seek(at)
                text = log.read()
            if self.process is not None and self.process.poll() is not None:
                raise AssertionError(f"the server did not start:\n{text}")
            match = re.search(r"reprise ready (http://\S+)", text)
            return None if match is None else match[1]

        self.url = eventually(ready)
        self.port = int(self.url.rsplit(":", 1)[1])
        return self

    @property
    def token(self) -> str:
        with open(os.path.join(self.data_dir, "admin-token"), encoding="utf-8") as file:
            return file.read().strip()

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            with rp.connect(self.url, self.token) as found:
                # What runs outlives its server.
                for job in found.jobs(state=["QUEUED", "RUNNING"]):
                    job.cancel(force=True)
                eventually(lambda: not list(found.jobs(state="RUNNING")))
            self.process.send_signal(signal.SIGTERM)
            self.process.wait()


_server: List[Server] = []


def server() -> Server:
    """The server of all tests, started at its first use."""
    if not _server:
        _server.append(Server().start())
        import atexit

        atexit.register(_server[0].stop)
    return _server[0]


def client(**options: Any) -> rp.Client:
    found = server()
    made = rp.connect(options.pop("url", found.url), options.pop("token", found.token), **options)
    _clients.append(made)
    return made


_clients: List[rp.Client] = []


def close_clients() -> None:
    while _clients:
        _clients.pop().close()


def eventually(probe: Callable[[], Any], seconds: float = 120) -> Any:
    """Returns the first value that counts as true; the time only guards against hanging."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        value = probe()
        if value:
            return value
        time.sleep(0.05)
    raise AssertionError("it did not happen")


class Proxy:
    """Passes bytes to a server. A fault breaks connections; each is told what the client sent first."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        #: Takes the request's first bytes; returns the name of a fault, or None.
        self.fault: Callable[[bytes], Optional[str]] = lambda _: None
        self.seen: List[bytes] = []
        threading.Thread(target=self._listen, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _listen(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection, socket.create_connection(("127.0.0.1", self._port)) as upstream:
                fault: Optional[str] = None
                while True:
                    request = connection.recv(65_536)
                    if not request:
                        return
                    self.seen.append(request)
                    # The body of a request may come by itself; the fault is that of its head.
                    fault = self.fault(request) or fault
                    if fault == "reset":
                        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                        return
                    if fault == "502":
                        connection.sendall(
                            b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbad"
                        )
                        connection.shutdown(socket.SHUT_WR)
                        while connection.recv(65_536):
                            pass
                        return
                    upstream.sendall(request)
                    if self._answer(connection, upstream, fault):
                        return
        except OSError:
            pass

    def _answer(self, connection: socket.socket, upstream: socket.socket, fault: Optional[str]) -> bool:
        """Passes on what the server sends until the client sends again. Returns whether to close the connection."""
        import select

        while True:
            readable, _, _ = select.select([connection, upstream], [], [])
            if upstream not in readable:
                return False
            answer = upstream.recv(65_536)
            if not answer:
                return True
            if fault == "half":
                connection.sendall(answer[: max(1, len(answer) - 20)])
                return True
            if fault == "slow":
                for at in range(0, len(answer), 50):
                    connection.sendall(answer[at : at + 50])
                    time.sleep(0.002)
            elif fault == "cut":
                connection.sendall(answer)
                if b"data:" in answer:
                    return True
            else:
                connection.sendall(answer)


def once(which: bytes, name: str) -> Callable[[bytes], Optional[str]]:
    """A fault of the first request that contains this text."""
    done: List[bool] = []

    def fault(request: bytes) -> Optional[str]:
        if done or which not in request:
            return None
        done.append(True)
        return name

    return fault
