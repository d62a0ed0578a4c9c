"""One reader for JSON and TOML, so that no file of a user is read less strictly."""

import ast
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "discreto"
READER = "core/documents.py"
# Texts that this package wrote itself and keeps where no user edits them: entries of
# ledgers (whose hashes are checked), answers beside them, tasks for its own workers,
# translations, and what pip noted about this copy.
OWN_TEXTS = {
    "audit/refusals.py",
    "cli/federate.py",
    "cli/help_text.py",
    "core/answers.py",
    "core/gate.py",
    "core/ledger/accounts.py",
    "core/ledger/chain.py",
    "core/ledger/entries.py",
    "core/ledger/ledger.py",
    "core/ledger/transaction.py",
    "core/sampled_steps.py",
    "data/engines/executor.py",
    "data/ledger_marks.py",
    "text/error_messages.py",
    "text/ledger_figures.py",
    "federated/federation.py",
    "federated/flower.py",
    "federated/messages.py",
    "text/install_commands.py",
    "lab/study/diffprivlib_script.py",
    "lab/study/s4_as_run.py",
    "lab/study/store.py",
    "lab/study/words.py",
    "service/audits.py",
    "service/asking.py",
    "service/oidc.py",
    "table/table.py",
}


def _reads(path: Path) -> bool:
    """Return True if a module reads JSON or TOML by itself."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            word = f"{node.value.id}.{node.attr}"
            if word in ("json.loads", "json.load", "tomllib.loads", "tomllib.load"):
                return True
        if isinstance(node, ast.ImportFrom) and node.module in ("json", "tomllib"):
            return True
    return False


def test_files_of_users_are_read_by_one_reader() -> None:
    found = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if _reads(path)
    }
    assert READER in found
    assert found - {READER} <= OWN_TEXTS
