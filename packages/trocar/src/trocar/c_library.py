"""Shared libraries from C source, built by the system's C compiler.

Libraries are cached. The key of one is a digest of its source, the compiler and the CPU, so it is never out of date.
The file ends with a digest of its content: a damaged file is not loaded but rebuilt.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
from functools import cache
from pathlib import Path

from trocar.errors import TrocarError
from trocar.files import scratch_folder, user_cache, write_whole

# No -ffast-math: states that are not finite must be detected.
FLAGS = (
    *("-std=gnu11", "-O2", "-march=native", "-fPIC", "-shared"),
    *("-fno-math-errno", "-fno-trapping-math", "-fno-signed-zeros", "-ffp-contract=fast"),
)
LIBRARIES = ("-lm", "-pthread")


class NoCompiler(TrocarError):
    """No C compiler was found, or it cannot build the generated code."""


def cache_folder() -> Path:
    """Folder of compiled code: `trocar/batch` in the user's cache folder."""
    return user_cache() / "batch"


def library(source: str, *flags: str) -> ctypes.CDLL:
    """The shared library of a C source, built unless it is cached; flags: in addition to `FLAGS`."""
    command = _compiler()
    flags = (*FLAGS, *flags)
    key = "\0".join((source, *flags, *LIBRARIES, _version(command), _processor()))
    path = cache_folder() / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.so"
    if not _intact(path):
        content = _built(source, command, flags)
        try:
            write_whole(path, content + hashlib.sha256(content).digest())
        except OSError as error:
            raise TrocarError(
                f"compiled code cannot be written to {path}: {error.strerror or error}; "
                "set XDG_CACHE_HOME to a folder with space that you can write to"
            ) from error
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise TrocarError(f"compiled code cannot be loaded: {error}; remove {path} and try again") from error


def _intact(path: Path) -> bool:
    try:
        content = path.read_bytes()
    except OSError:
        return False
    return hashlib.sha256(content[:-32]).digest() == content[-32:]


def _built(source: str, command: tuple[str, ...], flags: tuple[str, ...]) -> bytes:
    try:
        with scratch_folder("trocar-c-") as folder:
            file, target = folder / "arm.c", folder / "arm.so"
            file.write_text(source)
            done = subprocess.run(
                [*command, *flags, str(file), "-o", str(target), *LIBRARIES], capture_output=True, text=True
            )
            if done.returncode:
                errors = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines()
                reason = errors[0].strip() if errors else f"exit status {done.returncode}"
                raise NoCompiler(f"{shlex.join(command)} failed to build the generated code: {reason}")
            return target.read_bytes()
    except OSError as error:
        raise TrocarError(
            f"the generated code cannot be compiled: {error}; set TMPDIR to a folder with space"
        ) from error


def _compiler() -> tuple[str, ...]:
    """The command of the C compiler: $CC, cc, gcc or clang."""
    named = os.environ.get("CC")
    if named:
        command = tuple(shlex.split(named))
        if shutil.which(command[0]) is None:
            raise NoCompiler(f"CC names the C compiler {command[0]!r}, which was not found; correct or unset CC")
        return command
    for name in ("cc", "gcc", "clang"):
        if shutil.which(name) is not None:
            return (name,)
    raise NoCompiler(
        "no C compiler was found (cc, gcc, clang): install one (Debian: apt install gcc libc6-dev) or name it in CC"
    )


@cache
def _version(command: tuple[str, ...]) -> str:
    try:
        done = subprocess.run([*command, "--version"], capture_output=True, text=True)
    except OSError as error:
        raise NoCompiler(f"the C compiler {shlex.join(command)} does not run: {error}") from error
    return done.stdout


@cache
def _processor() -> str:
    """Description of the CPU: -march=native depends on it, and machines may share a home folder."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    about = {line for line in lines if line.startswith(("model name", "flags", "Features"))}
    return "\n".join((platform.machine(), platform.processor(), *sorted(about)))
