"""A silo from its TOML file, jobs, and what Flower is told."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

import discreto as dp
from discreto.cli import app
from discreto.core.cost import Cost, rho_of_pure
from discreto.errors import (
    BudgetError,
    DiscretoError,
    DomainError,
    MissingExtraError,
    ParameterError,
)
from discreto.federated import FederatedAveraging, flower, messages
from discreto.federated.config import read_silo, read_wire
from discreto.federated.federation import Local
from discreto.federated.jobs import check_job, learn, write_result
from discreto.models import LinearRegression, save
from discreto.testing import simulate
from discreto.text.install_commands import install_command

SILO = """
data = "rows.csv"
domain = "domain.json"
ledger = "book.ledger"
epsilon = 3
delta = "1e-4"
rows = 4
accept_unchecked = true
[policy]
per_round = 1
questions = ["Values"]
[policy.partners]
coordinator = 2
[flower]
superlink = "127.0.0.1:8000"
root_certificates = "ca.crt"
private_key = "silo.key"
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    domain = dp.Domain({"x": dp.Number(0, 1), "y": dp.Number(0, 1)}, target="y")
    domain.save(tmp_path / "domain.json")
    (tmp_path / "rows.csv").write_text("x,y\n0,1\n1,0\n0.5,0.5\n0.2,0.9\n")
    (tmp_path / "ca.crt").touch()
    (tmp_path / "silo.key").touch()
    path = tmp_path / "silo.toml"
    path.write_text(SILO)
    return path


def test_a_silo_is_read_with_its_policy_and_ledger(config):
    silo = read_silo(config)
    assert silo.rows == 4
    assert silo.policy.questions == ("Values",)
    assert (config.parent / "book.ledger").exists()
    assert silo.answer(messages.hello(), "coordinator")["remaining"] == 2
    assert silo.answer(messages.hello(), "stranger")["error"] == "UnsafeError"
    silo.ledger.charge(dp.Cost.of("0.5"), "a look")
    assert read_silo(config).ledger.spent().epsilon == Fraction(1, 2)


@pytest.mark.parametrize("said", ["silo", "domain"])
def test_a_file_in_another_dialect(config, said):
    schema = read_silo(config).answer(messages.hello(), "coordinator")["schema"]
    (config.parent / "rows.csv").write_text("x;y\n0;1\n1;0\n0,5;0,5\n0,2;0,9\n")
    german = dp.Dialect(separator=";", decimal=",")
    if said == "silo":
        part = "[dialect]\nseparator = ';'\ndecimal = ','\n[flower]"
        config.write_text(SILO.replace("[flower]", part))
    else:
        domain = dp.Domain.load(config.parent / "domain.json")
        domain.with_(dialect=german).save(config.parent / "domain.json")
    silo = read_silo(config)
    assert silo.answer(messages.hello(), "coordinator")["schema"] == schema
    table = dp.Table(
        config.parent / "rows.csv", silo.domain, dp.testing.simulate(noise=False)
    )
    assert dp.stats.mean(table, "x", epsilon=1).value == pytest.approx(0.425, abs=1e-6)


@pytest.mark.parametrize("said", ["", "accept_unchecked = false\n"])
def test_an_unchecked_text_file_is_refused_until_its_owner_has_checked(config, said):
    config.write_text(SILO.replace("accept_unchecked = true\n", said))
    with pytest.raises(DomainError, match="--owner --record, or say accept_unchecked"):
        read_silo(config)
    domain = dp.Domain.load(config.parent / "domain.json")
    checked = dp.record_check(config.parent / "rows.csv", domain)
    checked.save(config.parent / "domain.json")
    silo = read_silo(config)
    assert silo.answer(messages.hello(), "coordinator")["rows"] == 4
    # The record is about one dialect.
    part = "[dialect]\nthousands = '_'\n[flower]"
    config.write_text(config.read_text().replace("[flower]", part))
    with pytest.raises(DomainError, match="accept_unchecked"):
        read_silo(config)


def test_a_file_of_numbers_needs_no_check(config):
    rows = {"x": [0, 1, 0.5, 0.2], "y": [1, 0, 0.5, 0.9]}
    pd.DataFrame(rows).to_parquet(config.parent / "rows.parquet")
    text = SILO.replace("accept_unchecked = true\n", "").replace(".csv", ".parquet")
    config.write_text(text)
    assert read_silo(config).rows == 4


def test_paths_are_relative_to_the_file(config, monkeypatch, tmp_path):
    monkeypatch.chdir("/")
    assert read_silo(config).rows == 4
    wire = read_wire(config)
    assert wire.private_key == str(tmp_path / "silo.key")
    assert wire.home == str(tmp_path / "flower")
    assert wire.partner == "coordinator"


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('data = "rows.csv"', "", "needs 'data'"),
        ("rows = 4", "row = 4", "does not know 'row'"),
        ("per_round = 1", "per_rund = 1", "'per_rund'"),
        ("epsilon = 3", "epsilon = [", "not a readable TOML"),
        ('superlink = "127.0.0.1:8000"', "", "superlink"),
        ('"ca.crt"', '"absent.crt"', "no file"),
        ("[policy.partners]\ncoordinator = 2", "[x]", "does not know 'x'"),
    ],
)
def test_a_file_with_a_mistake_is_refused(config, old, new, says):
    config.write_text(SILO.replace(old, new))
    with pytest.raises(ParameterError, match=says):
        (read_wire(config), read_silo(config))


def job(**changes: Any) -> dict[str, Any]:
    params = {"epsilon": "0.5", "rounds": 3}
    return {"learner": "averaging", "params": params, "target": "y"} | changes


def test_a_job_names_a_learner_or_a_model():
    assert check_job(job()) == FederatedAveraging(epsilon="0.5", rounds=3)
    model = check_job(job(learner="LinearRegression", params={"epsilon": 1}))
    assert isinstance(model, LinearRegression)


def test_a_job_names_settings_among_its_parameters():
    params = {"epsilon": 1, "splits": "random", "max_depth": 2}
    model = check_job(job(learner="GradientBoostingRegressor", params=params))
    assert (model.settings.splits, model.max_depth) == ("random", 2)


NO_LEARNERS = ["save", "load", "select", "os", "", "Averaging"]
NO_LEARNERS += ["Evaluation", "BoostingSettings"]


@pytest.mark.parametrize("name", NO_LEARNERS)
def test_nothing_else_can_be_named(name):
    with pytest.raises(ParameterError, match="unknown learner"):
        check_job(job(learner=name))


def test_parameters_that_a_learner_lacks_are_refused():
    with pytest.raises(ParameterError, match="clips"):
        check_job(job(params={"epsilon": 1, "clips": 3}))


def test_a_job_is_carried_out_and_charged(config):
    config.write_text(SILO.replace('questions = ["Values"]', ""))
    silo = read_silo(config)
    channel = Local({"one": silo})
    model = learn(channel, job(params={"epsilon": "0.5", "rounds": 3}))
    assert model["target"] == "y"
    one = {"epsilon": "0.25", "method": "weighted"}  # a single question
    fitted = learn(channel, job(learner="LinearRegression", params=one))
    assert fitted
    spent = silo.ledger.spent()
    late = rho_of_pure(Fraction(1, 4))  # without a delta, after a run with one
    assert spent == Cost.of("1/2", "1e-5") + Cost(rho=late)


def test_a_result_is_written_whole_and_errors_are_results(tmp_path):
    def broke() -> dict[str, Any]:
        raise BudgetError("nothing is left.")

    def burst() -> dict[str, Any]:
        raise ValueError("SECRET 37.2")

    out = tmp_path / "out.json"
    write_result(out, lambda: {"model": 1})
    assert json.loads(out.read_text()) == {"model": 1}
    write_result(out, broke)
    assert json.loads(out.read_text())["error"] == "BudgetError"
    with pytest.raises(ValueError, match="SECRET"):
        write_result(out, burst)
    assert "SECRET" not in out.read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["out.json"]


def test_a_bundle_is_one_file_that_names_installed_apps(tmp_path):
    flower.bundle(tmp_path / "run", job(out='/tmp/"quoted" \\ ü'))
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["pyproject.toml"]
    found = tomllib.loads((tmp_path / "run" / "pyproject.toml").read_text("utf-8"))
    app = found["tool"]["flwr"]["app"]
    assert app["components"] == flower.APPS
    assert json.loads(app["config"]["job"])["out"] == '/tmp/"quoted" \\ ü'
    assert "dependencies" not in found["project"]


def test_flower_is_told_to_report_and_look_up_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("FLWR_TELEMETRY_ENABLED", "1")
    found = flower.environment(tmp_path / "home", tmp_path / "guard")
    assert found["FLWR_TELEMETRY_ENABLED"] == "0"
    assert found["FLWR_DISABLE_UPDATE_CHECK"] == "1"
    assert found["FLWR_HOME"] == str(tmp_path / "home")
    assert found["PATH"].startswith(str(tmp_path / "guard"))


class Mail:
    """A message as Flower shows it."""

    def __init__(self, text: str) -> None:
        self.content = {"letter": {"json": text}}


@pytest.mark.parametrize("text", ["{", "[]", '{"kind": "raw rows"}', "null"])
def test_whatever_comes_a_silo_replies(config, text):
    reply = flower._answer(flower._open, str(config), Mail(text))
    assert reply["kind"] == "refusal"


def test_a_silo_that_cannot_open_does_not_say_why(config):
    config.write_text("SECRET")
    reply = flower._answer(flower._open, str(config), Mail("{}"))
    assert reply["error"] == "KernelFault"
    assert "SECRET" not in str(reply)


# Commands


def run(*words: Any) -> Any:
    return CliRunner().invoke(app, [str(word) for word in words])


def test_check_shows_what_a_partner_sees(config):
    done = run("silo", "check", "--config", config)
    assert done.exit_code == 0, done.output
    assert "ε 2" in done.output
    assert "coordinator, at 127.0.0.1:8000" in done.output
    assert "0.9" not in done.output


def test_commands_without_flower_name_the_extra(config, monkeypatch):
    monkeypatch.setattr(flower, "flower", None)
    words = ["--superlink", "x:1", "--root-certificates", "ca.crt"]
    learn = ["averaging", "--target", "y", "--silos", "a", "--epsilon", "1"]
    commands = [
        ["silo", "serve", "--config", config],
        ["federate", "run", *learn, "--out", "m.json", *words],
        ["federate", "register", "k.pub", "--name", "a", *words],
    ]
    for command in commands:
        done = run(*command)
        assert done.exit_code == MissingExtraError.exit_code, done.output
        command = "".join(install_command("federated").split())
        assert command in "".join(done.output.replace("│", " ").split())


def test_a_job_with_a_mistake_is_refused_before_anything_is_sent(config, monkeypatch):
    monkeypatch.setattr(flower, "flower", Flwr)
    monkeypatch.chdir(config.parent)
    words = ["--target", "y", "--silos", "a", "--superlink", "x:1"]
    words += ["--root-certificates", "ca.crt", "--out", "m.json"]
    done = run("federate", "run", "avereging", "--epsilon", 1, *words)
    assert done.exit_code == ParameterError.exit_code
    done = run("federate", "run", "averaging", "--epsilon", 0, *words)
    assert done.exit_code == ParameterError.exit_code
    done = run("federate", "run", "averaging", "--epsilon", 1, "--set", "x", *words)
    assert done.exit_code == ParameterError.exit_code
    assert not Path("m.json").exists()


# The grid


class Grid:
    """A Flower grid in which some nodes never answer."""

    def __init__(self, names: list[str], silent: set[str]) -> None:
        self.names, self.silent, self.sent = names, silent, {}

    def get_nodes(self) -> list[Any]:
        return [Node(name, number) for number, name in enumerate(self.names)]

    def push_messages(self, mails: list[Any]) -> list[str | None]:
        ids = [f"id {mail.dst_node_id}" for mail in mails]
        self.sent |= dict(zip(ids, mails, strict=True))
        return ids

    def pull_messages(self, ids: list[str]) -> list[Any]:
        mails = [self.sent.pop(one) for one in ids if one in self.sent]
        return [
            Reply(f"id {mail.dst_node_id}", mail.dst_node_id)
            for mail in mails
            if self.names[mail.dst_node_id] not in self.silent
        ]


class Node:
    def __init__(self, name: str, number: int) -> None:
        self.name, self.node_id = name, number


class Reply(Mail):
    def __init__(self, name: str, number: int) -> None:
        super().__init__(json.dumps({"from": number}))
        self.metadata = type("M", (), {"reply_to_message_id": name})()

        if number == 5:
            self.content = {"letter": {"json": "[1, 2"}}

    def has_error(self) -> bool:
        return self.content["letter"]["json"] == '{"from": 2}'


class Flwr:
    """The two names of Flower that a channel needs."""

    ConfigRecord = RecordDict = dict

    class Message:
        def __init__(self, content: Any, dst_node_id: int, **options: Any) -> None:
            self.content, self.dst_node_id, self.options = content, dst_node_id, options


def test_silent_and_failing_silos_are_left_out(monkeypatch):
    monkeypatch.setattr(flower, "flower", Flwr)
    monkeypatch.setattr(flower, "POLL", 0.01)
    grid = Grid(["c", "a", "broken", "silent", "other", "odd"], {"silent"})
    chosen = ["a", "c", "broken", "silent", "odd"]
    channel = flower.FlowerChannel(grid, chosen, 0.2)
    assert channel.names() == chosen
    replies = channel.send({name: {"x": 1} for name in channel.names()})
    assert replies == {"a": {"from": 1}, "c": {"from": 0}}


def test_a_silo_that_never_comes_is_named(monkeypatch):
    monkeypatch.setattr(flower, "POLL", 0.01)
    with pytest.raises(DiscretoError, match="'west'"):
        flower.FlowerChannel(Grid(["a"], set()), ["a", "west"], 0.05)


def test_a_silos_own_process_reads_a_model_when_it_is_asked_about_one(tmp_path):
    domain = dp.Domain({"x": dp.Number(0, 1), "y": dp.Number(0, 1)}, target="y")
    rows = {"x": [0.1, 0.9], "y": [0.1, 0.9]}
    table = dp.Table(rows, domain, simulate(0, noise=False))
    save(LinearRegression(epsilon=1).fit(table), tmp_path / "line.json")
    code = (
        "import sys; from discreto.federated import silo;"
        "from discreto.core.maps.predictions import predictor_of;"
        "print(predictor_of(open(sys.argv[1]).read()).goal)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "line.json"],
        capture_output=True,
        text=True,
    )
    assert done.stdout == "y\n", done.stderr
