"""What holds for the script as a file: its Python, its imports, its released copies."""

import ast
import os
import subprocess
import sys
import unittest

from harness import RUNTIME_DIR, SCRIPT

VERSIONS_DIR = os.path.join(RUNTIME_DIR, "versions")
OLDEST_PYTHON = (3, 7)


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def released_versions():
    """The released versions, oldest first."""
    names = [name for name in os.listdir(VERSIONS_DIR) if name[0].isdigit()]
    return sorted(names, key=lambda name: [int(part) for part in name.split(".")])


class Source(unittest.TestCase):
    def parse(self):
        if sys.version_info < (3, 8):
            return ast.parse(read(SCRIPT))
        return ast.parse(read(SCRIPT), feature_version=OLDEST_PYTHON)

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

    def test_the_newest_release_is_the_script(self):
        newest = released_versions()[-1]
        self.assertEqual(read(VERSIONS_DIR, newest, "asya_runtime.py"), read(SCRIPT))

    def test_every_release_says_its_own_version(self):
        for version in released_versions():
            with self.subTest(version):
                source = read(VERSIONS_DIR, version, "asya_runtime.py")
                self.assertIn('\nVERSION = "{}"\n'.format(version), source)


if __name__ == "__main__":
    unittest.main()
