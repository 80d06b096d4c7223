"""Which files are uploaded, and the archive that they make: the same bytes as that of the command line."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import subprocess
import tempfile
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Set, Union

from ._transport import Transport
from .errors import ConfigurationError, NotFound

#: A file or directory, or several.
Upload = Union[str, "os.PathLike[str]", Sequence[Union[str, "os.PathLike[str]"]]]

_FILES_MAX = 20_000
_PART_BYTES = 8 * 1024 * 1024
#: The year 1980, the first that every archive format can express.
_MTIME = 315_532_800
_END = bytes(1024)


class _Entry(NamedTuple):
    name: str
    path: str
    target: Optional[str]
    executable: bool


def pack_files(upload: Optional[Upload], contents: Mapping[str, bytes] = {}) -> bytes:
    """Returns the archive of these files and directories, without the files that git ignores, and of the contents."""
    entries = {} if upload is None else _entries(upload)
    taken = next((name for name in contents if name in entries), None)
    if taken is not None:
        raise ConfigurationError(f"upload: {taken} has a name that the client uses itself. Leave it out.")
    out = bytearray()
    # The order of JavaScript's comparison, which compares UTF-16.
    for name in sorted([*entries, *contents], key=lambda each: each.encode("utf-16-be", "surrogatepass")):
        if name in contents:
            out += _file(name, contents[name])
            continue
        entry = entries[name]
        if entry.target is not None:
            out += _header(name, 0, "2", executable=True, target=entry.target)
            continue
        with open(entry.path, "rb") as file:
            out += _file(name, file.read(), executable=entry.executable)
    return bytes(out + _END)


def _entries(upload: Upload) -> Dict[str, _Entry]:
    given = [upload] if isinstance(upload, (str, os.PathLike)) else list(upload)
    here = os.path.realpath(".")
    entries: Dict[str, _Entry] = {}
    for each in given:
        path = os.path.realpath(each)
        if not os.path.exists(path):
            raise ConfigurationError(f"upload: there is no file {os.fspath(each)!r}.")
        inside = os.path.relpath(path, here)
        outside = inside == os.pardir or inside.startswith(os.pardir + os.sep)
        _add(entries, path, os.path.basename(path) if outside else "" if inside == "." else inside)
    if not entries:
        raise ConfigurationError(f"upload: there are no files in {', '.join(os.fspath(each) for each in given)}.")
    if len(entries) > _FILES_MAX:
        raise ConfigurationError(f"upload: there are more than {_FILES_MAX} files. Exclude some with a .gitignore.")
    return entries


def send_code(transport: Transport, archive: bytes, project: Optional[str]) -> str:
    """Uploads an archive in parts, unless the project has it. Returns its SHA-256."""
    sha256 = hashlib.sha256(archive).hexdigest()
    query: Dict[str, Any] = {"project": project}
    try:
        transport.json("GET", f"/v2/code/{sha256}", query=query)
        return sha256
    except NotFound as error:
        if error.code != "CODE_NOT_FOUND":
            raise
    state = transport.json("GET", f"/v2/code/{sha256}/parts", query=query)
    headers = {"Accept": "application/json", "Content-Type": "application/octet-stream"}
    while not state["complete"]:
        offset = int(state["received"])
        where = {**query, "bytes": len(archive), "offset": offset}
        part = archive[offset : offset + _PART_BYTES]
        state = json.loads(transport.send("PUT", f"/v2/code/{sha256}/parts", headers, part, query=where, wait=100).body)
    transport.json("POST", f"/v2/code/{sha256}", query=query)
    return sha256


def _file(name: str, content: bytes, *, executable: bool = False) -> bytes:
    return _header(name, len(content), "0", executable=executable) + content + _padding(len(content))


def _header(name: str, size: int, kind: str, *, executable: bool, target: str = "") -> bytes:
    """Returns the header of an entry in the format of `tar --format=posix`, without owner and time."""
    path, link = name.encode(), target.encode()
    records = (_record(b"path", path) if len(path) > 100 else b"") + (
        _record(b"linkpath", link) if len(link) > 100 else b""
    )
    before = b""
    if records:
        before = _block(b"extended", 0o644, len(records), "x", b"") + records + _padding(len(records))
    return before + _block(_cut(path), 0o755 if executable else 0o644, size, kind, _cut(link))


def _cut(text: bytes) -> bytes:
    return b"extended" if len(text) > 100 else text


def _record(keyword: bytes, value: bytes) -> bytes:
    """The length of a record counts its own digits."""
    bare = len(keyword) + len(value) + 3
    length = bare + len(str(bare))
    length = bare + len(str(length))
    return b"%d %s=%s\n" % (length, keyword, value)


def _block(name: bytes, mode: int, size: int, kind: str, target: bytes) -> bytes:
    made = bytearray(512)

    def put(offset: int, text: bytes) -> None:
        made[offset : offset + len(text)] = text

    put(0, name)
    put(100, b"%07o" % mode)
    put(108, b"%07o" % 0)
    put(116, b"%07o" % 0)
    put(124, b"%011o" % size)
    put(136, b"%011o" % _MTIME)
    put(148, b" " * 8)
    put(156, kind.encode())
    put(157, target)
    put(257, b"ustar")
    put(263, b"00")
    put(148, b"%06o\0" % sum(made))
    return bytes(made)


def _padding(size: int) -> bytes:
    return bytes(-size % 512)


def _add(entries: Dict[str, _Entry], path: str, name: str) -> None:
    if not os.path.isdir(path):
        return _take(entries, path, name)
    for file in _files_of(path):
        inner = os.path.join(path, file)
        if os.path.isdir(inner) and not os.path.islink(inner):
            # A repository within this one is listed as a directory.
            _add(entries, inner, os.path.join(name, file.rstrip("/")))
        elif os.path.lexists(inner):
            _take(entries, inner, os.path.join(name, file))


def _take(entries: Dict[str, _Entry], path: str, name: str) -> None:
    found = os.lstat(path)
    name = name.replace(os.sep, "/")
    target: Optional[str] = None
    if stat.S_ISLNK(found.st_mode):
        target = os.readlink(path)
        if not stays_inside(name.count("/"), target):
            raise ConfigurationError(
                f"upload: {name} is a link that leads out of the upload, to {target}. Leave it out."
            )
    elif not stat.S_ISREG(found.st_mode):
        return
    known = entries.get(name)
    if known is not None and known.path != path:
        raise ConfigurationError(f"upload: {known.path} and {path} would both be {name}. Rename one.")
    entries[name] = _Entry(name, path, target, bool(found.st_mode & stat.S_IXUSR))


def stays_inside(depth: int, target: str) -> bool:
    """Whether a link at this depth stays in its tree; `..` is allowed only at the beginning of its target."""
    if target == "" or target[0] in "/\\" or "\0" in target or target[1:2] == ":":
        return False
    parts = [part for part in target.replace("\\", "/").split("/") if part not in ("", ".")]
    ups = next((at for at, part in enumerate(parts) if part != ".."), len(parts))
    return ".." not in parts[ups:] and ups <= depth


def _files_of(directory: str) -> List[str]:
    """Lists files by git's own rules, also outside of a repository; all files if there is no git and no .gitignore."""
    try:
        if _is_taken(directory):
            return _list(directory, ["--cached", "--others"])
        with tempfile.TemporaryDirectory(prefix="reprise-upload-") as elsewhere:
            _git(elsewhere, ["init", "--quiet"])
            tree = [f"--git-dir={os.path.join(elsewhere, '.git')}", f"--work-tree={directory}"]
            return _list(directory, ["--others"], tree)
    except FileNotFoundError:
        return _files_without_git(directory)
    except subprocess.CalledProcessError as error:
        said = os.fsdecode(error.stderr).strip()
        raise ConfigurationError(f"git cannot list the files of {directory}: {said}") from error


def _is_taken(directory: str) -> bool:
    """Whether the directory is in a repository that does not ignore all of it."""
    try:
        _git(directory, ["rev-parse", "--is-inside-work-tree"])
    except subprocess.CalledProcessError as error:
        if error.returncode == 128 and (b"not a git repository" in error.stderr or b"work tree" in error.stderr):
            return False
        raise
    try:
        _git(directory, ["check-ignore", "--quiet", "."])
    except subprocess.CalledProcessError as error:
        if error.returncode == 1:
            return True
        raise
    return False


def _list(directory: str, which: List[str], before: Sequence[str] = ()) -> List[str]:
    text = _git(directory, ["ls-files", "-z", "--exclude-standard", *which], before)
    found: Set[str] = {os.fsdecode(each) for each in text.split(b"\0") if each}
    return sorted(found)


def _git(directory: str, args: Sequence[str], before: Sequence[str] = ()) -> bytes:
    hidden = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    environment.update(GIT_OPTIONAL_LOCKS="0", LC_ALL="C")
    command = ["git", "-C", directory, "-c", "core.fsmonitor=false", *before, *args]
    return subprocess.run(command, env=environment, check=True, capture_output=True).stdout


def _files_without_git(directory: str) -> List[str]:
    found = [
        os.path.relpath(os.path.join(parent, name), directory)
        for parent, _, names in os.walk(directory)
        for name in names
    ]
    if any(os.path.basename(each) == ".gitignore" for each in found):
        raise ConfigurationError(f"upload: {directory} has a .gitignore, but git is not installed. Install git.")
    return found
