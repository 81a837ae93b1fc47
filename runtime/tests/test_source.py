"""What holds for the script as a file: its Python, its imports, its released copies; and for the
packages beside it."""

import ast
import glob
import os
import subprocess
import sys
import unittest

from harness import RUNTIME_DIR, SCRIPT

VERSIONS_DIR = os.path.join(RUNTIME_DIR, "versions")
OLDEST_PYTHON = (3, 8)


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def released_versions():
    """The released versions, oldest first."""
    names = [name for name in os.listdir(VERSIONS_DIR) if name[0].isdigit()]
    return sorted(names, key=lambda name: [int(part) for part in name.split(".")])


def parsed(path):
    """The syntax tree, as the oldest Python reads it."""
    return ast.parse(read(path), feature_version=OLDEST_PYTHON)


class Source(unittest.TestCase):
    def parse(self):
        return parsed(SCRIPT)

    def test_the_oldest_python_can_read_it(self):
        self.parse()

    def test_it_imports_the_standard_library_only(self):
        imported = set()
        for node in ast.walk(self.parse()):
            if isinstance(node, ast.Import):
                imported.update(name.name.split(".")[0] for name in node.names)
            self.assertNotIsInstance(node, ast.ImportFrom)
        # -I hides PYTHONPATH and the user's packages, -S the installed ones.
        program = "import " + ", ".join(sorted(imported))
        self.assertEqual(subprocess.call([sys.executable, "-I", "-S", "-c", program]), 0)

    def test_the_newest_release_has_the_files_of_the_runtime(self):
        newest = os.path.join(VERSIONS_DIR, released_versions()[-1])
        files = [name for name in os.listdir(RUNTIME_DIR) if name.endswith(".py")]
        released = [name for name in os.listdir(newest) if name.endswith(".py")]
        self.assertEqual(sorted(released), sorted(files))
        for name in files:
            self.assertEqual(read(newest, name), read(RUNTIME_DIR, name), name)

    def test_every_release_says_its_own_version(self):
        for version in released_versions():
            with self.subTest(version):
                source = read(VERSIONS_DIR, version, "asya_runtime.py")
                self.assertIn('\nVERSION = "{}"\n'.format(version), source)


class Packages(unittest.TestCase):
    """Also the modules for state proxies."""

    def files(self):
        packages = [os.path.join(RUNTIME_DIR, name) for name in ("adapters", "end_actors")]
        packages.append(os.path.join(RUNTIME_DIR, "asya_state_"))
        files = sorted(path for package in packages for path in glob.glob(package + "*/*.py") + glob.glob(package + "*.py"))
        self.assertGreater(len(files), 5, "the files are not where they are looked for")
        return files

    def test_they_import_themselves_and_the_standard_library_only(self):
        imported = set()
        for path in self.files():
            for node in ast.walk(parsed(path)):
                if isinstance(node, ast.Import):
                    imported.update(name.name for name in node.names)
                elif isinstance(node, ast.ImportFrom):
                    # A relative import would make a module's name depend on how it is started.
                    own = r"adapters(\..*)?|asya_state_\w+"
                    self.assertEqual(node.level, 0)
                    self.assertRegex(node.module, f"^({own})$")
        program = "import " + ", ".join(sorted(imported))
        self.assertEqual(subprocess.call([sys.executable, "-I", "-S", "-c", program]), 0)

    def test_every_file_says_what_it_is_for(self):
        for path in self.files():
            with self.subTest(path):
                self.assertTrue(ast.get_docstring(parsed(path)))


if __name__ == "__main__":
    unittest.main()
