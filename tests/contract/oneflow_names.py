# SPDX-License-Identifier: GPL-3.0-or-later
"""Names and ids that a replay uses instead of the recorded ones, so that nothing can know a recording by heart."""

from __future__ import annotations

import random
import re
import string
from collections.abc import Iterable
from typing import Any

#: Recorded names; each is replaced by one of the same length, since OneFlow's answers count columns.
WORDS = ("slurm", "storage", "portal", "worker", "nope", "net0", "Private", "w", "svc")
ATTRIBUTES = ("SLURM_PENDING", "OLDEST_IDLE", "ROLE_NOTE", "STORAGE_IP")

_VM_PATTERNS = (
    r"(?<=Node )\d+",
    r"(?<=Waiting \[)\d+(?=\] to (?:be|report))",
    r"(?<=VM )\d+",
    r"(?<=VM \[)\d+",
    r"(?<=/vms/)\d+",
)
_DOCUMENT_PATTERNS = (
    r"(?<=service_)\d+",
    r"(?<=service )\d+",
    r"(?<=service: )\d+",
    r"(?<=document \[)\d+",
    r"(?<=/service/)\d+",
    r"(?<=/service_template/)\d+",
)


class Names:
    """One replay's names. Recorded ids of documents are learnt as the replay makes them."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.documents: dict[int, int] = {}
        self.vm_offset = self.random.randrange(3, 30)
        self.vm_template = self.random.randrange(2, 20)
        self.network = self.random.randrange(2, 20)
        self.words = {word: self._same_length(word) for word in WORDS + ATTRIBUTES}
        named = sorted(self.words, key=len, reverse=True)
        self._word = re.compile(rf"(?<![A-Za-z0-9\\])(?:{'|'.join(named)})(?![A-Za-z0-9])")

    def _same_length(self, word: str) -> str:
        letters = string.ascii_uppercase if word.isupper() else string.ascii_lowercase
        return "".join("_" if letter == "_" else self.random.choice(letters) for letter in word)

    def vm(self, recorded: int) -> int:
        return recorded + self.vm_offset

    def document(self, recorded: int) -> int:
        """:raises KeyError: for a document that the replay has not made."""
        return self.documents[recorded]

    def shuffled(self, items: Iterable[Any]) -> list[Any]:
        """The items in a random order."""
        mixed = list(items)
        self.random.shuffle(mixed)
        return mixed

    def text(self, recorded: str) -> str:
        """A recorded text with this replay's names and ids."""
        renamed = self._word.sub(lambda match: self.words[match.group()], recorded)
        for pattern in _VM_PATTERNS:
            renamed = re.sub(pattern, lambda match: str(self.vm(int(match.group()))), renamed)
        for pattern in _DOCUMENT_PATTERNS:
            renamed = re.sub(pattern, lambda match: str(self.document(int(match.group()))), renamed)
        return re.sub(r"(?<= id:)0$|(?<=\|id:)0$", str(self.network), renamed)

    def value(self, recorded: Any, key: str = "") -> Any:
        """A recorded JSON value with this replay's names and ids; ``key`` is where it stands."""
        if isinstance(recorded, dict):
            return {self.words.get(name, name): self._member(key, name, member) for name, member in recorded.items()}
        if isinstance(recorded, list):
            if key == "nodes" and all(isinstance(item, int) for item in recorded):
                return [self.vm(item) for item in recorded]
            return [self.value(item, key) for item in recorded]
        return self.text(recorded) if isinstance(recorded, str) else recorded

    def _member(self, parent: str, name: str, member: Any) -> Any:
        if name == "deploy_id":
            return self.vm(member)
        if name in ("template_id", "vm_template"):
            return self.vm_template
        if name == "ID" and parent in ("VM", "DOCUMENT"):
            return str(self.vm(int(member)) if parent == "VM" else self.document(int(member)))
        if name in ("id", "SERVICE_ID") and parent in ("SERVICE", "USER_TEMPLATE"):
            return str(self.document(int(member)))
        if name == "NETWORK_ID" and not member.startswith("$") or name == "id":
            return str(self.network)
        return self.value(member, name)
