"""The proxy in front of several workers: one that is installed, with a configuration of ours."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

from jinja2 import Environment, PackageLoader, StrictUndefined

from arena.writing import write_whole

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Proxy", "ProxyName", "ProxyProblem", "Site", "choose_proxy"]

ProxyName = Literal["nginx", "haproxy"]

_MOST_FILES = 65_536
# Debian keeps servers where a user's PATH does not look.
_FOLDERS = ("/usr/sbin", "/usr/local/sbin", "/opt/homebrew/bin")


class ProxyProblem(Exception):
    """No proxy can be run; the message names the reason and the remedy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """What a proxy serves.

    Attributes:
        host: address to listen on.
        port: port to listen on.
        ports: of the workers, on the loopback.
        trusted: the proxies further out that are believed when they name a visitor's address.
    """

    host: str
    port: int
    ports: tuple[int, ...]
    trusted: tuple[str, ...]

    @property
    def listen(self) -> str:
        """Address and port, as both proxies write them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


class Proxy(ABC):
    """A proxy program with its folder.

    Args:
        program: its path.
        folder: an empty one, for its configuration and what it writes while it runs.
    """

    name: ClassVar[ProxyName]
    template: ClassVar[str]
    reload_signal: ClassVar[signal.Signals]

    def __init__(self, program: Path, folder: Path) -> None:
        self._program = program
        self._folder = folder

    @property
    def config(self) -> Path:
        """Its configuration."""
        return self._folder / self.template.removesuffix(".j2")

    @property
    def command(self) -> list[str]:
        """What runs it in the foreground, with all that it starts ended when its input closes."""
        from serving import keeper

        return [sys.executable, "-P", keeper.__file__, *self._run()]

    def configure(self, site: Site) -> None:
        """Writes the configuration and lets the program check it.

        Raises:
            ProxyProblem: it refuses; the message has its words.
        """
        write_whole(self.config, _render(self.template, site, self._folder))
        checked = subprocess.run(self._check(), check=False, capture_output=True, text=True)
        if checked.returncode != 0:
            said = (checked.stderr or checked.stdout).strip()
            raise ProxyProblem(f"{self.name} refuses its configuration: {said}")

    def reload(self) -> None:
        """Lets it read its configuration again; what streams goes on as it began.

        Raises:
            ProxyProblem: it does not run.
        """
        try:
            pid = int(self._pid_file.read_text(encoding="ascii").split()[0])
            os.kill(pid, self.reload_signal)
        except (OSError, ValueError, IndexError) as error:
            raise ProxyProblem(f"{self.name} does not run ({error})") from None

    @property
    def _pid_file(self) -> Path:
        return self._folder / f"{self.name}.pid"

    @abstractmethod
    def _run(self) -> list[str]: ...

    @abstractmethod
    def _check(self) -> list[str]: ...


class Nginx(Proxy):
    """https://nginx.org."""

    name = "nginx"
    template = "nginx.conf.j2"
    reload_signal = signal.SIGHUP

    def _run(self) -> list[str]:
        return [str(self._program), "-p", str(self._folder), "-e", "stderr", "-c", str(self.config)]

    def _check(self) -> list[str]:
        return [*self._run(), "-t", "-q"]


class Haproxy(Proxy):
    """https://www.haproxy.org."""

    name = "haproxy"
    template = "haproxy.cfg.j2"
    reload_signal = signal.SIGUSR2

    def _run(self) -> list[str]:
        pid_file = str(self._pid_file)
        return [str(self._program), "-W", "-p", pid_file, "-f", str(self.config)]

    def _check(self) -> list[str]:
        return [str(self._program), "-c", "-q", "-f", str(self.config)]


def choose_proxy(folder: Path, wanted: ProxyName | None = None) -> Proxy:
    """The proxy asked for, or else the first one that is installed.

    Args:
        folder: for its configuration.
        wanted: which.

    Raises:
        ProxyProblem: it is not installed; the message says how to install one.
    """
    kinds: Sequence[type[Proxy]] = (Nginx, Haproxy)
    for kind in kinds:
        if wanted in (None, kind.name) and (program := _find(kind.name)) is not None:
            # As root, nginx leaves its own user to do the work, which must get at the folder.
            folder.chmod(0o711)
            return kind(program, folder)
    names = " or ".join([wanted] if wanted else get_args(ProxyName))
    package = "nginx-light" if wanted in (None, "nginx") else "haproxy"
    raise ProxyProblem(
        f"several workers need {names} to send each voter to the same one, and it is not "
        f"installed. On Debian and Ubuntu: apt-get install {package}. Or leave out --workers."
    )


def _find(name: str) -> Path | None:
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), *_FOLDERS])
    found = shutil.which(name, path=path)
    return None if found is None else Path(found)


def _count_files() -> int:
    """Descriptors that a process may open here; each visitor of a proxy takes two."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)


@cache
def _templates() -> Environment:
    return Environment(
        loader=PackageLoader("arena.fleet"),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701  a configuration is no web page
    )


def _render(template: str, site: Site, folder: Path) -> str:
    return (
        _templates()
        .get_template(template)
        .render(
            listen=site.listen,
            ports=site.ports,
            trusted=site.trusted,
            folder=folder,
            files=_count_files(),
        )
    )
