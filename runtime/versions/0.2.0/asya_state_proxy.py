"""State proxies as files: paths below their mounts work with `open`, `io.open`, `pathlib`, `os`,
`shutil` and extended attributes.

    ASYA_STATE_PROXY_MOUNTS    name:/path:write=buffered|passthrough;...
    ASYA_STATE_PROXY_DIR       /var/run/asya/state   directory of the connectors' sockets
    ASYA_STATE_PROXY_TIMEOUT   60s                   for a connector to start, and to answer

`install` replaces the functions of Python; those of other paths behave as before. What stands
below a mount is known by its key, the path relative to the mount. Directories are virtual: they
exist as long as something is in them, or the process has created them.

Python 3.8 and later, standard library only.
"""

import contextlib
import errno
import functools
import hashlib
import io
import os
import pathlib
import re
import shutil
import stat
import sys
import threading

from asya_state_client import PIECE_BYTES, Store
from asya_state_files import open_file

XATTR_PREFIX = "user.asya."
WRITE_MODES = ("buffered", "passthrough")
MAX_MADE = 10000  # directories that a process remembers


class Mount:
    """A path of the pod and the connector behind it."""

    def __init__(self, name, path, streams, socket_path, timeout):
        self.name = name
        self.path = path
        self.streams = streams
        self.store = Store(socket_path, timeout)
        self.device = int.from_bytes(hashlib.sha256(path.encode()).digest()[:4], "big") + 1
        self.made = {}  # keys of directories that this process has created, the oldest first
        self.lock = threading.Lock()

    def make(self, key):
        with self.lock:
            while key:
                self.made[key] = True
                key = key.rpartition("/")[0]
            while len(self.made) > MAX_MADE:
                del self.made[next(iter(self.made))]

    def is_made(self, key):
        with self.lock:
            return not key or key in self.made

    def forget(self, key):
        with self.lock:
            for made in [made for made in self.made if (made + "/").startswith(key + "/")]:
                del self.made[made]

    def stat(self, key, path):
        """The `os.stat_result` of a key. Equal inodes would make Python believe that two paths are
        one file."""
        size, is_file, mtime = 0, False, 0
        if key:
            try:
                size, is_file, mtime = self.store.head(key, path)
            except FileNotFoundError:
                if not self.is_made(key):
                    raise
        mode = stat.S_IFREG | 0o644 if is_file else stat.S_IFDIR | 0o755
        inode = int.from_bytes(hashlib.sha256(os.fsencode(key)).digest()[:7], "big")
        links, owner, group = 1 if is_file else 2, os.getuid(), os.getgid()
        size = size if is_file else 0
        seconds = int(mtime)
        fields = (mode, inode, self.device, links, owner, group, size) + (seconds,) * 3
        times = {f"st_{kind}time": float(mtime) for kind in "amc"}
        times.update({f"st_{kind}time_ns": seconds * 10**9 for kind in "amc"})
        blocks = dict(st_blksize=PIECE_BYTES, st_blocks=-(-size // 512), st_rdev=0)
        return os.stat_result(fields, dict(times, **blocks))

    def list(self, key, path):
        """Names of files and of directories in a directory; raises FileNotFoundError."""
        prefix = key + "/" if key else ""
        found, directories = self.store.list(prefix, path)
        with self.lock:
            made = {
                made[len(prefix) :].partition("/")[0]
                for made in self.made
                if made.startswith(prefix) and made != key
            }
        if not (found or directories or made) and key and not self.is_made(key):
            if self.store.head(key, path)[1]:
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
        return found, sorted(set(directories) | made)


class Entry:
    """What `os.scandir` yields."""

    def __init__(self, mount, key, directory, name, is_file):
        self.mount, self.key, self.name, self.file = mount, key, name, is_file
        self.path = os.path.join(directory, name)

    def is_file(self, *, follow_symlinks=True):
        return self.file

    def is_dir(self, *, follow_symlinks=True):
        return not self.file

    def is_symlink(self):
        return False

    def is_junction(self):
        return False

    def stat(self, *, follow_symlinks=True):
        return self.mount.stat(self.key, self.path)

    def inode(self):
        return self.stat().st_ino

    def __fspath__(self):
        return self.path

    def __repr__(self):
        return f"<DirEntry {self.name!r}>"


class Entries:
    """The iterator of `os.scandir`."""

    def __init__(self, entries):
        self.entries = iter(entries)

    def __iter__(self):
        return self

    def __next__(self):
        return next(self.entries)

    def close(self):
        self.entries = iter(())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Mounts:
    """All mounts, and the functions that take the place of Python's for paths below them. The name
    of a method is that of the function in `os`, with `_` before it."""

    def __init__(self, mounts):
        self.mounts = sorted(mounts, key=lambda mount: len(mount.path), reverse=True)
        self.prefixes = tuple(mount.path for mount in mounts)

    def find(self, path):
        """`(mount, key, text of the path)`; None for what is elsewhere, descriptors included."""
        if isinstance(path, int):
            return None
        try:
            text = os.fsdecode(path)
        except TypeError:
            return None
        absolute = text
        if not text.startswith("/") or "/." in text or "//" in text:
            with contextlib.suppress(OSError):  # the working directory is deleted
                absolute = os.path.normpath("/" + os.path.join(os.getcwd(), text).lstrip("/"))
        if not absolute.startswith(self.prefixes):
            return None
        absolute = absolute.rstrip("/")
        for mount in self.mounts:
            if absolute == mount.path or absolute.startswith(mount.path + "/"):
                return mount, absolute[len(mount.path) + 1 :], text
        return None

    def stay_connected(self):
        """Keeps connectors from ending before this process does, as far as they offer it."""
        for mount in self.mounts:
            threading.Thread(target=mount.store.stay_connected, daemon=True).start()

    def open(self, place, mode, encoding, errors, newline):
        mount, key, path = place
        if not key or path.endswith("/") or ("r" not in mode and mount.is_made(key)):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        streams = mount.streams
        return open_file(mount.store, key, path, streams, mode, encoding, errors, newline)

    def _stat(self, place, **_):
        return place[0].stat(*place[1:])

    _lstat = _stat

    def _access(self, place, mode, **_):
        try:
            place[0].stat(*place[1:])
        except FileNotFoundError:
            return False
        return True

    def _listdir(self, place):
        found, directories = place[0].list(*place[1:])
        return found + directories

    def _scandir(self, place):
        mount, key, path = place
        prefix = key + "/" if key else ""
        found, directories = mount.list(key, path)
        kinds = [(name, True) for name in found] + [(name, False) for name in directories]
        return Entries(Entry(mount, prefix + name, path, name, kind) for name, kind in kinds)

    def _unlink(self, place, **_):
        mount, key, path = place
        if mount.is_made(key):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        mount.store.delete(key, path)
        mount.make(key.rpartition("/")[0])  # a directory stays when its last file is deleted

    _remove = _unlink

    def _rmdir(self, place, **_):
        mount, key, path = place
        found, directories = mount.list(key, path)
        if found or directories:
            raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), path)
        if not key:
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), path)
        mount.stat(key, path)
        mount.forget(key)

    def _mkdir(self, place, mode=0o777, **_):
        mount, key, path = place
        with contextlib.suppress(FileNotFoundError):
            mount.stat(key, path)
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
        mount.make(key)

    def _makedirs(self, place, mode=0o777, exist_ok=False):
        mount, key, path = place
        try:
            found = mount.stat(key, path)
        except FileNotFoundError:
            mount.make(key)
            return
        # Stores have no directories of their own: one "exists" with the first file below it.
        if not stat.S_ISDIR(found.st_mode):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)

    def _chmod(self, place, mode, **_):
        """Permissions are the store's."""

    def _utime(self, place, *_, **__):
        """Times are the store's."""
        place[0].stat(*place[1:])

    def move(self, source, target):
        """A copy and a deletion, not atomic: stores have no other way. Between two stores, or a
        store and a disk, Python's `shutil.move` copies by itself."""
        if source is None or target is None or source[0] is not target[0]:
            given = (source or target)[2]
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), given)
        mount, key, path = source
        if not stat.S_ISREG(mount.stat(key, path).st_mode):
            text = "a directory of a state proxy cannot be renamed: move its files"
            raise OSError(errno.EOPNOTSUPP, text, path)
        if key == target[1]:
            return
        with self.open(source, "rb", None, None, None) as old:
            with self.open(target, "wb", None, None, None) as new:
                shutil.copyfileobj(old, new, PIECE_BYTES)
        mount.store.delete(key, path)

    def _getxattr(self, place, attribute, **_):
        mount, key, path = place
        return str(mount.store.get_meta(key, path, short(attribute, path))).encode()

    def _listxattr(self, place, **_):
        mount, key, path = place
        return [XATTR_PREFIX + name for name in mount.store.get_meta(key, path)]

    def _setxattr(self, place, attribute, value, flags=0, **_):
        mount, key, path = place
        mount.store.set_meta(key, path, short(attribute, path), bytes(value).decode())

    def _removexattr(self, place, attribute, **_):
        text = "attributes of a state proxy's file cannot be removed"
        raise OSError(errno.ENOTSUP, text, place[2])

    def _open(self, place, flags, mode=0o777, **_):
        text = "files of a state proxy have no descriptors: use open() instead of os.open()"
        raise OSError(errno.ENOTSUP, text, place[2])

    def _rmtree(self, place, ignore_errors=False, onerror=None, *, onexc=None, **_):
        try:
            self.delete_below(place)
        except OSError as error:
            if ignore_errors:
                return
            if onexc is not None:
                onexc(os.unlink, place[2], error)
            elif onerror is not None:
                onerror(os.unlink, place[2], sys.exc_info())
            else:
                raise

    def delete_below(self, place):
        mount, key, path = place
        found, directories = mount.list(key, path)
        prefix = key + "/" if key else ""
        for name in found:
            mount.store.delete(prefix + name, os.path.join(path, name))
        for name in directories:
            with contextlib.suppress(FileNotFoundError):  # another pod has deleted it
                self.delete_below((mount, prefix + name, os.path.join(path, name)))
        mount.forget(key)


def short(attribute, path):
    """The name of an attribute at the connector."""
    name = os.fsdecode(attribute)
    if not name.startswith(XATTR_PREFIX):
        raise OSError(errno.ENODATA, os.strerror(errno.ENODATA), path)
    return name[len(XATTR_PREFIX) :]


def parse_mounts(text, directory, timeout):
    """The mounts of the variable; raises ValueError."""
    mounts = []
    for item in filter(None, (part.strip() for part in text.split(";"))):
        name, _, rest = item.partition(":")
        path, _, options = rest.partition(":")
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name) or not path.startswith("/"):
            raise ValueError(f"{item!r} is not a mount: expected 'name:/path:write=buffered'")
        given = dict(option.partition("=")[::2] for option in options.split(",") if option)
        write = given.get("write", WRITE_MODES[0])
        if write not in WRITE_MODES:
            raise ValueError(f"{item!r}: write is {write!r}, expected {' or '.join(WRITE_MODES)}")
        path = os.path.normpath("/" + path.lstrip("/"))
        if path == "/" or any(path == other.path for other in mounts):
            raise ValueError(f"{item!r}: the path {path!r} cannot be mounted, or is twice")
        socket_path = os.path.join(directory, name + ".sock")
        mounts.append(Mount(name, path, write == "passthrough", socket_path, timeout))
    return mounts


def install(text, directory, timeout):
    """Replaces the functions of Python, and returns the mounts. Before the handler is imported:
    modules that are loaded already get the new functions too, in every place that holds an old
    one."""
    mounts = Mounts(parse_mounts(text, directory, timeout))
    replaced = {}

    def replace(owner, name, make):
        original = getattr(owner, name, None)
        if original is not None and id(original) not in replaced:
            function = functools.wraps(original)(make(original))
            replaced[id(original)] = (original, function)

    def by_path(method):
        def make(original):
            def function(path=".", *values, **options):
                path = options.pop("name", path)  # of os.makedirs
                at_descriptor = options.get("dir_fd") is not None
                place = None if at_descriptor else mounts.find(path)
                if place is None:
                    return original(path, *values, **options)
                return method(place, *values, **options)

            return function

        return make

    def by_two_paths(original):
        def function(src, dst, **options):
            if any(value is not None for value in options.values()):
                return original(src, dst, **options)
            source, target = mounts.find(src), mounts.find(dst)
            if source is None and target is None:
                return original(src, dst, **options)
            return mounts.move(source, target)

        return function

    def of_open(original):
        def open(file, mode="r", buffering=-1, encoding=None, errors=None, newline=None,
                 closefd=True, opener=None):  # fmt: skip
            place = mounts.find(file)
            if place is None:
                return original(file, mode, buffering, encoding, errors, newline, closefd, opener)
            return mounts.open(place, mode, encoding, errors, newline)

        return open

    replace(io, "open", of_open)
    for name in dir(mounts):
        if name.startswith("_") and not name.startswith("__") and name != "_rmtree":
            replace(os, name[1:], by_path(getattr(mounts, name)))
    replace(shutil, "rmtree", by_path(mounts._rmtree))
    for name in ("rename", "replace"):
        replace(os, name, by_two_paths)
    replace(shutil, "_copyxattr", without_state(mounts))
    for supported in (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks):
        known = [function for original, function in replaced.values() if original in supported]
        supported.update(known)
    for name, module in list(sys.modules.items()):
        if hasattr(module, "__dict__") and not name.startswith("asya_state_"):
            put(module, replaced)
    pathlib.Path.touch = touch_with(mounts, pathlib.Path.touch)
    return mounts


def without_state(mounts):
    """`shutil.copystat` copies extended attributes; those of a state proxy describe one value."""

    def make(original):
        def copy_attributes(src, dst, **options):
            if mounts.find(src) is None and mounts.find(dst) is None:
                original(src, dst, **options)

        return copy_attributes

    return make


def touch_with(mounts, original):
    """`pathlib.Path.touch`, which by itself needs a file descriptor."""

    @functools.wraps(original)
    def touch(self, mode=0o666, exist_ok=True):
        place = mounts.find(self)
        if place is None:
            original(self, mode, exist_ok)
            return
        with contextlib.suppress(*([FileExistsError] if exist_ok else [])):
            mounts.open(place, "xb", None, None, None).close()

    return touch


def put(owner, replaced):
    """Replaces functions in a module and in the classes of modules that copy them."""
    is_class = isinstance(owner, type)
    for name, value in list(vars(owner).items()):
        held = value.__func__ if isinstance(value, staticmethod) else value
        found = replaced.get(id(held))
        if found is not None:
            with contextlib.suppress(AttributeError, TypeError):
                setattr(owner, name, staticmethod(found[1]) if is_class else found[1])
        elif isinstance(value, type) and not is_class:
            if str(value.__module__).partition(".")[0] in ("pathlib", "glob"):
                put(value, replaced)
