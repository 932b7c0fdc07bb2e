"""A whole study on a real language model: the crowd, two experts, a judge and the report."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from itertools import chain, combinations, product
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from byte_recorder import find_words, recording
from expert_steps import invite
from experts_at_work import ExpertTab, key_of, record_of
from playwright.sync_api import expect
from serving_arena import serving

from arena.agreement.desk import collect_verdicts
from arena.rules.battles import Outcome
from arena.rules.experts import ExpertKeys
from arena.web.texts import load_texts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from byte_recorder import ByteRecorder
    from conftest import Visit
    from playwright.sync_api import Page
    from serving_arena import RunningArena
    from visitors import Visitor

    from arena.agreement.desk import Verdicts

    Command = subprocess.Popen[str]

pytestmark = [pytest.mark.browser, pytest.mark.model, pytest.mark.slow]

OUTPUT = Path(__file__).resolve().parents[2] / "output"
ARENA = Path(sys.executable).with_name("arena")
# Names that are nowhere in Gradio's files, nor in what a model says of itself.
MODELS = ("Zebra-9000-qx", "Okapi-88b-zz")
JUDGE = "Gavel-77-yy"
STUDY = "study-tapir"
PROMPTS = (
    ("What colour is the sky?", "Name a fruit."),
    ("Greet me in one sentence.", "What is the capital of France?"),
)
COMMENTS = {"Ada L.": "Neither says why, said the walrus.", "Ben M.": "A gnu would know."}
MODEL = """
[[models]]
name = "{name}"
backend = "llamacpp"
path = "{path}"
system_prompt = "{prompt}"
price_input = 0
price_output = 0
# Without it, a model of this size soon goes in circles.
extra_body = {{ repeat_penalty = 1.1 }}
sampling = {{ temperature = 0.7, max_tokens = 24 }}
"""


@pytest.fixture(scope="module")
def study(model_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningArena]:
    """`arena up` over two characters of the embedded model; a judge has settings of its own."""
    folder = tmp_path_factory.mktemp("study")
    characters = {MODELS[0]: "", MODELS[1]: "You are a cheerful pirate.", JUDGE: ""}
    tables = {
        name: MODEL.format(name=name, path=model_file, prompt=prompt)
        for name, prompt in characters.items()
    }
    where = f'data_dir = "{folder}"\n'
    (folder / "arena.toml").write_text(where + tables[MODELS[0]] + tables[MODELS[1]])
    (folder / "judge.toml").write_text(where + tables[JUDGE])
    command = [str(ARENA), "up", "--config", str(folder / "arena.toml"), "--port", "0"]
    with serving(command, data_dir=folder) as served:
        yield served


def start(arena: RunningArena, *arguments: str, config: str = "arena.toml") -> Command:
    return subprocess.Popen(
        [str(ARENA), *arguments, "--config", str(arena.data_dir / config)],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def finish(command: Command) -> str:
    """What a command printed, once it has ended well."""
    said, errors = command.communicate(timeout=240)
    assert command.returncode == 0, errors
    return said


def call(arena: RunningArena, *arguments: str) -> str:
    with start(arena, *arguments) as command:
        return finish(command)


def shoot(page: Page, name: str, *, whole: bool = False) -> None:
    OUTPUT.mkdir(exist_ok=True)
    page.screenshot(path=OUTPUT / f"study-{name}.png", full_page=whole)


def test_from_the_crowds_votes_to_the_report(study: RunningArena, visit: Visit) -> None:
    for number, prompts in enumerate(PROMPTS):
        vote(visit(study, phone=bool(number)), prompts)
    links = {name: invite_by_command(study, name) for name in COMMENTS}
    said = call(
        study, "experts", "sample", "--battles", "4", "--experts", "2", "--name", STUDY, "--yes"
    )
    assert f"{STUDY}: 4 of 4 battles that qualify, 2 of 2 experts on each." in said
    asked = ("judge", "run", "--judge", JUDGE, "--assignment", STUDY, "--max-tokens", "64")
    with start(study, *asked, "--yes", "--json", config="judge.toml") as judging:
        let_experts_judge(study, visit, links, meanwhile=judging)
    check_refusals(study, visit, links["Ada L."])

    verdicts = read_verdicts(study)
    assert Counter(one.kind for v in verdicts for one in v.said if one.kind != "judge") == {
        "crowd": 4, "expert": 8,
    }  # fmt: skip
    assert study.count("SELECT count(*) FROM votes") == 4
    check_report(study, verdicts)
    check_page(study, visit, verdicts)


# The crowd


def vote(volunteer: Visitor, prompts: tuple[str, ...]) -> None:
    """Real battles in a browser; the left answer wins each."""
    tab = volunteer.open("/")
    for prompt in prompts:
        tab.battle(prompt)
        tab.vote(1).click()
        assert sorted(tab.expect_reveal()) == sorted(MODELS)
        tab.new.click()
        tab.expect_status("idle")


# Experts


def invite_by_command(arena: RunningArena, name: str) -> str:
    """The path of a personal link."""
    said = call(arena, "experts", "invite", name, "--url", arena.address).strip()
    assert said.startswith(f"{arena.address}/en/expert/?key=")
    return said.removeprefix(arena.address)


def let_experts_judge(
    arena: RunningArena, visit: Visit, links: dict[str, str], *, meanwhile: Command
) -> None:
    """Both judge all battles, one at a desk and one on a phone, while a model judges them too."""
    with recording(arena.address) as ada_sees, recording(arena.address) as ben_sees:
        ada = enter(arena, visit, ada_sees, links["Ada L."], phone=False)
        ben = enter(arena, visit, ben_sees, links["Ben M."], phone=True)
        judge(ada, done=0, buttons=(3, 1), comment=COMMENTS["Ada L."])
        judge(ben, done=0, buttons=(4, 1, 2, 1), comment=COMMENTS["Ben M."])
        judge(ada, done=2, buttons=(3, 2), comment="")
        summary = json.loads(finish(meanwhile))["summary"]
        assert (summary["answered"], summary["failed"]) == (8, 0)
        for tab, size in ((ada, 1280), (ben, 390)):
            tab.page.reload()  # once there is nothing left that nobody has said
            tab.expect_end()
            expect(tab.page.locator("h1")).to_have_text("Thank you!")
            expect(tab.undo).to_be_visible()
            shoot(tab.page, f"{size}-2-end")
        check_bytes(arena, ada_sees, others="Ben M.")
        check_bytes(arena, ben_sees, others="Ada L.")
        for tab in (ada, ben):
            tab.page.close()


def enter(
    arena: RunningArena, visit: Visit, recorder: ByteRecorder, link: str, *, phone: bool
) -> ExpertTab:
    """Follows the link, with a recorder in between."""
    within = replace(arena, address=recorder.address)
    tab = ExpertTab.open(visit(within, phone=phone).context, recorder.address + link)
    assert "key=" not in tab.page.url
    tab.expect_done(0, 4)
    for side in "ab":
        expect(tab.answer(side)).to_have_text(re.compile(r"\w"))
    shoot(tab.page, f"{390 if phone else 1280}-1-task")
    return tab


def judge(tab: ExpertTab, *, done: int, buttons: tuple[int, ...], comment: str) -> None:
    """A verdict after the other, the comment with the first, which is never the crowd's."""
    for number, button in enumerate(buttons, done):
        tab.expect_done(number, 4)
        if number == done:
            tab.reason("clarity").check()
            tab.comment.fill(comment)
        tab.vote(button).click()
    if done + len(buttons) == 4:
        tab.expect_end()
    else:
        tab.expect_done(done + len(buttons), 4)


def check_bytes(arena: RunningArena, recorder: ByteRecorder, *, others: str) -> None:
    """No model, vote or verdict of anybody else was sent; the search finds what was."""
    crowd = {str(voter) for (voter,) in arena.rows("SELECT voter_id FROM votes")}
    assert len(crowd) == 2
    battles = {str(battle) for (battle,) in arena.rows("SELECT id FROM battles")}
    hidden = {*MODELS, JUDGE, STUDY, *crowd, *battles, others, COMMENTS[others]}
    hidden |= set(Outcome) - {Outcome.TIE}  # a tie is also what a button says
    received = recorder.received
    assert find_words(hidden, received) == set()
    sent = set(chain(*PROMPTS))
    assert find_words(sent, received) == sent


def check_refusals(arena: RunningArena, visit: Visit, link: str) -> None:
    """A forged, an expired and a revoked link show one and the same page, in plain words."""
    revoked = invite_by_command(arena, "Cora")
    call(arena, "experts", "revoke", "Cora")
    with record_of(arena) as store:
        late = invite(store, "Dora", days=-1)
        forged = ExpertKeys("a secret of somebody else").sign(store.experts.all()[0])
    base = link.partition("key=")[0] + "key="
    visitor = visit(arena)
    page = visitor.context.new_page()
    words = load_texts("en")["expert"]
    for refused in (base + forged, link[:-2], base + key_of(arena, late), revoked):
        answer = page.goto(arena.address + refused)
        assert answer is not None
        assert answer.status == 403
        expect(page.get_by_text(words["refused"])).to_be_visible()
    shoot(page, "1280-3-refused")
    page.close()
    # What a browser's console says of a 403.
    assert len(visitor.complaints) == 4
    visitor.complaints.clear()


# The report


def read_verdicts(arena: RunningArena) -> list[Verdicts]:
    with record_of(arena) as store:
        return list(collect_verdicts(store.judgements.read(STUDY)))


def count_pairs(verdicts: list[Verdicts], first: str, second: str) -> tuple[int, int]:
    """Pairs of judgements of two kinds, and how many of these agree, in plain loops."""
    pairs = agree = 0
    for battle in verdicts:
        said = [
            (one.kind, Outcome.TIE if one.verdict is Outcome.BOTH_BAD else one.verdict)
            for one in battle.said
            if one.verdict is not None
        ]
        own = [verdict for kind, verdict in said if kind == first]
        other = [verdict for kind, verdict in said if kind == second]
        for one, another in combinations(own, 2) if first == second else product(own, other):
            pairs += 1
            agree += one == another
    return pairs, agree


def check_report(arena: RunningArena, verdicts: list[Verdicts]) -> None:
    """Every kind is compared with every other, on as many pairs as there are."""
    options = ("agreement", "--assignment", STUDY, "--replicates", "200", "--min-pairs", "1")
    report = json.loads(call(arena, *options, "--format", "json"))
    assert [kind["kind"] for kind in report["kinds"]] == ["crowd", "expert", "judge"]
    assert [kind["judges"] for kind in report["kinds"]] == [2, 2, 1]
    found = {(line["first"], line["second"]): line for line in report["agreements"]}
    assert set(found) == {
        ("crowd", "expert"), ("crowd", "judge"), ("expert", "expert"), ("expert", "judge"),
    }  # fmt: skip
    assert (found["crowd", "expert"]["pairs"], found["expert", "expert"]["pairs"]) == (8, 4)
    for kinds, line in found.items():
        pairs, agree = count_pairs(verdicts, *kinds)
        assert line["pairs"] == pairs
        assert line["with_ties"]["value"] == pytest.approx(agree / pairs)
    table = call(arena, *options)
    assert re.search(r"│ crowd +│ expert +│ +8 │ +\d+\.\d% \(", table)
    assert re.search(r"│ expert +│ expert +│ +4 │", table)
    for first, second in (("crowd", "judge"), ("expert", "judge")):
        pairs, _ = count_pairs(verdicts, first, second)
        assert re.search(rf"│ {first} +│ {second} +│ +{pairs} │", table)
    assert re.search(rf"│ {JUDGE} \(plain\) +│ +4 │", table)


def check_page(arena: RunningArena, visit: Visit, verdicts: list[Verdicts]) -> None:
    """The matrix leads to the battles on which crowd and experts differ, with all their words."""
    link = call(arena, "analysts", "invite", "--url", arena.address).strip()
    differing = [battle for battle in verdicts if battle.differ("crowd", "expert")]
    assert differing
    for phone in (False, True):
        size = 390 if phone else 1280
        page = visit(arena, phone=phone).context.new_page()
        page.goto(link)
        assert "key=" not in page.url
        matrix = page.locator(".agreement-matrix")
        expect(matrix.locator("thead th")).to_have_text(["Crowd", "Expert", "AI judge"])
        shoot(page, f"{size}-4-agreement", whole=True)
        matrix.get_by_role("link").first.click()
        battles = page.locator("#battles details")
        expect(battles).to_have_count(len(differing))
        for battle in battles.all():
            battle.locator("summary").click()
        check_battles(arena, page, differing)
        shoot(page, f"{size}-5-differing", whole=True)
        wide: int = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0
        page.close()


def check_battles(arena: RunningArena, page: Page, differing: list[Verdicts]) -> None:
    told = page.locator("#battles").inner_text()
    texts = "SELECT text FROM responses WHERE battle_id = ?"
    for battle in differing:
        for (text,) in arena.rows(texts, battle.battle_id):
            assert " ".join(str(text).split()) in " ".join(told.split())
    assert told.count("Crowd: ") == len(differing)
    assert told.count("Ada L.: ") == told.count("Ben M.: ") == len(differing)
    for comment in COMMENTS.values():
        assert comment in told
