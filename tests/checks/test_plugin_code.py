# SPDX-License-Identifier: GPL-3.0-or-later
"""Plugins run on the oldest supported Python, and the code they share needs nothing but its standard library."""

from __future__ import annotations

from tests.checks.environment import ROOT
from tests.checks.plugin_code import MODULE_RUNNER, foreign_imports, plugin_files, syntax_error


def test_plugins_keep_to_the_grammar_of_the_oldest_python():
    errors = {str(path.relative_to(ROOT)): syntax_error(path.read_text()) for path in plugin_files(ROOT)}
    assert errors
    wrong = [f"{path}: {error}" for path, error in errors.items() if error]
    assert not wrong, "\n".join(wrong)


def test_module_utils_need_the_standard_library_only():
    imports = {path.name: foreign_imports(path.read_text()) for path in plugin_files(ROOT, "module_utils")}
    assert imports.pop(MODULE_RUNNER) == ["ansible.module_utils.basic"]
    wrong = [f"{name}: {', '.join(modules)}" for name, modules in imports.items() if modules]
    assert not wrong, "\n".join(wrong)


def test_modules_hold_documentation_and_one_call():
    imports = {path.stem: foreign_imports(path.read_text()) for path in plugin_files(ROOT, "modules")}
    assert imports
    wrong = [f"{name}: {', '.join(modules)}" for name, modules in imports.items() if modules]
    assert not wrong, "\n".join(wrong)
    assert [path.stem for path in plugin_files(ROOT, "modules") if "run_module(" not in path.read_text()] == []
