"""Run S4's three models as its slides do; for a Python that has diffprivlib.

Imports nothing of discreto: another interpreter runs this file. Standard input is JSON
``{"model", "epsilon", "seeds", "tables"}``, a table being ``{"X", "y", "tests"}``;
standard output is JSON: predictions for the tests of each table, or centres and labels.
"""

import json
import sys
import warnings


def main():
    """Read tables, fit, answer."""
    warnings.simplefilter("ignore")  # that bounds come from the data: so do the slides'
    import diffprivlib
    import numpy as np
    from diffprivlib import models

    asked = json.load(sys.stdin)
    if asked.get("hello"):
        json.dump(diffprivlib.__version__, sys.stdout)
        return
    out = []
    for seed, table in zip(asked["seeds"], asked["tables"]):  # noqa: B905
        X, options = np.array(table["X"]), {"random_state": seed}
        options["epsilon"] = asked["epsilon"]
        if asked["model"] == "k-means":
            model = models.KMeans(n_clusters=3, **options).fit(X)
            centres = model.cluster_centers_.tolist()
            out.append({"centres": centres, "labels": model.labels_.tolist()})
            continue
        kind = models.GaussianNB
        if asked["model"] == "linear regression":
            kind = models.LinearRegression
        model = kind(**options).fit(X, np.array(table["y"]))
        out.append(np.asarray(model.predict(np.array(table["tests"]))).tolist())
    json.dump(out, sys.stdout)


if __name__ == "__main__":
    main()
