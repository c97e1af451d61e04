"""Where a fuzzing process may write: one folder, by the kernel's word.

The process goes into name spaces of its own (user, mounts, network), where every file system is mounted
read-only but for the folder and a small /dev/shm, and where there is no network. That it holds is tried, not
believed: who could still write elsewhere is refused. Linux alone (5.12 or later) has this.
"""

from __future__ import annotations

import ctypes
import os
import pwd
import shutil
import sys
import tempfile
from pathlib import Path

_NEW_MOUNTS, _NEW_USER, _NEW_NETWORK = 0x20000, 0x10000000, 0x40000000
_BIND, _RECURSIVE, _PRIVATE = 0x1000, 0x4000, 1 << 18
_MOUNT_SETATTR, _HERE, _ALL_BELOW, _READ_ONLY = 442, -100, 0x8000, 1

#: A file that says that a folder is ours to empty.
MARK = ".fuzz"


class NotConfinedError(RuntimeError):
    """The process could write where it must not."""


class _Attributes(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "namespace")]


def settle(folder: Path) -> None:
    """Make a folder, emptied of an earlier run, and be confined to it; ends the program where that fails.

    It gets a copy of the compiled kernels, since the user's own cannot be written, and is home and cache. To
    be called before numpy and numba are imported, which heed the environment.
    """
    mark = folder / MARK
    if folder.exists() and any(folder.iterdir()) and not mark.exists():
        sys.exit(f"{folder} holds other things than an earlier run; name another --folder")
    for name in ("seeds", "work", "cache", "home", "failures"):
        shutil.rmtree(folder / name, ignore_errors=True)
        (folder / name).mkdir(parents=True)
    mark.touch()
    user = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    kernels = Path(os.environ.get("NUMBA_CACHE_DIR") or user, "mbrparse", "kernels")
    if kernels.is_dir():
        shutil.copytree(kernels, folder / "cache" / "mbrparse" / "kernels")
    os.environ["NUMBA_CACHE_DIR"] = str(folder / "cache")
    os.environ |= dict.fromkeys(("HOME", "XDG_CACHE_HOME", "MPLCONFIGDIR", "NLTK_DATA"), str(folder / "home"))
    os.environ |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NO_COLOR"), "1")
    os.environ["MPLBACKEND"] = "agg"
    try:
        confine(folder, folder / "work")
    except NotConfinedError as error:
        sys.exit(f"refuses to run, since files elsewhere would not be safe: {error}")


def confine(folder: Path, scratch: Path) -> None:
    """Leave nothing writable but ``folder``; ``scratch`` in it becomes a file system of 256 MB in memory.

    For a process of one thread. Raises NotConfinedError where that cannot be had, or does not hold.
    """
    user, group = os.getuid(), os.getgid()
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        _done(libc.unshare(_NEW_USER | _NEW_MOUNTS | _NEW_NETWORK))
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
        _done(libc.mount(b"none", b"/", None, _RECURSIVE | _PRIVATE, None))
        _set_read_only(libc, Path("/"), True)
        _done(libc.mount(bytes(folder), bytes(folder), None, _BIND, None))
        _set_read_only(libc, folder, False)
        _done(libc.mount(b"tmpfs", bytes(scratch), b"tmpfs", 0, b"size=256m"))
        _done(libc.mount(b"tmpfs", b"/dev/shm", b"tmpfs", 0, b"size=16m"))
    except (OSError, AttributeError) as error:
        raise NotConfinedError(f"no name spaces of our own ({error})") from None
    check(folder)


def check(folder: Path) -> None:
    """Raise NotConfinedError if a file can be made beside the folder, or in a usual place."""
    home = Path(pwd.getpwuid(os.getuid()).pw_dir)
    source = Path(__file__).parent
    for place in {Path("/"), Path("/tmp"), Path("/var/tmp"), home, source, *folder.parents}:
        try:
            handle, path = tempfile.mkstemp(dir=place)
        except OSError:
            continue
        os.close(handle)
        os.unlink(path)
        raise NotConfinedError(f"{place} can be written")


def _set_read_only(libc: ctypes.CDLL, path: Path, on: bool) -> None:
    wanted = _Attributes(set=_READ_ONLY * on, clear=_READ_ONLY * (not on))
    size = ctypes.sizeof(wanted)
    call = libc.syscall(_MOUNT_SETATTR, _HERE, bytes(path), _ALL_BELOW * on, ctypes.byref(wanted), size)
    _done(call)


def _done(result: int) -> None:
    if result:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
