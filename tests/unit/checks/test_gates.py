# SPDX-License-Identifier: GPL-3.0-or-later
"""What the gates make of their tools' words and of the README."""

from __future__ import annotations

import pytest

from tests.gates.ansible_test import bootstrapped_pip, passed_units, sanity_tests
from tests.gates.pip_settings import fetch_settings
from tests.gates.readme import blocks, commands
from tests.gates.table import GateResult, table

README = """\
# Title

Inline `code` is not typed.

```console
make demo
```

1. First:

   ```sh
   one
   two -x 'a
   b' \\
     --long

   three
   ```

```yaml
key: value
```
"""


def test_blocks_of_a_readme():
    found = blocks(README)
    assert [(block.line, block.language) for block in found] == [(5, "console"), (11, "sh"), (20, "yaml")]
    assert [block.text for block in found[::2]] == ["make demo\n", "key: value\n"]


def test_a_command_may_have_several_lines():
    (block,) = [block for block in blocks(README.replace("two -x 'a\n   b'", "two")) if block.language == "sh"]
    assert commands(block) == ["one", "two \\\n  --long", "three"]


def test_sanity_tests_and_units_are_counted():
    output = 'Running sanity test "pep8"\nRunning sanity test "no-assert" on Python 3.11\nSkipping sanity test "x"\n'
    assert sanity_tests(output) == ["pep8", "no-assert"]
    assert passed_units("====== 160 passed in 5.82s ======\nx\n== 849 passed, 2 warnings in 25.42s ==\n") == 1009
    assert passed_units("no tests ran") == 0


def test_the_bootstrapped_pip_must_be_known():
    assert bootstrapped_pip("    default_packages = dict(\n        pip='24.2',\n    )\n") == "24.2"
    with pytest.raises(ValueError, match="not enough values"):
        bootstrapped_pip("")


def test_only_what_tells_pip_how_to_fetch_is_lent():
    listed = (
        "global.index-url='https://a.example/simple'\nglobal.constraint='/c.txt'\nuser.x='y'\n"
        ":env:.index-url='https://b.example/simple'\n:env:.find-links='/wheels'\n"
    )
    assert fetch_settings(listed) == {"index-url": "https://b.example/simple", "find-links": "/wheels"}


def test_the_table_has_columns():
    assert table([GateResult("REUSE", "6.2.0", "9 files"), GateResult("x", "1", "y")]) == [
        "gate   version  what it counted",
        "REUSE  6.2.0    9 files",
        "x      1        y",
    ]
