"""A report with the facts of the run, its signature, and the check of both."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

import discreto

ROOT = Path(__file__).parents[2]
NAMED = ("numpy", "scipy", "cryptography", "scikit-learn", "pyarrow", "narwhals")


def facts(*, quick: bool) -> dict[str, Any]:
    """What was reviewed, when and where."""
    git = ["git", "-C", str(ROOT), "rev-parse", "HEAD"]
    commit = subprocess.run(git, capture_output=True, text=True).stdout.strip()
    return {
        "discreto_review": 1,
        "version": discreto.__version__,
        "commit": commit or "not a checkout",
        "source": source_hash(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "quick": quick,
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "packages": {name: metadata.version(name) for name in NAMED},
        "parts": [],
    }


def source_hash() -> str:
    """One hash of all that is installed: every file of the package, by name."""
    digest = hashlib.sha256()
    package = Path(discreto.__file__).parent
    for path in sorted(package.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            digest.update(f"{path.relative_to(package).as_posix()}\0".encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def write_signed(report: dict[str, Any], folder: Path, key: Path | None) -> Path:
    """Write ``review.json`` and beside it its signature with the public key."""
    secret = _key(folder, key)
    path = folder / "review.json"
    text = json.dumps(report, indent=1, ensure_ascii=False)
    path.write_text(text, encoding="utf-8")
    public = secret.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    signature = {
        "algorithm": "Ed25519",
        "public_key": base64.b64encode(public).decode(),
        "signature": base64.b64encode(secret.sign(text.encode())).decode(),
    }
    _beside(path).write_text(json.dumps(signature, indent=1), encoding="utf-8")
    return path


def check(path: Path) -> int:
    """Say who signed a report, and whether it is as it was signed."""
    signature = json.loads(_beside(path).read_text(encoding="utf-8"))
    public = Ed25519PublicKey.from_public_bytes(
        base64.b64decode(signature["public_key"])
    )
    data = path.read_bytes()
    try:
        public.verify(base64.b64decode(signature["signature"]), data)
    except InvalidSignature:
        print("the report is NOT the one that was signed")
        return 1
    report = json.loads(data)
    print(f"signed by {signature['public_key']}")
    same = report["source"] == source_hash()
    print(f"source {'is' if same else 'is NOT'} that of the installed package")
    for part in report["parts"]:
        print(f"  {part['name']}: {part['result']} ({part['command']})")
    return 1 if any(part["exit_code"] for part in report["parts"]) else 0


def _beside(path: Path) -> Path:
    return path.with_suffix(".signature.json")


def _key(folder: Path, key: Path | None) -> Ed25519PrivateKey:
    path = key or folder / "reviewer.pem"
    if path.exists():
        found = load_pem_private_key(path.read_bytes(), None)
        if not isinstance(found, Ed25519PrivateKey):
            raise SystemExit(f"{path} is not an Ed25519 key.")
        return found
    if key:
        raise SystemExit(f"there is no key {key}.")
    made = Ed25519PrivateKey.generate()
    text = made.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path.touch(mode=0o600)
    path.write_bytes(text)
    return made
