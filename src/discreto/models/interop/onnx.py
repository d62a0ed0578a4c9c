"""Fitted models as ONNX graphs: released numbers and public bounds, in doubles.

The graphs are small and built by hand: the converters for scikit-learn make nodes for
missing values that onnxruntime has in single precision only, and then predictions
would not be the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreto.errors import MissingExtraError, ParameterError
from discreto.models.interop.onnx_bayes import bayes
from discreto.models.interop.onnx_trees import tree_scores
from discreto.text.install_commands import install_command

if TYPE_CHECKING:
    from discreto.models.base.estimator import PrivateEstimator

OPSET, TREES, FORMAT = 18, 5, 9


def to_onnx(model: PrivateEstimator) -> Any:
    """Return the model as a graph: Numbers are ``X``, Categories have their names."""
    try:
        import onnx
    except ImportError:
        raise MissingExtraError(
            f"to_onnx needs onnx: {install_command('onnx')}"
        ) from None
    name = type(model).__name__
    make = _FORMS.get(name)
    if make is None or (model.space_.categories and make is not bayes):
        raise ParameterError(
            f"{name} of these columns has no ONNX form.{_WHY.get(name, '')} There is "
            f"one for {', '.join(_FORMS)}, with Number columns; with Category columns "
            "for naive Bayes. models.save writes any model as JSON."
        )
    graph = _Graph(onnx)
    make(model, graph)
    return graph.finish(len(model.space_.numbers), name)


class _Graph:
    """Nodes in order; each gives the name of its result."""

    def __init__(self, onnx: Any) -> None:
        self._onnx = onnx
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._outputs: list[Any] = []
        self._inputs: list[Any] = []

    def input(self, name: str, kind: str) -> str:
        """Return a column that is an input of its own."""
        types = self._onnx.TensorProto
        found = types.STRING if kind == "string" else types.INT64
        make = self._onnx.helper.make_tensor_value_info
        self._inputs.append(make(name, found, [None]))
        return name

    def classes(self, model: PrivateEstimator, logs: str) -> None:
        """Add nodes for the most probable class and all probabilities."""
        chances = self.node("Softmax", logs, axis=1)
        best = self.node("ArgMax", chances, axis=1, keepdims=0)
        named = self.node("Gather", self.constant(np.asarray(model.classes_)), best)
        self.output(named, "prediction", self.kind_of(model.classes_), [None])
        size = len(model.classes_)
        self.output(chances, "probabilities", self.double(), [None, size])

    def node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        name = f"{kind}_{len(self._nodes)}"
        made = self._onnx.helper.make_node(kind, list(inputs), [name], **attributes)
        self._nodes.append(made)
        return name

    def constant(self, value: Any) -> str:
        array = np.asarray(value)
        if array.dtype.kind in "OU":
            array = array.astype(object)
        name = f"constant_{len(self._constants)}"
        self._constants.append(self._onnx.numpy_helper.from_array(array, name))
        return name

    def tensor(self, array: Any) -> Any:
        """Return an array as an attribute of a node."""
        return self._onnx.numpy_helper.from_array(array)

    def output(self, source: str, name: str, kind: Any, shape: list[Any]) -> None:
        same = self._onnx.helper.make_node("Identity", [source], [name])
        self._nodes.append(same)
        info = self._onnx.helper.make_tensor_value_info(name, kind, shape)
        self._outputs.append(info)

    def double(self) -> Any:
        return self._onnx.TensorProto.DOUBLE

    def kind_of(self, values: Any) -> Any:
        types = self._onnx.TensorProto
        kinds = {"i": types.INT64, "f": types.DOUBLE, "b": types.BOOL}
        return kinds.get(np.asarray(values).dtype.kind, types.STRING)

    def finish(self, width: int, name: str) -> Any:
        helper = self._onnx.helper
        inputs = list(self._inputs)
        if width:
            make = helper.make_tensor_value_info
            inputs.insert(0, make("X", self.double(), [None, width]))
        graph = helper.make_graph(
            self._nodes, name, inputs, self._outputs, self._constants
        )
        made = helper.make_model(
            graph,
            opset_imports=[
                helper.make_opsetid("", OPSET),
                helper.make_opsetid("ai.onnx.ml", TREES),
            ],
            ir_version=FORMAT,
        )
        self._onnx.checker.check_model(made)
        return made


def _within_bounds(model: PrivateEstimator, graph: _Graph) -> str:
    """Add nodes that clip rows to the bounds and fill missing values."""
    space = model._learned_from
    centres, halves = space.centres(), space.halves()
    missing = graph.node("IsNaN", "X")
    fill = centres + halves * getattr(model, "fill_", 0.0)
    there = graph.node("Where", missing, graph.constant(fill), "X")
    low = graph.node("Max", there, graph.constant(centres - halves))
    return graph.node("Min", low, graph.constant(centres + halves))


def _scores(model: PrivateEstimator, graph: _Graph) -> str:
    coef = np.atleast_2d(model.coef_).astype(float)
    rows = _within_bounds(model, graph)
    product = graph.node("MatMul", rows, graph.constant(coef.T.copy()))
    return graph.node(
        "Add", product, graph.constant(np.atleast_1d(model.intercept_).astype(float))
    )


def _linear(model: PrivateEstimator, graph: _Graph) -> None:
    _number(model, graph, _scores(model, graph))


def _boosted_number(model: PrivateEstimator, graph: _Graph) -> None:
    scores = tree_scores(model, graph)
    if model.loss == "poisson":
        most = graph.constant(np.float64(700.0))
        scores = graph.node("Exp", graph.node("Min", scores, most))
    _number(model, graph, scores)


def _number(model: PrivateEstimator, graph: _Graph, scores: str) -> None:
    """Add nodes that give a number within the bounds of the target."""
    target = model.space_.domain.number(model.space_.goal)
    ends = [graph.constant(np.float64(e)) for e in (target.lower, target.upper)]
    flat = graph.node("Squeeze", scores, graph.constant([1]))
    clipped = graph.node("Clip", flat, *ends)
    graph.output(clipped, "prediction", graph.double(), [None])


def _logistic(model: PrivateEstimator, graph: _Graph) -> None:
    _classes(model, graph, _scores(model, graph))


def _boosted_classes(model: PrivateEstimator, graph: _Graph) -> None:
    _classes(model, graph, tree_scores(model, graph))


def _classes(model: PrivateEstimator, graph: _Graph, scores: str) -> None:
    """Add nodes for the most probable class and all probabilities, from scores."""
    if len(model.classes_) == 2:
        halves = graph.constant(np.array([[-0.5, 0.5]]))
        scores = graph.node("Mul", scores, halves)
    graph.classes(model, scores)


def _kmeans(model: PrivateEstimator, graph: _Graph) -> None:
    space = model.space_
    centres = (model.cluster_centers_ - space.centres()) / space.halves()
    rows = _within_bounds(model, graph)
    moved = graph.node("Sub", rows, graph.constant(space.centres()))
    unit = graph.node("Div", moved, graph.constant(space.halves()))
    apart = graph.node("Unsqueeze", unit, graph.constant([1]))
    gaps = graph.node("Sub", apart, graph.constant(centres[None, :, :]))
    squares = graph.node("Mul", gaps, gaps)
    may = [space.domain.number(name).missing for name in space.numbers]
    absent = graph.node("And", graph.node("IsNaN", "X"), graph.constant(np.array(may)))
    wide = graph.node("Unsqueeze", absent, graph.constant([1]))
    squares = graph.node("Where", wide, graph.constant(np.float64(0.0)), squares)
    far = graph.node("ReduceSum", squares, graph.constant([2]), keepdims=0)
    best = graph.node("ArgMin", far, axis=1, keepdims=0)
    graph.output(best, "prediction", graph.kind_of([0]), [None])


_FORMS = {
    "LinearRegression": _linear,
    "LogisticRegression": _logistic,
    "KMeans": _kmeans,
    "GradientBoostingClassifier": _boosted_classes,
    "GradientBoostingRegressor": _boosted_number,
    "GaussianNB": bayes,
    "CategoricalNB": bayes,
    "NaiveBayes": bayes,
}
_ASKS = " It answers from the rows at every prediction, and charges for it."
_WHY = dict.fromkeys(("KNeighborsClassifier", "RadiusNeighborsClassifier"), _ASKS)
