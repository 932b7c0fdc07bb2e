"""`arena experts`: from an invitation to a table, and what it refuses in which words."""

from __future__ import annotations

import csv
import io
import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from expert_steps import JUDGE, answer_battle, let_judge, vote_on_battles
from typer.testing import CliRunner, Result

from arena.cli import app
from arena.rules.battles import Outcome
from arena.rules.experts import Answer, CannotJudge, ExpertKeys
from arena.settings import Settings, read_signing_secret
from arena.store import JudgementRow, Store, open_store
from ranking.agreement.reading import read_judgements

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ARMS = "blind=0.5,shown=0.25,planted=0.25"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that the commands are called in, and the data directory in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


@pytest.fixture
def record(folder: Path) -> Iterator[Store]:
    """The record that the commands work on."""
    store = open_store(f"sqlite:///{folder}/arena.db")
    yield store
    store.close()


def experts(*arguments: str, status: int = 0, typed: str | None = None) -> Result:
    command = ["experts", *arguments, "--data-dir", "data"]
    done = CliRunner(env={"ARENA_DATABASE__URL": None}).invoke(app, command, input=typed)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == status, done.output
    return done


def refusal(*arguments: str) -> str:
    return experts(*arguments, status=2).stderr


def listed(command: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(experts(command, "--json").stdout)
    return found


def judge_all(store: Store, name: str) -> None:
    """Somebody who finds A better, but cannot judge the first one."""
    (expert,) = [one for one in store.experts.all() if one.name == name]
    answer = Answer(cannot_judge=CannotJudge.OTHER)
    while task := store.experts.next_task(expert.voter_id):
        store.experts.judge(task.id, voter_id=expert.voter_id, answer=answer)
        answer = Answer(outcome=Outcome.MODEL_A, seconds=0.01)


# Links


def test_an_invitation_is_a_link_that_opens(folder: Path, record: Store) -> None:
    done = experts("invite", "Ada L.", "--days", "7", "--url", "https://arena.test/")
    (line,) = done.stdout.splitlines()
    parts = urlsplit(line)
    assert (parts.scheme, parts.netloc, parts.path) == ("https", "arena.test", "/en/expert/")
    keys = ExpertKeys(read_signing_secret(Settings(data_dir=folder)))
    (ada,) = record.experts.all()
    assert keys.read(parse_qs(parts.query)["key"][0]) == (ada.voter_id, ada.link_id)
    assert (ada.expires_at - ada.created_at).days in (6, 7)
    assert 'arena experts revoke "Ada L."' in done.stderr
    again = experts("invite", "Ada L.")
    assert "replaces the earlier link" in again.stderr
    assert again.stdout.startswith("http://127.0.0.1:7860/en/expert/?key=")
    assert again.stdout.split("key=")[1] != line.split("key=")[1]


def test_a_link_leads_to_the_public_address_in_the_arenas_language(folder: Path) -> None:
    (folder.parent / "arena.toml").write_text(
        'data_dir = "data"\n[arena]\ndefault_language = "zh"\n'
        '[server]\npublic_url = "https://arena.test/"\n',
        encoding="utf-8",
    )
    done = CliRunner().invoke(app, ["experts", "invite", "Ada"])
    assert done.stdout.startswith("https://arena.test/zh/expert/?key=")


def test_the_list_says_whose_links_work(record: Store) -> None:
    assert "arena experts invite" in experts("list").stdout
    for name in ("Ada [L.]", "Bob"):
        experts("invite", name)
    assert experts("revoke", "Bob").stdout == "The link of Bob lets nobody in any more.\n"
    assert [(one["name"], one["status"]) for one in listed("list")] == [
        ("Ada [L.]", "works"),
        ("Bob", "revoked"),
    ]
    assert "Ada [L.]" in experts("list").stdout
    assert 'Did you mean "Ada [L.]"?' in refusal("revoke", "Ada [L]")
    assert "See: arena experts list" in refusal("revoke", "Zoe")
    assert '"" is no name' in refusal("invite", " ")
    assert '--url "arena.test" is no web address' in refusal("invite", "Cid", "--url", "arena.test")


# Samples


def test_a_study_from_the_sample_to_the_table(folder: Path, record: Store) -> None:
    voted = vote_on_battles(record, [*Outcome] * 3)
    for name in ("Ada", "Bob"):
        experts("invite", name)
    done = experts("sample", "--battles", "10", "--name", "study", "--stratify", "outcome", "-y")
    assert "study: 10 of 12 battles that qualify, 2 of 2 experts on each." in done.stdout
    assert re.search(r"expert and crowd\s*│ 20\s*│ ± 22\.\d points", done.stdout)
    (assignment,) = listed("assignments")
    assert assignment["battles"] == 10
    plan = assignment["plan"]
    assert (plan["seed"], plan["stratify"], plan["arms"]) == (0, ["outcome"], None)
    assert plan["expected"][0]["half_width"] == pytest.approx(0.2245, abs=1e-3)
    judge_all(record, "Ada")
    parts = {one["expert"]: one for one in listed("assignments")[0]["experts"]}
    assert (parts["Ada"]["judged"], parts["Ada"]["cannot_judge"]) == (9, 1)
    assert (parts["Bob"]["tasks"], parts["Bob"]["judged"]) == (10, 0)
    assert "10 of 20" in experts("assignments").stdout

    text = experts("export", "--assignment", "study").stdout
    rows = list(csv.DictReader(io.StringIO(text)))
    assert list(rows[0]) == list(JudgementRow._fields)
    assert [row["kind"] for row in rows].count("crowd") == 10
    assert [row["judge"] for row in rows].count("Ada") == 9
    assert {row["item"] for row in rows} < set(voted)
    experts("export", "-o", "study.jsonl")
    lines = (folder.parent / "study.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 19
    assert json.loads(lines[0]).keys() == set(JudgementRow._fields)


def test_the_agreement_reader_takes_the_table(folder: Path, record: Store) -> None:
    vote_on_battles(record, [*Outcome] * 2)
    experts("invite", "Ada")
    experts("sample", "--battles", "8", "--experts", "1", "--yes")
    judge_all(record, "Ada")
    experts("export", "--output", "study.csv")
    table = read_judgements(folder.parent / "study.csv")
    assert (table.kinds, len(table.items)) == (("crowd", "expert"), 8)
    (ada,) = np.flatnonzero(np.array(table.judges) == "Ada")
    assert len(table.verdict) == 8 + 7  # one she could not judge
    assert set(table.verdict[table.judge == ada]) <= {0, 1}
    assert sum(table.judge == ada) == 7


def test_nothing_is_frozen_before_somebody_agrees(record: Store) -> None:
    vote_on_battles(record, [Outcome.MODEL_A] * 4)
    experts("invite", "Ada")
    sample = ("sample", "--battles", "4", "--experts", "1")
    # Typer's runner is no terminal, and so cannot be asked.
    assert "Add --yes" in refusal(*sample)
    assert listed("assignments") == []
    assert "There is no assignment yet" in experts("assignments").stdout
    experts(*sample, "--yes")
    assert [one["name"] for one in listed("assignments")] == ["assignment-1"]
    assert "only 0 qualify" in refusal(*sample, "--yes")


def test_what_nobody_has_begun_can_be_taken_back_and_given_again(record: Store) -> None:
    vote_on_battles(record, [Outcome.MODEL_A] * 4)
    experts("invite", "Ada")
    sample = ("sample", "--battles", "4", "--experts", "1", "--yes")
    experts(*sample, "--name", "mistake")
    assert "There are: mistake." in refusal("withdraw", "mistaken")
    assert "mistake is withdrawn" in experts("withdraw", "mistake").stdout
    assert listed("assignments") == []
    assert "There is none yet." in refusal("withdraw", "mistake")
    (ada,) = record.experts.all()
    assert record.experts.next_task(ada.voter_id) is None
    experts(*sample, "--name", "study")
    judge_all(record, "Ada")
    assert 'experts have judged battles of "study", and what they said stays.' in refusal(
        "withdraw", "study"
    )
    assert [one["battles"] for one in listed("assignments")] == [4]


def test_a_study_of_arms_needs_a_judge_and_records_its_shares(record: Store) -> None:
    voted = vote_on_battles(record, [Outcome.MODEL_A] * 8)
    experts("invite", "Ada")
    sample = ("sample", "--battles", "6", "--experts", "1", "--arms", ARMS, "--yes")
    assert "Name it with --shown-by" in refusal(*sample)
    assert "There is none yet" in refusal(*sample, "--shown-by", JUDGE)
    let_judge(record, dict.fromkeys(voted[:6], (Outcome.MODEL_A, Outcome.MODEL_A)))
    assert f"There are: {JUDGE}" in refusal(*sample, "--shown-by", "Gavel")
    done = experts(*sample, "--shown-by", JUDGE, "--name", "stamp")
    assert re.search(r"Judgements by arm: blind 3, shown [12], planted [12]\.", done.stdout)
    assert re.search(r"expert and crowd\s*│ 3 ", done.stdout)
    (assignment,) = listed("assignments")
    assert assignment["plan"]["arms"] == {"blind": 0.5, "shown": 0.25, "planted": 0.25}
    assert assignment["plan"]["shown_by"] == JUDGE
    judge_all(record, "Ada")
    rows = [row for row in record.judgements.read() if row.kind == "expert"]
    assert {row.item for row in rows} < set(voted[:6])
    assert {row.shown for row in rows if row.arm == "shown"} <= {"model_a"}
    assert {row.shown for row in rows if row.arm == "planted"} <= {"model_b"}


def test_only_a_verdict_on_the_whole_conversation_is_shown(record: Store) -> None:
    (voted, other) = vote_on_battles(record, [Outcome.TIE] * 2, prompts=("Why?", "And then?"))
    let_judge(record, {voted: (Outcome.MODEL_A, Outcome.MODEL_A)}, turn=0)
    experts("invite", "Ada")
    sample = ("sample", "--battles", "1", "--experts", "1", "--shown-by", JUDGE)
    assert "only 0 qualify" in refusal(*sample, "--arms", "shown=1", "--yes")
    assert other != voted


def test_a_pair_and_named_experts_narrow_the_draw(record: Store) -> None:
    vote_on_battles(record, [Outcome.MODEL_A] * 3)
    other = answer_battle(record, models=("Amber", "Cedar"), voter_id="other")
    record.battles.vote(other, voter_id="other", outcome=Outcome.MODEL_A)
    for name in ("Ada", "Bob", "Cid"):
        experts("invite", name)
    narrow = ("sample", "--battles", "1", "--pair", "Cedar", "Amber")
    done = experts(*narrow, "--to", "Cid", "--to", "Ada", "--yes")
    assert "1 of 1 battles that qualify, 2 of 2 experts on each." in done.stdout
    assert {part["expert"] for part in listed("assignments")[0]["experts"]} == {"Ada", "Cid"}
    assert "of Cedar and Dune qualify" in refusal(
        "sample", "--battles", "1", "--pair", "Cedar", "Dune", "--yes"
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--stratify", "pair,colour"], '--stratify "colour" is not known. There are: pair'),
        (["--experts", "3"], "--experts 3: only 1 can be asked"),
        (["--to", "Adda"], 'Did you mean "Ada"?'),
        (["--to", "Zoe"], "arena experts invite"),
        (["--to", "Rex"], '"Rex" has no link that works'),
        (["--battles", "99", "--experts", "1"], "--battles 99: only 2 qualify"),
        (["--shown-by", "X"], "--shown-by needs --arms"),
        (["--arms", "blind=half", "--shown-by", "X"], '--arms "blind=half" is no share'),
        (["--arms", "loud=1", "--shown-by", "X"], '--arms "loud=1" is no share'),
        (["--arms", "blind=0.5", "--shown-by", "X"], "sum to 1"),
        (["--arms", "blind=2,shown=-1", "--shown-by", "X"], "not negative"),
        (["--battles", "2", "--experts", "1", "--name", "taken"], "already. Choose another --name"),
    ],
)
def test_what_cannot_be_sampled_is_refused(arguments: list[str], words: str, record: Store) -> None:
    vote_on_battles(record, [Outcome.MODEL_A] * 3)
    experts("invite", "Ada")
    experts("invite", "Rex")
    experts("sample", "--battles", "1", "--experts", "1", "--name", "taken", "--yes")
    experts("revoke", "Rex")
    assert words in refusal("sample", *arguments, "--yes")
    assert len(listed("assignments")) == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--assignment", "none"], 'no assignment named "none". There is none yet.'),
        (["--output", "study.xlsx"], 'nothing is known of ".xlsx" files'),
        (["--output", "nowhere/study.csv"], "cannot be written"),
    ],
)
def test_what_cannot_be_exported_is_refused(
    arguments: list[str], words: str, record: Store
) -> None:
    assert words in refusal("export", *arguments)


def test_without_an_arena_there_is_nothing_to_open(folder: Path) -> None:
    done = CliRunner().invoke(app, ["experts", "list"])
    assert done.exit_code == 2
    assert "arena.toml" in done.stderr
    assert not (folder / "arena.db").exists()
