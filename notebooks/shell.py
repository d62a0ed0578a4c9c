# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Without Python
#
# Everything from a shell: draft a domain, fill it in, plan, ask, look at the ledger, hand out evidence. (The cells
# run the commands through Python, so that the notebook runs anywhere.)

# %%
import json
import random
import subprocess
import sys
from pathlib import Path


def discreto(*words):
    line = [sys.executable, "-m", "discreto", *words]
    done = subprocess.run(line, capture_output=True, text=True, encoding="utf-8")
    print("$ discreto", *words)
    print(done.stdout + done.stderr)


random.seed(1)
rows = [f"{random.randint(18, 95)},{random.choice('FM')}" for _ in range(3000)]
Path("people.csv").write_text("\n".join(["age,sex", *rows]))

# %% [markdown]
# ## A draft, filled in

# %%
discreto("domain", "draft", "people.csv", "--out", "people.domain.json")
draft = json.loads(Path("people.domain.json").read_text())
draft["columns"]["age"] = {"type": "Number", "lower": 0, "upper": 120}
draft["columns"]["sex"] = {"type": "Category", "categories": ["F", "M"]}
Path("people.domain.json").write_text(json.dumps(draft))
discreto("domain", "check", "people.domain.json")

# %% [markdown]
# ## Plan and ask

# %%
discreto("plan", "people.domain.json", "mean", "age", "--error", "1", "--rows", "3000")

# %%
with_files = ["--domain", "people.domain.json", "--ledger", "people.ledger"]
discreto(
    "query",
    "people.csv",
    "mean",
    "age",
    "--by",
    "sex",
    "--epsilon",
    "0.2",
    *with_files,
    "--budget",
    "1",
)
discreto(
    "query",
    "people.csv",
    "quantile",
    "age",
    "--probability",
    "0.25,0.75",
    "--epsilon",
    "0.2",
    *with_files,
)

# %% [markdown]
# ## What was spent, and what others may see of it

# %%
discreto("ledger", "show", "people.ledger")
discreto("ledger", "verify", "people.ledger")
discreto("report", "people.ledger", "--checklist", "--domain", "people.domain.json")
