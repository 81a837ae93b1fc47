"""Functions of `os`, `pathlib`, `shutil` and `glob` on paths below the mounts of state proxies."""

import errno
import os
import unittest

from test_state_files import StateTestCase

VALUES = {"a": b"1", "b.txt": b"22", "dir/c": b"333", "dir/sub/d": b"4444", "dir2/e": b""}
NAMES = ["a", "b.txt", "dir", "dir2", "read-at-import"]

QUESTIONS = [
    # (reason, expression, result)
    ("size", "os.stat(state + '/dir/c').st_size", 3),
    ("size of a path", "os.path.getsize(state + '/b.txt')", 2),
    ("time", "os.path.getmtime(state + '/a')", 1704164645),
    ("a file exists", "os.path.exists(state + '/a')", True),
    ("none does not", "os.path.exists(state + '/none')", False),
    ("a directory exists", "os.path.exists(state + '/dir')", True),
    ("a file", "[os.path.isfile(state + '/a'), os.path.isdir(state + '/a')]", [True, False]),
    (
        "a directory",
        "[os.path.isfile(state + '/dir'), os.path.isdir(state + '/dir')]",
        [False, True],
    ),
    ("the mount", "os.path.isdir(state) and os.path.isdir(state + '/')", True),
    ("no link", "os.path.islink(state + '/a')", False),
    (
        "access",
        "[os.access(state + '/a', os.R_OK), os.access(state + '/x', os.F_OK)]",
        [True, False],
    ),
    ("two files are not one", "os.path.samefile(state + '/a', state + '/b.txt')", False),
    ("one file is", "os.path.samefile(state + '/a', state + '/dir/../a')", True),
    ("listdir", "sorted(os.listdir(state))", NAMES),
    ("listdir below", "sorted(os.listdir(state + '/dir/'))", ["c", "sub"]),
    ("walk of nothing", "list(os.walk(state + '/none'))", []),
    ("glob of nothing", "glob.glob(state + '/none/*')", []),
    (
        "all times, also in nanoseconds",
        "[getattr(os.stat(state + '/a'), f'st_{k}time_ns') // 10**9 for k in 'amc'] + list(os.stat(state + '/a')[7:])",
        [1704164645] * 6,
    ),
    ("blocks", "[os.stat(state + '/' + name).st_blocks for name in ('a', 'dir', 'dir2/e')]", [1, 0, 0]),
    ("a copy of listdir", "sorted(copied_listdir(state + '/dir'))", ["c", "sub"]),
    (
        "scandir",
        "sorted([e.name, e.path, e.is_file(), e.is_dir(), e.is_symlink()] for e in os.scandir(state + '/dir'))",
        [
            ["c", "/state/memory/dir/c", True, False, False],
            ["sub", "/state/memory/dir/sub", False, True, False],
        ],
    ),
    ("scandir's stat", "[e.stat().st_size for e in os.scandir(state + '/dir2')]", [0]),
    (
        "walk",
        "[[d, sorted(n), sorted(f)] for d, n, f in os.walk(state + '/dir')]",
        [["/state/memory/dir", ["sub"], ["c"]], ["/state/memory/dir/sub", [], ["d"]]],
    ),
    ("glob", "glob.glob(state + '/*.txt')", ["/state/memory/b.txt"]),
    (
        "deep glob",
        "sorted(glob.glob(state + '/dir/**', recursive=True))[-1]",
        "/state/memory/dir/sub/d",
    ),
    ("pathlib exists", "pathlib.Path(state, 'a').exists()", True),
    (
        "pathlib kinds",
        "[pathlib.Path(state, n).is_file() for n in ('a', 'dir', 'x')]",
        [True, False, False],
    ),
    ("pathlib stat", "pathlib.Path(state, 'dir/c').stat().st_size", 3),
    ("pathlib iterdir", "sorted(p.name for p in pathlib.Path(state).iterdir())", NAMES),
    (
        "pathlib glob",
        "sorted(str(p) for p in pathlib.Path(state).glob('dir/*'))",
        ["/state/memory/dir/c", "/state/memory/dir/sub"],
    ),
    ("pathlib rglob", "[p.name for p in pathlib.Path(state).rglob('d')]", ["d"]),
    ("resolve", "str(pathlib.Path(state, 'x/../a').resolve())", "/state/memory/a"),
    ("a path like the mount", "os.path.exists('/state/memoryx')", False),
    ("other directories", "'null' in os.listdir('/dev') and os.path.exists('/dev/null')", True),
]

CHANGES = [
    # (reason, lines, keys removed, keys added)
    ("unlink", "os.unlink(state + '/a')", ["a"], {}),
    ("remove", "os.remove(state + '/dir/c')", ["dir/c"], {}),
    ("pathlib unlink", "pathlib.Path(state, 'a').unlink()", ["a"], {}),
    ("rename", "os.rename(state + '/a', state + '/z')", ["a"], {"z": b"1"}),
    ("replace", "os.replace(state + '/a', state + '/b.txt')", ["a"], {"b.txt": b"1"}),
    ("pathlib rename", "pathlib.Path(state, 'a').rename(state + '/z')", ["a"], {"z": b"1"}),
    ("rename to itself", "os.rename(state + '/a', state + '/a')", [], {}),
    ("copy", "shutil.copy(state + '/dir/c', state + '/dir2')", [], {"dir2/c": b"333"}),
    ("copyfile", "shutil.copyfile(state + '/a', state + '/z')", [], {"z": b"1"}),
    ("copy2", "shutil.copy2(state + '/a', state + '/z')", [], {"z": b"1"}),
    ("move", "shutil.move(state + '/a', state + '/z')", ["a"], {"z": b"1"}),
    (
        "copy to a disk and back",
        "shutil.copy(state + '/a', os.environ['TEST_DIR']); "
        "shutil.move(os.environ['TEST_DIR'] + '/a', state + '/z')",
        [],
        {"z": b"1"},
    ),
    (
        "move to a disk",
        "shutil.move(state + '/a', disk + '/a'); assert open(disk + '/a').read() == '1'",
        ["a"],
        {},
    ),
    (
        "copy2 to a disk keeps the time",
        "shutil.copy2(state + '/a', disk + '/a'); assert os.stat(disk + '/a').st_mtime == 1704164645",
        [],
        {},
    ),
    (
        "copytree to a disk",
        "shutil.copytree(state + '/dir', disk + '/dir'); "
        "assert open(disk + '/dir/sub/d').read() == '4444'; shutil.rmtree(disk + '/dir')",
        [],
        {},
    ),
    (
        "move of a directory to a disk",
        "shutil.move(state + '/dir', disk + '/moved'); "
        "assert sorted(os.listdir(disk + '/moved')) == ['c', 'sub']; shutil.rmtree(disk + '/moved')",
        ["dir/c", "dir/sub/d"],
        {},
    ),
    (
        "copytree from a disk",
        "os.mkdir(disk + '/t'); open(disk + '/t/f', 'w').write('new'); "
        "shutil.copytree(disk + '/t', state + '/tree')",
        [],
        {"tree/f": b"new"},
    ),
    ("rmtree", "shutil.rmtree(state + '/dir')", ["dir/c", "dir/sub/d"], {}),
    ("rmtree of nothing", "shutil.rmtree(state + '/none', ignore_errors=True)", [], {}),
    (
        "makedirs",
        "os.makedirs(state + '/x/y'); os.makedirs(state + '/x/y', exist_ok=True); "
        "os.makedirs(name=state + '/dir', exist_ok=True); open(state + '/x/y/z', 'w').close()",
        [],
        {"x/y/z": b""},
    ),
    (
        "mkdir with parents",
        "pathlib.Path(state, 'v/w').mkdir(parents=True); "
        "assert os.path.isdir(state + '/v') and os.listdir(state + '/v') == ['w']; "
        "os.rmdir(state + '/v/w'); assert not os.path.exists(state + '/v/w')",
        [],
        {},
    ),
    ("chmod", "os.chmod(state + '/a', 0o600)", [], {}),
    ("touch of what is there", "pathlib.Path(state, 'a').touch()", [], {}),
    (
        "write and replace",
        "open(state + '/t', 'w').write('new'); os.replace(state + '/t', state + '/a')",
        [],
        {"a": b"new"},
    ),
]

REFUSED = [
    # (reason, expression, type, errno)
    ("a directory is no file", "open(state + '/dir/', 'w')", "IsADirectoryError", errno.EISDIR),
    ("the mount is no file", "open(state)", "IsADirectoryError", errno.EISDIR),
    (
        "a made directory is no file",
        "os.mkdir(state + '/n') or open(state + '/n', 'w')",
        "IsADirectoryError",
        errno.EISDIR,
    ),
    ("a file is no directory", "os.listdir(state + '/a')", "NotADirectoryError", errno.ENOTDIR),
    ("no such directory", "os.listdir(state + '/no')", "FileNotFoundError", errno.ENOENT),
    ("nothing to scan", "os.scandir(state + '/no')", "FileNotFoundError", errno.ENOENT),
    ("no tree to delete", "shutil.rmtree(state + '/no')", "FileNotFoundError", errno.ENOENT),
    ("a directory that exists", "os.mkdir(state + '/dir')", "FileExistsError", errno.EEXIST),
    (
        "a file in its place",
        "os.makedirs(state + '/a', exist_ok=True)",
        "FileExistsError",
        errno.EEXIST,
    ),
    ("a directory with files", "os.rmdir(state + '/dir')", "OSError", errno.ENOTEMPTY),
    (
        "a directory cannot be renamed",
        "os.rename(state + '/dir', state + '/x')",
        "OSError",
        errno.EOPNOTSUPP,
    ),
    ("to a disk", "os.rename(state + '/a', os.environ['TEST_DIR'] + '/x')", "OSError", errno.EXDEV),
    (
        "nothing to rename",
        "os.rename(state + '/no', state + '/x')",
        "FileNotFoundError",
        errno.ENOENT,
    ),
    ("a descriptor", "os.open(state + '/a', os.O_RDONLY)", "OSError", errno.ENOTSUP),
    (
        "an attribute that there is not",
        "os.getxattr(state + '/a', 'user.asya.no')",
        "OSError",
        errno.ENODATA,
    ),
    (
        "an attribute of another kind",
        "os.getxattr(state + '/a', 'user.mime')",
        "OSError",
        errno.ENODATA,
    ),
    (
        "a fixed attribute",
        "os.setxattr(state + '/a', 'user.asya.size', b'1')",
        "PermissionError",
        errno.EACCES,
    ),
]


class Paths(StateTestCase):
    def setUp(self):
        self.begin()
        self.values.update(VALUES)

    def test_questions_are_answered(self):
        for reason, expression, result in QUESTIONS:
            with self.subTest(reason):
                self.assertEqual(self.run_lines("result = " + expression), result)

    def test_changes_change_the_store(self):
        for reason, lines, removed, added in CHANGES:
            with self.subTest(reason):
                self.values.clear()
                self.values.update(VALUES)
                self.run_lines(lines)
                kept = {key: value for key, value in VALUES.items() if key not in removed}
                self.assertEqual(self.values, dict(kept, **added))

    def test_what_cannot_be_is_an_error_with_its_number(self):
        for reason, expression, kind, number in REFUSED:
            with self.subTest(reason):
                lines = f"""
                    try:
                        {expression}
                        result = 'no error'
                    except OSError as error:
                        result = [type(error).__name__, error.errno]
                """
                self.assertEqual(self.run_lines(lines), [kind, number])

    @unittest.skipUnless(hasattr(os, "getxattr"), "this system has no extended attributes")
    def test_attributes_are_read_and_written(self):
        lines = """
            path = state + '/b.txt'
            os.setxattr(path, 'user.asya.ttl', b'3600')
            result = [os.listxattr(path), os.getxattr(path, b'user.asya.ttl').decode(),
                      os.getxattr(pathlib.Path(path), 'user.asya.size').decode()]
        """
        names = ["user.asya.size", "user.asya.ttl"]
        self.assertEqual(self.run_lines(lines), [names, "3600", "2"])
        self.assertEqual(self.connector.attributes, {"ttl": "3600"})

    def test_a_directory_stays_when_its_last_file_is_deleted(self):
        lines = """
            os.remove(state + '/dir2/e')
            result = [os.path.isdir(state + '/dir2'), 'dir2' in os.listdir(state)]
        """
        self.assertEqual(self.run_lines(lines), [True, True])

    def test_the_longest_mount_wins(self):
        mounts = "memory:/state/memory;other:/state/memory/inner:write=passthrough,ttl=5"
        self.begin(environ={"ASYA_STATE_PROXY_MOUNTS": mounts, "ASYA_STATE_PROXY_TIMEOUT": "50ms"})
        self.assertIn("other.sock", self.failure("open(state + '/inner/k')")["message"])
        self.assertEqual(self.failure("open(state + '/innerk')")["type"], "FileNotFoundError")


if __name__ == "__main__":
    unittest.main()
