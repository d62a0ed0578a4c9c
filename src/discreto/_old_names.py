"""Modules, and names in them, under the names that they had in earlier versions.

An old name gives the module of today, with a ``DeprecationWarning``. ``OF_0_1`` ends
with 0.3, ``OF_0_2`` with 0.4. Public modules that stand elsewhere today keep their
names without a warning (``PUBLIC``).
"""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Callable, Mapping
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

OF_0_1 = {
    "discreto.accounting": "discreto.core.steps",
    "discreto.audit.museum": "discreto.lab.known_bugs",
    "discreto.datasets": "discreto.data.datasets",
    "discreto.engines": "discreto.data.engines",
    "discreto.frames": "discreto.data.frames",
    "discreto.kernel": "discreto.core",
    "discreto.ledger": "discreto.core.ledger",
    "discreto.planning": "discreto.session.plan",
    "discreto.published": "discreto.lab.published",
    "discreto.queries": "discreto.core.maps",
    "discreto.study": "discreto.lab.study",
}
OF_0_2 = {
    "discreto.audit.featurise": "discreto.audit.output_features",
    "discreto.audit.observable": "discreto.audit.outputs",
    "discreto.audit.run": "discreto.audit.audit",
    "discreto.audit.runs": "discreto.audit.repeat",
    "discreto.calls": "discreto.text.wrong_calls",
    "discreto.cli.advice": "discreto.cli.error_words",
    "discreto.cli.interrupt": "discreto.cli.signals",
    "discreto.cli.demo_data": "discreto.cli.demo",
    "discreto.cli.demo_models": "discreto.cli.demo",
    "discreto.client_json": "discreto.client",
    "discreto.core.answers": "discreto.core.gate",
    "discreto.core.beliefs": "discreto.core.query",
    "discreto.core.bound": "discreto.core.query",
    "discreto.core.budget": "discreto.core.cost",
    "discreto.core.columns": "discreto.core.domain.columns",
    "discreto.core.contribution": "discreto.core.people",
    "discreto.core.date_formats": "discreto.core.domain.date_formats",
    "discreto.core.dates": "discreto.core.domain.dates",
    "discreto.core.describe": "discreto.core.domain.html",
    "discreto.core.dialect": "discreto.core.domain.dialect",
    "discreto.core.domain_json": "discreto.core.domain.json",
    "discreto.core.ledger.analyst": "discreto.core.ledger.accounts",
    "discreto.core.ledger.anchor": "discreto.core.ledger.chain",
    "discreto.core.ledger.attempts": "discreto.core.ledger.entries",
    "discreto.core.ledger.checks": "discreto.core.ledger.transaction",
    "discreto.core.ledger.faults": "discreto.core.ledger.entries",
    "discreto.core.ledger.fork": "discreto.core.ledger.database",
    "discreto.core.ledger.groups": "discreto.core.ledger.group_commit",
    "discreto.core.ledger.mounts": "discreto.core.ledger.sqlite",
    "discreto.core.ledger.opening": "discreto.core.ledger.entries",
    "discreto.core.ledger.page": "discreto.core.ledger.transaction",
    "discreto.core.ledger.postgres_schema": "discreto.core.ledger.postgres",
    "discreto.core.ledger.notebook": "discreto.text.ledger_figures",
    "discreto.core.ledger.proof": "discreto.release.ledger_proof",
    "discreto.core.ledger.reader": "discreto.core.ledger.ledger",
    "discreto.core.ledger.store": "discreto.core.ledger.sqlite",
    "discreto.core.ledger.store_schema": "discreto.core.ledger.sqlite",
    "discreto.core.ledger.stores": "discreto.core.ledger.ledger",
    "discreto.core.ledger.totals": "discreto.core.ledger.accounts",
    "discreto.core.ledger.verification": "discreto.core.ledger.chain",
    "discreto.core.ledger.waiting": "discreto.core.ledger.sqlite",
    "discreto.core.ledger.writer": "discreto.core.ledger.ledger",
    "discreto.core.maps._batch_cache": "discreto.core.row_cache",
    "discreto.core.maps._fit_rows": "discreto.core.row_cache",
    "discreto.core.field_types": "discreto.core.validation",
    "discreto.core.owner_statement": "discreto.core.domain.owner_statement",
    "discreto.core.question_json": "discreto.core.query_json",
    "discreto.core.randomised_rows": "discreto.core.randomise",
    "discreto.core.source": "discreto.core.gate",
    "discreto.core.training": "discreto.core.sampled_steps",
    "discreto.core.turns": "discreto.core.charge",
    "discreto.data.databases": "discreto.data.sql",
    "discreto.data.databases.parts": "discreto.data.sql.backends",
    "discreto.data.databases.probes": "discreto.data.sql.engine_checks",
    "discreto.data.databases.several": "discreto.data.sql.sums",
    "discreto.data.databases.soft_features": "discreto.data.sql.maps",
    "discreto.data.engines.blas": "discreto.data.engines.blas_threads",
    "discreto.data.engines.task_text": "discreto.data.engines.executor",
    "discreto.data.frames.frame_checks": "discreto.data.frames.refusal_texts",
    "discreto.data.frames.gaps": "discreto.data.frames.cells",
    "discreto.data.frames.kept_batches": "discreto.data.frames.stream",
    "discreto.data.frames.memory_view": "discreto.data.frames.memory",
    "discreto.data.frames.native": "discreto.data.native_frames",
    "discreto.data.frames.numbers": "discreto.data.frames.cells",
    "discreto.data.frames.people": "discreto.data.frames.convert",
    "discreto.data.owner_check": "discreto.data.frames.owner_check",
    "discreto.data.sql.backend": "discreto.data.sql.backends",
    "discreto.data.sql.batched_queries": "discreto.data.sql.sums",
    "discreto.data.sql.cells": "discreto.data.sql.cell_maps",
    "discreto.data.sql.date_expressions": "discreto.data.sql.dates",
    "discreto.data.sql.exponential_features": "discreto.data.sql.maps",
    "discreto.data.sql.exponentials": "discreto.data.sql.row_language",
    "discreto.data.sql.features": "discreto.data.sql.maps",
    "discreto.data.sql.grid_codes": "discreto.data.sql.cell_maps",
    "discreto.data.sql.partitions": "discreto.data.sql.backends",
    "discreto.data.sql.postgres_types": "discreto.data.sql.ibis_backend",
    "discreto.data.sql.sql_terms": "discreto.data.sql.row_language",
    "discreto.dry_run": "discreto.session.dry_run",
    "discreto.error_text": "discreto.text.error_messages",
    "discreto.export": "discreto.release.export",
    "discreto.expression_text": "discreto.table.expression_text",
    "discreto.expressions": "discreto.table.expressions",
    "discreto.federated.channels": "discreto.federated.federation",
    "discreto.federated.fastest": "discreto.federated.edge_weights",
    "discreto.federated.lines": "discreto.federated.peer.mailbox",
    "discreto.federated.link_checks": "discreto.federated.flower_checks",
    "discreto.federated.mailbox": "discreto.federated.peer.mailbox",
    "discreto.federated.neighbourhood": "discreto.federated.graph",
    "discreto.federated.own_steps": "discreto.federated.peer.peer",
    "discreto.federated.peer.connections": "discreto.federated.peer.mailbox",
    "discreto.federated.peer.messages": "discreto.federated.peer.mailbox",
    "discreto.federated.peer.mixing_row": "discreto.federated.graph",
    "discreto.federated.peer.own_silo": "discreto.federated.peer.peer",
    "discreto.federated.peer.state": "discreto.federated.peer.peer",
    "discreto.federated.peer_config": "discreto.federated.peer.config",
    "discreto.federated.peer_messages": "discreto.federated.peer.mailbox",
    "discreto.federated.peer_state": "discreto.federated.peer.peer",
    "discreto.federated.reference": "discreto.federated.simulation",
    "discreto.federated.updates": "discreto.federated.silo",
    "discreto.history_columns": "discreto.table.views",
    "discreto.installed": "discreto.text.install_commands",
    "discreto.label_text": "discreto.release.labels",
    "discreto.language": "discreto.text.language",
    "discreto.markup": "discreto.text.html",
    "discreto.models._absent_ledger": "discreto.models.base.ledgers",
    "discreto.models._arrays": "discreto.models.base.arrays",
    "discreto.models._bayes": "discreto.models.bayes.base",
    "discreto.models._bayes_means": "discreto.models.bayes.class_means",
    "discreto.models._bayes_queries": "discreto.models.bayes.queries",
    "discreto.models._bayes_shrinkage": "discreto.models.bayes.shrinkage",
    "discreto.models._calibration": "discreto.models.linear.calibration",
    "discreto.models._centroids": "discreto.models.clusters.centroids",
    "discreto.models._class_scores": "discreto.models.bayes.start_scores",
    "discreto.models._cluster_gaps": "discreto.models.clusters.missing",
    "discreto.models._clusters": "discreto.models.clusters.rounds",
    "discreto.models._estimator": "discreto.models.base.estimator",
    "discreto.models._exports": "discreto.models.interop.sklearn",
    "discreto.models._features": "discreto.models.base.features",
    "discreto.models._frames": "discreto.models.linear.coordinates",
    "discreto.models._gaps_warning": "discreto.models.base.warnings",
    "discreto.models._hashing": "discreto.models.neighbors.hashing",
    "discreto.models._kept": "discreto.models.base.process_facts",
    "discreto.models._kinds": "discreto.models.base.kinds",
    "discreto.models._least_squares": "discreto.models.linear.moments",
    "discreto.models._logistic": "discreto.models.linear.expanded_loss",
    "discreto.models._logistic_steps": "discreto.models.linear.newton_steps",
    "discreto.models._number_scores": "discreto.models.scoring.regressor_metrics",
    "discreto.models._one_look": "discreto.models.linear.residuals",
    "discreto.models._onnx": "discreto.models.interop.onnx",
    "discreto.models._onnx_bayes": "discreto.models.interop.onnx_bayes",
    "discreto.models._onnx_trees": "discreto.models.interop.onnx_trees",
    "discreto.models._own_ledger": "discreto.models.base.ledgers",
    "discreto.models._packing": "discreto.models.interop.json_values",
    "discreto.models._pipelines": "discreto.models.interop.pipelines",
    "discreto.models._predictor": "discreto.models.interop.json",
    "discreto.models._privacy": "discreto.models.base.privacy",
    "discreto.models._products": "discreto.models.linear.moments",
    "discreto.models._query_time": "discreto.models.neighbors.pay_per_prediction",
    "discreto.models._residuals": "discreto.models.linear.residuals",
    "discreto.models._sample_weights": "discreto.models.base.weights",
    "discreto.models._scores": "discreto.models.scoring.classifier_metrics",
    "discreto.models._state": "discreto.models.interop.state",
    "discreto.models._state_parts": "discreto.models.interop.state",
    "discreto.models._strength": "discreto.models.base.signal_to_noise",
    "discreto.models._takes_weights": "discreto.models.base.estimator",
    "discreto.models._terms": "discreto.models.linear.encoding",
    "discreto.models._undeclared": "discreto.models.base.warnings",
    "discreto.models._views": "discreto.models.base.views",
    "discreto.models._weighted_rows": "discreto.models.linear.moments",
    "discreto.models.boosting._base": "discreto.models.boosting.base",
    "discreto.models.boosting.first_look": "discreto.models.boosting.start",
    "discreto.models.boosting.binning": "discreto.models.base.binning",
    "discreto.models.boosting.lines": "discreto.models.boosting.start",
    "discreto.models.boosting.class_weights": "discreto.models.boosting.estimators",
    "discreto.models.boosting.defaults": "discreto.models.boosting.settings",
    "discreto.models.boosting.leaf_means": "discreto.models.boosting.leaves",
    "discreto.models.boosting.leaf_quantiles": "discreto.models.boosting.leaves",
    "discreto.models.boosting.losses": "discreto.models.boosting.settings",
    "discreto.models.boosting.resolved": "discreto.models.boosting.settings",
    "discreto.models.cmeans": "discreto.models.clusters.cmeans",
    "discreto.models.evaluation": "discreto.models.scoring.evaluation",
    "discreto.models.hashed_neighbors": "discreto.models.neighbors.hashed",
    "discreto.models.kmeans": "discreto.models.clusters.kmeans",
    "discreto.models.logistic": "discreto.models.linear.logistic",
    "discreto.models.naive_bayes": "discreto.models.bayes.naive_bayes",
    "discreto.models.persist": "discreto.models.interop.json",
    "discreto.models.selection": "discreto.models.scoring.selection",
    "discreto.parameters": "discreto.session.parameters",
    "discreto.perform": "discreto.session.perform",
    "discreto.release_json": "discreto.release.json",
    "discreto.release_text": "discreto.release.text",
    "discreto.rng": "discreto.session.rng",
    "discreto.rows": "discreto.table.rows",
    "discreto.service.door": "discreto.service.asking",
    "discreto.service.language": "discreto.service.rendering",
    "discreto.service.line": "discreto.service.slow_clients",
    "discreto.service.pictures": "discreto.service.plots",
    "discreto.service.scratch": "discreto.service.metrics_folder",
    "discreto.service.sessions": "discreto.service.browser_sessions",
    "discreto.service.views": "discreto.service.rendering",
    "discreto.shares": "discreto.session.shares",
    "discreto.stats._p_values": "discreto.stats._intervals",
    "discreto.stats._places": "discreto.stats._quantile_grid",
    "discreto.stats._propagation": "discreto.stats._intervals",
    "discreto.stats.domain_fit": "discreto.stats.fit_to_domain",
    "discreto.stats.sentences": "discreto.stats.text",
    "discreto.synthesis._labels": "discreto.synthesis._target_model",
    "discreto.synthesis._rules": "discreto.synthesis._constraints",
    "discreto.synthesis._weights": "discreto.synthesis._pair_weights",
    "discreto.table_answers": "discreto.table.table",
    "discreto.table_views": "discreto.table.views",
    "discreto.tables": "discreto.table.table",
    "discreto.work_limits": "discreto.session.work_limits",
}
PUBLIC = {
    "discreto.meaning": "discreto.text.meaning",
    "discreto.mlflow": "discreto.models.interop.mlflow",
    "discreto.plan": "discreto.session.plan",
    "discreto.preprocessing": "discreto.models.preprocessing",
}
_NEW = OF_0_1 | OF_0_2 | PUBLIC


def today(name: str) -> str | None:
    """Return the name that a module has today, or None if ``name`` is not an old one.

    >>> today("discreto.tables")
    'discreto.table.table'
    >>> today("discreto.data.databases.frame")
    'discreto.data.sql.frame'
    >>> today("discreto.stats")
    """
    if name in _NEW:
        return _NEW[name]
    package, _, module = name.rpartition(".")
    if not package:
        return None
    new = today(package)
    return None if new is None else today(f"{new}.{module}") or f"{new}.{module}"


class _Finder(MetaPathFinder, Loader):
    """Finds old names. Asked first: a moved package would load its files twice."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        if not name.startswith("discreto."):
            return None
        return ModuleSpec(name, self) if today(name) else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        new = today(spec.name)
        if new is None:
            raise ModuleNotFoundError(f"No module named {spec.name!r}", name=spec.name)
        if spec.name not in PUBLIC:
            since = "0.2" if spec.name in OF_0_1 else "0.3"
            warnings.warn(
                f"{spec.name} is called {new} since {since}.",
                DeprecationWarning,
                stacklevel=4,
            )
        module = importlib.import_module(new)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec  # the import system has put the old one there


def install() -> None:
    """Let old names be found."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


def moved(package: str, module: str) -> Callable[[str], Any]:
    """Return a ``__getattr__`` for a package whose names are in ``module`` now."""

    def getattr_(name: str) -> Any:
        if name.startswith("__"):  # asked for by Python itself
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(importlib.import_module(module), name)
        warnings.warn(
            f"{package}.{name} is {module}.{name} since 0.3.",
            DeprecationWarning,
            stacklevel=2,
        )
        return found

    return getattr_


def renamed(module: str, new_names: Mapping[str, str]) -> Callable[[str], Any]:
    """A ``__getattr__`` for a module in which these names have changed."""

    def getattr_(name: str) -> Any:
        if name not in new_names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        new = new_names[name]
        warnings.warn(
            f"{module}.{name} is called {new} since 0.2.",
            DeprecationWarning,
            stacklevel=2,
        )
        return getattr(sys.modules[module], new)

    return getattr_
