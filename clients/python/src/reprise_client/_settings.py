"""Finds the server and its token, in the same places as the command line."""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence
from urllib.parse import urlsplit

from .errors import ConfigurationError

_LOCAL_URL = "http://127.0.0.1:4000"
_LOOPBACK = re.compile(r"(localhost|127(\.\d+){3}|::1)")


@dataclass(frozen=True)
class Server:
    """Addresses of the servers, without a slash at their ends, and the token for them."""

    urls: Sequence[str]
    token: Optional[str]


def find_server(
    url: Optional[str] = None,
    token: Optional[str] = None,
    profile: Optional[str] = None,
    environment: Optional[Mapping[str, str]] = None,
) -> Server:
    """Explicit arguments come before the environment, then the profile, then a server of this machine.

    A token that is stored for one server never goes to another: the token of a profile only to the servers of that
    profile, the token of the data directory only to this machine.
    """
    env = os.environ if environment is None else environment
    data_dir = _text(env, "REPRISE_DATA_DIR") or ".reprise"
    stated = url or (None if profile else _text(env, "REPRISE_URL"))
    urls = [_server_url(each.strip()) for each in stated.split(",")] if stated else []
    given = token or (None if profile else _text(env, "REPRISE_TOKEN"))
    chosen: Dict[str, Any] = {}
    if not urls or given is None:
        chosen = _choose_profile(profile, env)
    profile_urls = [_server_url(each) for each in chosen.get("urls", ())]
    local = _first_line(data_dir, "server-url")
    found = urls or profile_urls or [_server_url(local or _LOCAL_URL)]
    if given is None and chosen.get("token") and set(found) <= set(profile_urls):
        given = str(chosen["token"])
    if given is None and all(_LOOPBACK.fullmatch(urlsplit(each).hostname or "") for each in found):
        given = _first_line(data_dir, "admin-token")
    if given is None:
        where = ", ".join(found)
        raise ConfigurationError(
            f"There is no token for {where}. Set REPRISE_URL and REPRISE_TOKEN, choose a profile with REPRISE_PROFILE, "
            "or work in the directory of a local server, which has .reprise/admin-token."
        )
    return Server(found, given)


def number_setting(name: str, default: float, environment: Optional[Mapping[str, str]] = None) -> float:
    """Reads a number such as REPRISE_READ_TIMEOUT; a value that is no number counts as not set."""
    text = _text(os.environ if environment is None else environment, name)
    return float(text) if text and re.fullmatch(r"\d+(\.\d+)?", text) else default


def _text(environment: Mapping[str, str], name: str) -> Optional[str]:
    return environment.get(name, "").strip() or None


def _server_url(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigurationError(f"{text!r} is not the URL of a server. Write one like http://127.0.0.1:4000.")
    return f"{parts.scheme}://{parts.netloc}{parts.path}".rstrip("/")


def _profiles_path(environment: Mapping[str, str]) -> str:
    if sys.platform == "win32" and environment.get("APPDATA"):
        return os.path.join(environment["APPDATA"], "reprise", "config.json")
    base = environment.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return os.path.join(base, "reprise", "config.json")


def _choose_profile(stated: Optional[str], environment: Mapping[str, str]) -> Dict[str, Any]:
    read = _read_profiles(_profiles_path(environment))
    name = stated or _text(environment, "REPRISE_PROFILE") or read.get("current")
    if name is None:
        return {}
    profile = read.get("profiles", {}).get(name)
    if profile is None:
        raise ConfigurationError(f"There is no profile {name!r}. `reprise profiles` lists them.")
    return dict(profile)


def _read_profiles(path: str) -> Dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            if sys.platform != "win32" and os.fstat(file.fileno()).st_mode & 0o077:
                raise ConfigurationError(f"{path} holds tokens, but others can read it: chmod 600 {path}")
            read = json.load(file)
    except FileNotFoundError:
        return {}
    except ValueError:
        read = None
    profiles: Any = read.get("profiles", {}) if isinstance(read, dict) else None
    urls: List[Any] = [each.get("urls") for each in profiles.values()] if isinstance(profiles, dict) else [None]
    if not all(isinstance(each, list) for each in urls):
        raise ConfigurationError(f"{path} is not a valid profiles file. Repair or remove it.")
    return dict(read)


def _first_line(directory: str, name: str) -> Optional[str]:
    try:
        with open(os.path.join(directory, name), encoding="utf-8") as file:
            return file.read().strip() or None
    except OSError:
        return None
