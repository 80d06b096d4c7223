"""Downloads outputs. They were written by strangers: nothing is written outside of the directory."""

from __future__ import annotations

import hashlib
import os
import stat
from datetime import datetime
from typing import Any, Callable, Dict, List, Mapping, Optional, Union
from urllib.parse import quote

from ._transport import Sink, Transport
from ._upload import stays_inside
from .errors import DownloadError

Path = Union[str, "os.PathLike[str]"]

_PART = ".reprise-part"
_PAGE = 100


def list_files(transport: Transport, session_id: str, match: Optional[str] = None) -> List[Mapping[str, Any]]:
    """Returns all files of the outputs of an attempt."""
    files: List[Mapping[str, Any]] = []
    cursor: Optional[str] = None
    while True:
        query = {"limit": _PAGE, "cursor": cursor, "match": match}
        page = transport.json("GET", f"/v2/sessions/{session_id}/outputs", query=query)
        place = page["place"]
        if place is not None:
            where = f"{place['directory']} on {place['node']}"
            raise DownloadError(f"The files stay in {where}. Read them there, or use `reprise download`.")
        files.extend(page["files"]["items"])
        cursor = page["files"]["next_cursor"]
        if cursor is None:
            return files


def download_files(
    transport: Transport,
    session_id: str,
    to: Path,
    *,
    match: Optional[str] = None,
    force: bool = False,
) -> List[str]:
    """Writes the outputs of an attempt into a directory, each file once its hash is verified. Returns the paths."""
    root = os.fspath(to)
    files = list_files(transport, session_id, match)
    for file in files:
        _assert_plain(str(file["path"]), file["link_target"])
    os.makedirs(root, exist_ok=True)
    _assert_distinct(files, root)
    missing = [file for file in files if not _is_there(file, root)]
    taken = [str(file["path"]) for file in missing if os.path.lexists(os.path.join(root, file["path"]))]
    if taken and not force:
        names = ", ".join(taken[:5]) + (f" and {len(taken) - 5} more" if len(taken) > 5 else "")
        raise DownloadError(f"{names} would be replaced, with another content. Give force=True, or another directory.")
    for file in missing:
        if file["link_target"] is None:
            _receive(transport, session_id, file, root)
    # Links come last, so that no file is written through one.
    for file in missing:
        if file["link_target"] is not None:
            _make_link(file, root)
    return [str(file["path"]) for file in files]


def read_file(transport: Transport, session_id: str, path: str) -> bytes:
    """Returns one output, verified by the hash that the server recorded when it was collected."""
    answer = transport.send("GET", file_path(session_id, path), {"Accept": "application/octet-stream"})
    found = hashlib.sha256(answer.body).hexdigest()
    if answer.headers.get("etag", "").strip('"') != found:
        raise DownloadError(f"{path} of session {session_id} has arrived damaged. Try again.")
    return answer.body


def file_path(session_id: str, path: str) -> str:
    return f"/v2/sessions/{session_id}/outputs/files/{quote(path)}"


def _assert_plain(path: str, link_target: Optional[str]) -> None:
    parts = path.split("/")
    unsafe = any(part in ("", ".", "..") for part in parts) or "\\" in path or "\0" in path or ":" in parts[0][1:2]
    if unsafe or path.endswith(_PART):
        raise DownloadError(f"{path!r} is refused: it is not a plain path. Download other files with match=.")
    if link_target is not None and not stays_inside(len(parts) - 1, link_target):
        raise DownloadError(f"{path!r} is refused: it is a link that leads to {link_target}, outside of the directory.")


def _assert_distinct(files: List[Mapping[str, Any]], root: str) -> None:
    folded: Dict[str, str] = {}
    for file in files:
        path = str(file["path"])
        other = folded.setdefault(path.casefold(), path)
        if other != path and _folds_case(root):
            raise DownloadError(
                f"{other} and {path} would be the same file here. Download them one by one with match=."
            )


def _folds_case(root: str) -> bool:
    probe = os.path.join(root, f".reprise-case-{os.getpid()}")
    with open(probe, "w"):
        pass
    try:
        return os.path.lexists(os.path.join(root, f".REPRISE-CASE-{os.getpid()}"))
    finally:
        os.unlink(probe)


def _is_there(file: Mapping[str, Any], root: str) -> bool:
    at = os.path.join(root, file["path"])
    if not os.path.lexists(at) or _in_the_way(file["path"], root) is not None:
        return False
    if file["link_target"] is not None:
        return os.path.islink(at) and os.readlink(at) == file["link_target"]
    found = os.lstat(at)
    return stat.S_ISREG(found.st_mode) and found.st_size == file["bytes"] and _hash_of(at) == file["sha256"]


def _in_the_way(path: str, root: str) -> Optional[str]:
    """Returns the first thing on the way to a path that is no directory, such as a link."""
    at = root
    for part in path.split("/")[:-1]:
        at = os.path.join(at, part)
        if os.path.lexists(at) and (os.path.islink(at) or not os.path.isdir(at)):
            return at
    return None


def _make_parents(path: str, root: str) -> None:
    for _ in range(2):
        blocked = _in_the_way(path, root)
        if blocked is not None:
            raise DownloadError(f"{blocked} is in the way of {path}: it is not a directory. Remove it first.")
        os.makedirs(os.path.join(root, *path.split("/")[:-1]), exist_ok=True)


def _receive(transport: Transport, session_id: str, file: Mapping[str, Any], root: str) -> None:
    path = str(file["path"])
    _make_parents(path, root)
    at = os.path.join(root, path)
    part = at + _PART
    # A part of an earlier download may be of another content: then it is read once more from its beginning.
    for _ in range(2):
        if _receive_part(transport, session_id, file, part) == file["sha256"]:
            break
        os.unlink(part)
    else:
        raise DownloadError(f"{path} has arrived damaged. Try again.")
    os.chmod(part, 0o755 if file["executable"] else 0o644)
    if file["modified_at"] is not None:
        moment = datetime.fromisoformat(str(file["modified_at"]).replace("Z", "+00:00")).timestamp()
        os.utime(part, (moment, moment))
    if os.path.isdir(at) and not os.path.islink(at):
        raise DownloadError(f"{at} is a directory, and a file is to replace it. Remove it first.")
    os.replace(part, at)


def _receive_part(transport: Transport, session_id: str, file: Mapping[str, Any], part: str) -> str:
    """Appends what is missing of a file; each try continues after the bytes that have arrived. Returns the hash."""
    if os.path.lexists(part):
        found = os.lstat(part)
        if not stat.S_ISREG(found.st_mode) or found.st_size > file["bytes"]:
            os.unlink(part)
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    with open(os.open(part, flags, 0o600), "ab") as out:
        size = os.fstat(out.fileno()).st_size
        if size < file["bytes"]:
            headers = {"Accept": "application/octet-stream", "Accept-Encoding": "identity"}
            _fetch(transport, session_id, file, headers, out.write, size, out.truncate)
    return _hash_of(part)


def _fetch(
    transport: Transport,
    session_id: str,
    file: Mapping[str, Any],
    headers: Dict[str, str],
    write: Sink,
    size: int,
    truncate: Callable[[int], Any],
) -> None:
    if size:
        headers["Range"] = f"bytes={size}-"
        headers["If-Range"] = f'"{file["sha256"]}"'

    def begin() -> Sink:
        truncate(size)
        return write

    transport.send("GET", file_path(session_id, str(file["path"])), headers, sink=begin)


def _hash_of(path: str) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for chunk in iter(lambda: file.read(256 * 1024), b""):
            digest.update(chunk)
    return digest.hexdigest()


def _make_link(file: Mapping[str, Any], root: str) -> None:
    _make_parents(file["path"], root)
    at = os.path.join(root, file["path"])
    if os.path.lexists(at):
        os.unlink(at)
    os.symlink(file["link_target"], at)
