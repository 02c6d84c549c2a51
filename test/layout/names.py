#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""No script has the name of a module of Python's own: those beside it would import it in that module's place."""

import pathlib
import sys

scripts = [path for folder in sys.argv[1:] for path in pathlib.Path(folder).rglob("*.py")]
wrong = [path for path in scripts if path.stem in sys.stdlib_module_names]
print(*wrong, sep="\n")
sys.exit(1 if wrong or not scripts else 0)
