//! File operations of handlers, the same for every store.

/// A line of Python that a handler runs with `state` as an empty directory of its own, and `result` as
/// JSON.
pub struct Case {
    /// Condition or result that the case shows.
    pub reason: &'static str,
    pub lines: &'static str,
    pub result: &'static str,
}

const fn case(reason: &'static str, lines: &'static str, result: &'static str) -> Case {
    Case {
        reason,
        lines,
        result,
    }
}

pub const CASES: &[Case] = &[
    case(
        "text is read as it was written",
        "open(state + '/k', 'w').write('grüße\\n'); result = open(state + '/k').read()",
        r#""grüße\n""#,
    ),
    case(
        "bytes are read as they were written",
        "open(state + '/k', 'wb').write(bytes(range(256))); result = open(state + '/k', 'rb').read() == bytes(range(256))",
        "true",
    ),
    case(
        "an encoding is kept to",
        "open(state + '/k', 'w', encoding='utf-16-le').write('a'); result = [open(state + '/k', 'rb').read().hex(), open(state + '/k', encoding='utf-16-le').read()]",
        r#"["6100", "a"]"#,
    ),
    case(
        "newlines are kept to",
        "open(state + '/k', 'w', newline='\\r\\n').write('a\\nb'); result = [open(state + '/k', newline='').read(), open(state + '/k').read()]",
        r#"["a\r\nb", "a\nb"]"#,
    ),
    case(
        "io.open and pathlib are the same files",
        "pathlib.Path(state, 'k').write_text('a'); io.open(state + '/l', 'wb').write(b'b'); result = [io.open(state + '/k').read(), pathlib.Path(state, 'l').read_bytes().decode()]",
        r#"["a", "b"]"#,
    ),
    case(
        "an empty file exists",
        "open(state + '/k', 'w').close(); result = [os.path.exists(state + '/k'), os.stat(state + '/k').st_size, open(state + '/k').read()]",
        r#"[true, 0, ""]"#,
    ),
    case(
        "names have blanks, other alphabets and what URLs mean something by",
        "open(state + '/a b+c/ü?#%41&=;', 'w').write('odd'); result = [os.listdir(state), os.listdir(state + '/a b+c'), open(state + '/a b+c/ü?#%41&=;').read()]",
        r#"[["a b+c"], ["ü?#%41&=;"], "odd"]"#,
    ),
    case(
        "append keeps what is there",
        "\
for text in 'abc':
    with open(state + '/k', 'a') as file: file.write(text)
result = open(state + '/k').read()",
        r#""abc""#,
    ),
    case(
        "exclusive creation fails where there is a file",
        "open(state + '/k', 'x').write('first'); result = [fails(FileExistsError, lambda: open(state + '/k', 'x').close()) > 0, open(state + '/k').read()]",
        r#"[true, "first"]"#,
    ),
    case(
        "a file is changed in place",
        "\
open(state + '/k', 'w').write('abc')
with open(state + '/k', 'r+') as file:
    file.seek(1); file.write('B')
result = open(state + '/k').read()",
        r#""aBc""#,
    ),
    case(
        "a change of what somebody else has changed is refused",
        "\
open(state + '/k', 'w').write('abc')
file = open(state + '/k', 'r+'); file.write('X')
open(state + '/k', 'w').write('theirs')
result = [fails(FileExistsError, file.close) > 0, open(state + '/k').read()]",
        r#"[true, "theirs"]"#,
    ),
    case(
        "a change of what somebody else has deleted is refused",
        "\
open(state + '/k', 'w').write('abc')
file = open(state + '/k', 'r+'); file.write('X')
os.unlink(state + '/k')
result = [fails(FileExistsError, file.close) > 0, os.path.exists(state + '/k')]",
        "[true, false]",
    ),
    case(
        "a block that fails stores nothing",
        "\
def broken(mode):
    with open(state + '/k', mode) as file:
        file.write('x' * 100000)
        raise KeyError('broken')
open(state + '/k', 'w').write('old')
result = [fails(KeyError, broken, mode) for mode in 'wa'] + [open(state + '/k').read()]",
        r#"[true, true, "old"]"#,
    ),
    case(
        "rename moves a file, replace over another one",
        "\
open(state + '/a', 'w').write('a'); open(state + '/b', 'w').write('b')
os.rename(state + '/a', state + '/sub/c'); os.replace(state + '/sub/c', state + '/b')
result = [sorted(os.listdir(state)), open(state + '/b').read()]",
        r#"[["b"], "a"]"#,
    ),
    case(
        "a missing file is FileNotFoundError everywhere",
        "\
path = state + '/none'
result = [fails(FileNotFoundError, *call) for call in [(open, path), (os.stat, path), (os.unlink, path), (os.rename, path, path + '2'), (os.getxattr, path, 'user.asya.etag')]]",
        "[2, 2, 2, 2, 2]",
    ),
    case(
        "nothing is below a file",
        "\
open(state + '/k', 'w').close()
result = [fails(FileNotFoundError, open, state + '/k/x'), os.path.exists(state + '/k/x')]",
        "[2, false]",
    ),
    case(
        "deleted files do not exist",
        "\
open(state + '/k', 'w').close(); os.remove(state + '/k')
result = [os.path.exists(state + '/k'), os.listdir(state)]",
        "[false, []]",
    ),
    case(
        "directories are made, listed, walked and removed",
        "\
os.makedirs(state + '/a/b'); os.makedirs(state + '/a/b', exist_ok=True); os.mkdir(state + '/empty')
open(state + '/a/b/c', 'w').close(); open(state + '/top', 'w').close()
walked = [[d[len(state):], sorted(n), sorted(f)] for d, n, f in sorted(os.walk(state))]
names = [sorted(os.listdir(state)), sorted(glob.glob(state + '/a/**', recursive=True))[-1][len(state):]]
refused = fails(OSError, os.rmdir, state + '/a') == errno.ENOTEMPTY
os.rmdir(state + '/empty'); shutil.rmtree(state + '/a')
result = [walked, names, refused, sorted(os.listdir(state))]",
        r#"[[["", ["a", "empty"], ["top"]], ["/a", ["b"], []], ["/a/b", [], ["c"]], ["/empty", [], []]], [["a", "empty", "top"], "/a/b/c"], true, ["top"]]"#,
    ),
    case(
        "a directory is no file",
        "\
open(state + '/d/k', 'w').close()
result = [os.path.isdir(state + '/d'), os.path.isfile(state + '/d'), os.path.isfile(state + '/d/k'), [entry.is_dir() for entry in os.scandir(state)]]",
        "[true, false, true, [true]]",
    ),
    case(
        "size and time are the file's",
        "\
open(state + '/k', 'w').write('abc')
found = os.stat(state + '/k')
result = [found.st_size, abs(found.st_mtime - time.time()) < 60]",
        "[3, true]",
    ),
    case(
        "shutil copies and moves",
        "\
open(state + '/a', 'w').write('a')
shutil.copy(state + '/a', state + '/b'); shutil.copy2(state + '/b', state + '/c'); shutil.move(state + '/c', state + '/d')
shutil.copy(state + '/d', '/tmp/asya-state-copy'); result = [sorted(os.listdir(state)), open('/tmp/asya-state-copy').read()]
os.unlink('/tmp/asya-state-copy')",
        r#"[["a", "b", "d"], "a"]"#,
    ),
    case(
        "attributes are set, read and listed, and those of the store are read-only",
        "\
path = state + '/k'
open(path, 'w').write('abc')
os.setxattr(path, 'user.asya.owner', b'me')
result = [os.getxattr(path, 'user.asya.owner').decode(), 'user.asya.owner' in os.listxattr(path), 'user.asya.etag' in os.listxattr(path), len(os.getxattr(path, 'user.asya.etag')) > 0, os.getxattr(path, 'user.asya.size').decode(), fails(OSError, os.getxattr, path, 'user.asya.none') == errno.ENODATA, fails(PermissionError, os.setxattr, path, 'user.asya.etag', b'x') > 0, open(path).read()]",
        r#"["me", true, true, true, "3", true, true, "abc"]"#,
    ),
    case(
        "a file larger than a part is stored whole",
        "\
data = os.urandom(1 << 20) * 20 + b'end'
with open(state + '/k', 'wb') as file:
    for start in range(0, len(data), 3 << 20): file.write(data[start:start + (3 << 20)])
result = [os.stat(state + '/k').st_size == len(data), hashlib.sha256(open(state + '/k', 'rb').read()).digest() == hashlib.sha256(data).digest()]
with open(state + '/k', 'ab') as file: file.write(b'more')
result.append(open(state + '/k', 'rb').read()[-7:].decode())
result.append(fails(FileExistsError, lambda: open(state + '/k', 'xb').close()) > 0)",
        r#"[true, true, "endmore", true]"#,
    ),
    case(
        "a large file that fails half-way stores nothing",
        "\
def broken():
    with open(state + '/k', 'wb') as file:
        for _ in range(12): file.write(bytes(1 << 20))
        raise KeyError('broken')
result = [fails(KeyError, broken), os.path.exists(state + '/k')]",
        "[true, false]",
    ),
];
