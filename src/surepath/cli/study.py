"""Commands on a whole study: create, list, show, run, status, tighten, certificate, export, ..., verify, serve."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from math import isfinite
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote as url_quote

import typer

from surepath._text import many, point_hint, shown
from surepath.cli.main import (
    MOST_WORKERS,
    AsJson,
    allow_seconds,
    answer,
    app,
    call_before_kill,
    colour,
    fitted,
    print_json,
    refuse_existing,
    say,
    set_interrupt_text,
)
from surepath.cli.problem import Delta, Dependence, Epsilon, Sigma, learner_settings, open_noisy, open_problem

if TYPE_CHECKING:
    from surepath.study.runner import Runner
    from surepath.study.study import Study
    from surepath.study.trial import TrialRow

study = typer.Typer(
    help="Studies: run real trials, keep every result, prove the best plan.",
    no_args_is_help=True,
    epilog="Where: --storage, else SUREPATH_STORAGE, else sqlite:///study.db. Which: --name, unless there is only one.",
)
app.add_typer(study, name="study")

DEFAULT_STORAGE = "sqlite:///study.db"

Storage = Annotated[
    str, typer.Option(envvar="SUREPATH_STORAGE", help="sqlite:///FILE, a file name, or postgresql://HOST/DB.")
]
Name = Annotated[str | None, typer.Option(help="The study; may be left out where the storage has one.")]
Number = Annotated[int, typer.Argument(min=1, help="The number of the trial.")]
Numbers = Annotated[list[int], typer.Argument(min=1, help="The numbers of the trials.")]
Force = Annotated[bool, typer.Option("--force", help="Replace a file that is there.")]

# Scores may be negative: "-0.5" is not an option.
TAKES_SCORES = {"ignore_unknown_options": True}


def load(storage: str, name: str | None) -> Study:
    """Open a study; everything heavy is imported here."""
    from surepath.study.creation import only_name
    from surepath.study.storage import open_storage
    from surepath.study.study import Study

    place = open_storage(storage)
    return Study.load(place, only_name(place, "name the study with --name") if name is None else name)


def again(found: Study, storage: str) -> str:
    """Write the options by which another command reaches the same study: what its defaults do not say."""
    place = "..." if "@" in storage else quote(storage)  # a password is not repeated
    where = "" if storage == (os.environ.get("SUREPATH_STORAGE") or DEFAULT_STORAGE) else f" --storage {place}"
    which = f" --name {quote(found.name)}" if len(found.storage.names()) > 1 else ""
    return shown(where + which)


def trial_row(found: Study, number: int) -> TrialRow:
    """Read one trial."""
    from surepath.study.trial import assigned

    found.sync()
    return found._read(lambda log: assigned(log, number))


def pairs(words: Sequence[str], what: str) -> dict[str, str]:
    """Read words such as model=large, or one JSON object, as a mapping."""
    if len(words) == 1 and words[0].lstrip().startswith("{"):
        return {str(key): value for key, value in _json(words[0], what).items()}
    found: dict[str, str] = {}
    example = "SCORE, such as model=0.7" if what == "a score" else "OPTION, such as model=large"
    for word in words:
        step, sign, value = word.partition("=")
        if not sign:
            raise typer.BadParameter(f"{what} is written STEP={example}; {shown(word)!r} has no '='")
        if step in found:
            more = "; give one option of a step, in further calls the others" if what == "an option" else ""
            raise typer.BadParameter(f"the step {shown(step)!r} is named twice{more}")
        found[step] = value
    return found


def scores(words: Sequence[str]) -> Any:
    """Read scores: numbers in the order of the steps, STEP=SCORE words, or one JSON array or object."""
    if len(words) == 1 and words[0].lstrip()[:1] in ("{", "["):
        return _json(words[0], "scores")
    if any("=" in word for word in words):
        return {step: _number(value) for step, value in pairs(words, "a score").items()}
    return [_number(word) for word in words]


def shown_plan(plan: Any) -> str:
    """Write a plan on one line of a terminal: model=large, prompt=long."""
    from surepath.model.paths import plan_in_words

    return shown(plan_in_words(plan))


def moment(seconds: float) -> str:
    """Write a time, given in seconds since 1970, as people do."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def note(text: str) -> None:
    """Print a note beside the answer, on standard error."""
    typer.secho(fitted(text, sys.stderr), fg=colour("yellow"), err=True)


def _number(word: str) -> float:
    try:
        return float(word)
    except ValueError:
        raise typer.BadParameter(f"a score is a number, not {shown(word)!r}{point_hint(word)}") from None


def _json(text: str, what: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise typer.BadParameter(f"{what}: {shown(text)!r} is not JSON: {error}") from None


@study.command("create")
def create(
    problem: Annotated[str, typer.Argument(help="A problem file (.json, .csv) or the id of an instance.")],
    storage: Storage = DEFAULT_STORAGE,
    name: Annotated[str | None, typer.Option(help="Unique in its storage; by default the problem's name.")] = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    sigma: Sigma = None,
    setting: Annotated[list[str] | None, typer.Option("--set", help="Of the learner: total_sigma=2.2.")] = None,
    lease: Annotated[str, typer.Option(help="When an unreported trial is assigned again: 10min, 7d.")] = "10min",
    on_failure: Annotated[
        str, typer.Option(help="leave-out: a failed trial is no evidence; worst: the failed step has its worst score.")
    ] = "leave-out",
    cases: Annotated[str | None, typer.Option(help="How many cases there are, or a CSV file of them.")] = None,
    cases_per_trial: Annotated[int, typer.Option(min=1, help="Cases of a trial; its score is their mean.")] = 1,
    dependence: Dependence = None,
    missing: Annotated[
        str | None, typer.Option(help="Early ends are related to scores (default), or unrelated.")
    ] = None,
    baseline: Annotated[
        bool, typer.Option("--baseline", help="Every trial is told with a baseline, which its scores count less.")
    ] = False,
    exist_ok: Annotated[bool, typer.Option("--exist-ok", help="Accept a study of this name that is the same.")] = False,
    as_json: AsJson = False,
) -> None:
    """Create a study; problem, noise, epsilon, delta and learner are frozen from here on."""
    from surepath.study.creation import PRICE
    from surepath.study.study import Study

    if any(pair.partition("=")[0] in ("name", "learner") for pair in setting or []):
        raise typer.BadParameter("a study runs Challenger; the other learners are for surepath simulate")
    spec: dict[str, Any] = learner_settings(setting or [])
    if sigma is not None and "sigma" in spec:
        raise typer.BadParameter("--sigma declares the noise, --set sigma=unknown says that it is learned: give one")
    made = Study.create(
        open_problem(problem) if "sigma" in spec else open_noisy(problem, sigma),
        storage=storage,
        name=name,
        learner=spec,
        epsilon=epsilon,
        delta=delta,
        sigma=sigma,
        lease=lease,
        on_failure=on_failure,
        cases=int(cases) if cases is not None and cases.isdecimal() else cases,
        cases_per_trial=cases_per_trial,
        dependence=dependence,
        missing=missing,
        baseline=baseline,
        exist_ok=exist_ok,
    )
    facts = {"name": made.name, "storage": made.storage.shown, "epsilon": made.epsilon, "delta": made.delta}
    facts["dependence"] = json.loads(made.record.settings).get("dependence")
    options = again(made, storage)
    answer(
        as_json,
        {**facts, "problem_hash": made.record.problem_hash},
        f"created {shown(made.name)} in {shown(facts['storage'])}: {many(made.mdp.horizon, 'step')}, "
        f"{many(made.mdp.n_arcs, 'option')}; the answer may be {made.epsilon:g} from the best, "
        f"wrong with probability {made.delta:g} at most\n"
        f"{PRICE + chr(10) if facts['dependence'] == 'any' and made.mdp.horizon > 1 else ''}"
        f"run trials with surepath study run{options} --command ..., "
        f"or take them one by one with surepath study ask{options}",
    )


@study.command("list")
def list_studies(storage: Storage = DEFAULT_STORAGE, as_json: AsJson = False) -> None:
    """List the studies of a storage."""
    from surepath.study.storage import open_storage

    place = open_storage(storage)
    found: list[dict[str, Any]] = []
    for name in place.names():
        record = place.load(name)
        with place.reading(name) as log:
            found.append({"name": name, "trials": log.last_number, "created": record.created})
    lines = [f"{shown(one['name'])}: {many(one['trials'], 'trial')}, created {moment(one['created'])}" for one in found]
    answer(as_json, {"studies": found}, "\n".join(lines) or "no studies here; surepath study create makes one")


TIME_KEYS = ("created", "asked", "told", "lease_until")


@study.command("show")
def show(
    number: Annotated[int | None, typer.Argument(min=1, help="Show this trial instead.")] = None,
    storage: Storage = DEFAULT_STORAGE,
    name: Name = None,
    as_json: AsJson = False,
) -> None:
    """Show what is frozen in a study (problem, noise, settings, options), or one trial."""
    found = load(storage, name)
    facts = _frozen(found) if number is None else _trial_facts(found, number)
    said = {key: value for key, value in facts.items() if value not in (None, "", (), {})}
    answer(as_json, facts, "\n".join(f"{key.replace('_', ' ')}:{_in_words(key, said[key])}" for key in said))


def _frozen(found: Study) -> dict[str, Any]:
    mdp, record = found.mdp, found.record
    steps: dict[str, list[str]] = {}
    for stage, step in enumerate(mdp.step_labels or range(mdp.horizon)):
        arcs = range(int(mdp.stage_arc[stage]), int(mdp.stage_arc[stage + 1]))
        steps[str(step)] = list(dict.fromkeys(mdp.action_label(arc) for arc in arcs[:1000]))
    facts = {"name": found.name, "created": record.created, "version": record.version, "direction": mdp.direction}
    own = {"options": json.loads(record.options), "settings": json.loads(record.settings)}
    return {**facts, "steps": steps, **own, "problem_hash": record.problem_hash}


def _trial_facts(found: Study, number: int) -> dict[str, Any]:
    row, mdp = trial_row(found, number), found.mdp
    names = mdp.step_labels or range(mdp.horizon)
    scores = {str(names[at]): row.rewards[at] for at in mdp.score_stages if at < len(row.rewards)}
    facts = {"number": number, "state": row.state, "plan": mdp.plan(row.path), "scores": scores}
    facts |= {name: getattr(row, name) for name in ("cases", "cost", "tries", "source", "of", "worker", "asked")}
    return {**facts, "lease_until": row.lease if row.state == "running" else None, "told": row.told, "note": row.note}


def _in_words(key: str, value: Any) -> str:
    """Write a fact: on this line, or its parts on lines below."""
    if key in TIME_KEYS:
        return f" {moment(value)}"
    if key == "steps":
        return "".join(f"\n  {shown(step)}: {', '.join(map(shown, options))}" for step, options in value.items())
    if key in ("options", "settings"):
        return "".join(f"\n  {name}: {_setting_in_words(one)}" for name, one in value.items() if one is not None)
    if isinstance(value, dict):
        return f" {shown_plan(value)}"
    return f" {', '.join(map(shown, value)) if isinstance(value, tuple) else shown(value)}"


def _setting_in_words(value: Any) -> str:
    """Write a setting on one line; what has many parts is left to --json."""
    parts = list(map(str, value)) if isinstance(value, (dict, list)) else [value]
    return shown(parts[0]) if len(set(parts)) == 1 else f"{len(parts):,} entries (--json lists them)"


@study.command("run")
def run(
    command: Annotated[
        str,
        typer.Option(
            help="Run for every trial, without a shell; {STEP} is the option of that step, {trial}, {case} its own."
        ),
    ],
    workers: Annotated[int, typer.Option(min=1, max=MOST_WORKERS, help="Trials at the same time.")] = 1,
    trials: Annotated[int | None, typer.Option(min=1, help="Run at most so many trials.")] = None,
    timeout: Annotated[str | None, typer.Option(help="Begin no trial after this time: 30min, 8h.")] = None,
    budget: Annotated[float | None, typer.Option(help="What the study may spend in all; then no trial begins.")] = None,
    retry: Annotated[int, typer.Option(min=0, help="How often a trial begins anew after codes of --retry-on.")] = 0,
    retry_on: Annotated[
        list[int] | None, typer.Option(min=1, max=255, help="Exit code that says nothing about the plan: 75 for busy.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress line.")] = False,
    storage: Storage = DEFAULT_STORAGE,
    name: Name = None,
    as_json: AsJson = False,
) -> None:
    """Run a command for one trial after another until the best plan is proven or the budget is spent.

    The command prints a score for each step, as numbers or as one line of JSON; a non-zero exit is a failed trial.
    One that ends with exit code 0 and prints anything else ends the run.
    """
    from surepath.study.fold import checked_budget
    from surepath.study.runner import Command, Runner

    found = load(storage, name)
    performer = Command(found.mdp, command, found.name, bool(found.options.cases), retry, retry_on or ())
    progress = False if quiet or as_json else None
    runner = Runner(
        found,
        performer,
        n_trials=trials,
        timeout=timeout,
        progress=progress,
        abandon=performer.end,
        budget=checked_budget(budget),
        say=note,
    )
    set_interrupt_text("interrupted; running trials were cancelled, all that was reported is kept")
    allow_seconds(15.0)
    call_before_kill(performer.kill)
    signal.signal(signal.SIGTERM, signal.getsignal(signal.SIGINT))  # how a scheduler ends what it runs
    try:
        runner.run(workers)
    finally:
        performer.kill()  # nothing is left of them, unless a second Ctrl-C cut the first one short
    _print_run(found, runner, as_json)


def _print_run(found: Study, runner: Runner, as_json: bool) -> None:
    from surepath.study.status import status_in_words

    now = found.status()
    forecast = None if now.done else found.forecast()
    if as_json:
        own = {"recorded": runner.recorded, "failed": runner.failed, "last_failure": runner.last_failure or None}
        own |= {"budget_spent": bool(runner.out_of_budget)}
        print_json({**now.as_dict(), **own, "forecast": None if forecast is None else forecast.to_dict()})
        return
    if runner.out_of_budget:
        note(runner.out_of_budget)
    lost = f", {runner.failed:,} failed: {shown(runner.last_failure)}" if runner.failed else ""
    already = ", as the study was done already" if now.done and not runner.recorded else ""
    say(f"{many(runner.recorded, 'trial')} run now{already}{lost}\n{status_in_words(now)}")
    if forecast is not None:
        say(f"forecast: {forecast}")


@study.command("reference")
def reference(
    plan: Annotated[list[str], typer.Argument(help="Today's plan: STEP=OPTION for every step, or one JSON object.")],
    command: Annotated[str, typer.Option(help="Run for every case, as in surepath study run; {case} is the case.")],
    workers: Annotated[int, typer.Option(min=1, max=MOST_WORKERS, help="Cases at the same time.")] = 1,
    storage: Storage = DEFAULT_STORAGE,
    name: Name = None,
    as_json: AsJson = False,
) -> None:
    """Play today's plan on every case before the first trial, to take what is hard about a case off its scores."""
    from surepath.study.runner import Command, play_cases

    found = load(storage, name)
    path = found.mdp.path(pairs(plan, "a plan"))
    found.reference(path, play_cases(found, path, Command(found.mdp, command, found.name, True), workers))
    played, cases = found.mdp.plan(path), len(found._cases.names)
    answer(as_json, {"plan": played, "cases": cases}, f"played {shown_plan(played)} on {many(cases, 'case')}")


@study.command("status")
def status(
    forecast: Annotated[bool, typer.Option("--forecast", help="Also guess what further trials would bring.")] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Also say which plans may still be better.")] = False,
    storage: Storage = DEFAULT_STORAGE,
    name: Name = None,
    as_json: AsJson = False,
) -> None:
    """Show the status of a study: trials, the best plan so far, what is proven, who works on it."""
    found = load(storage, name)
    now = found.status()
    facts, lines = now.as_dict(), [str(now)]
    if explain:
        facts["explanation"] = found.explain()
        lines.append(facts["explanation"])
    if forecast:
        guess = found.forecast()
        facts["forecast"] = guess.to_dict()
        lines.append(f"forecast: {guess}")
    answer(as_json, facts, "\n".join(lines))


@study.command("tighten")
def tighten(
    epsilon: Annotated[float, typer.Argument(help="The new, smaller epsilon.")],
    storage: Storage = DEFAULT_STORAGE,
    name: Name = None,
    as_json: AsJson = False,
) -> None:
    """Continue with a smaller epsilon, all data kept."""
    from surepath.study.status import gap_in_words

    found = load(storage, name)
    found.tighten(epsilon)
    facts = {"epsilon": found.epsilon, "certified_gap": found.certified_gap, "done": found.done}
    proven = found.done and isfinite(found.certified_gap)
    state = "proven already" if proven else gap_in_words(found.certified_gap, found.epsilon)
    answer(as_json, facts, f"epsilon is {found.epsilon:g} now; {state}")


@study.command("certificate")
def certificate(
    out: Annotated[Path, typer.Option("--out", help="The file to write.")] = Path("certificate.json"),
    force: Force = False,
    storage: Storage = DEFAULT_STORAGE,
    name: Name = None,
    as_json: AsJson = False,
) -> None:
    """Write what is proven so far as a file that surepath verify checks."""
    if out.suffix.lower() in (".html", ".pdf"):
        raise typer.BadParameter(
            f"a certificate is a .json file; surepath study report --out {shown(quote(str(out)))} writes a page to read"
        )
    refuse_existing(out, force)
    made = load(storage, name).certificate()
    made.save(out)
    facts = {"written": str(out), "certified_gap": made.certified_gap, "statement": made["statement"]}
    answer(as_json, facts, f"wrote {shown(out)}: {made}\ncheck it with surepath verify {shown(quote(str(out)))}")


@study.command("report")
def report(
    out: Annotated[Path, typer.Option("--out", help="The file: .html, or .pdf where a browser is installed.")] = Path(
        "report.html"
    ),
    force: Force = False,
    storage: Storage = DEFAULT_STORAGE,
    name: Name = None,
    as_json: AsJson = False,
) -> None:
    """Write a page to hand on: what is proven, the plan, pictures, what was assumed and checked, spending."""
    from surepath.plots.studies import write_report

    refuse_existing(out, force)
    write_report(load(storage, name), out)
    answer(as_json, {"written": str(out)}, f"wrote {shown(out)}")


@study.command("export")
def export(
    path: Annotated[Path, typer.Argument(help=".jsonl: all of it, for study restore; .csv: a table of the trials.")],
    force: Force = False,
    storage: Storage = DEFAULT_STORAGE,
    name: Name = None,
    as_json: AsJson = False,
) -> None:
    """Write the whole log to a file."""
    refuse_existing(path, force)
    trials = load(storage, name).export(path)
    answer(as_json, {"written": str(path), "trials": trials}, f"wrote {shown(path)}: {many(trials, 'trial')}")


@study.command("restore")
def restore(
    path: Annotated[Path, typer.Argument(help="A .jsonl file from study export.")],
    storage: Storage = DEFAULT_STORAGE,
    name: Annotated[str | None, typer.Option(help="A new name; by default its own.")] = None,
    as_json: AsJson = False,
) -> None:
    """Make the study of an exported log in a storage: the same trials, the same state."""
    from surepath.study.study import Study

    made = Study.from_export(path, storage, name)
    facts = {"name": made.name, "trials": len(made), "digest": made.digest}
    answer(as_json, facts, f"restored {shown(made.name)}: {many(len(made), 'trial')}")


@study.command("copy")
def copy(
    new: Annotated[str, typer.Argument(help="The name of the copy.")],
    dependence: Annotated[str | None, typer.Option(help="any: scores of one trial may depend on each other.")] = None,
    storage: Storage = DEFAULT_STORAGE,
    name: Name = None,
    as_json: AsJson = False,
) -> None:
    """Make another study of the same log; with --dependence any, one whose proof needs no independent scores."""
    from surepath.study.status import gap_in_words

    made = load(storage, name).copy(new, dependence=dependence)
    kept = json.loads(made.record.settings).get("dependence")
    said = f"copied {many(len(made), 'trial')} to {shown(made.name)}"
    facts = {"name": made.name, "trials": len(made), "dependence": kept}
    answer(as_json, facts, f"{said}\n{gap_in_words(made.certified_gap, made.epsilon)}")


@study.command("delete")
def delete(
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    storage: Storage = DEFAULT_STORAGE,
    name: Name = None,
    as_json: AsJson = False,
) -> None:
    """Remove a study and its log for good, after asking; study export keeps the log in a file."""
    found = load(storage, name)
    trials = len(found)
    if not yes:
        asked = f"Its log is lost (surepath study export keeps it). Delete {shown(found.name)} with "
        asked = fitted(f"{asked}{many(trials, 'trial')}? [y/N]", sys.stderr)
        typer.echo(f"{asked} ", nl=False, err=True)
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            note("nothing was deleted")
            raise typer.Exit(1)
    found.storage.delete(found.name)
    answer(as_json, {"deleted": found.name, "trials": trials}, f"deleted {shown(found.name)}")


@app.command()
def verify(
    certificate: Annotated[Path, typer.Argument(help="A certificate, as `surepath study certificate` writes it.")],
    storage: Annotated[str | None, typer.Option(help="Compare with the study's log in this storage.")] = None,
    name: Annotated[str | None, typer.Option(help="The study's name there; by default the certificate's.")] = None,
    log: Annotated[Path | None, typer.Option(help="An exported log (.jsonl) in place of the storage.")] = None,
    as_json: AsJson = False,
) -> None:
    """Check a certificate: compute its bound again, and its sums from the log. Exit code 0 for yes, else 1."""
    from surepath.verify.file import read
    from surepath.verify.verify import verify as check_alone

    if storage is not None and log is not None:
        raise typer.BadParameter("give --storage or --log, not both")
    if name is not None and storage is None:
        raise typer.BadParameter("--name needs --storage")
    if storage is None and log is None:
        verdict = check_alone(certificate)
    else:
        from surepath.study.certificate import verify as check

        verdict = check(certificate, storage, name, log)
    if as_json:
        print_json({"certificate": str(certificate), **verdict.to_dict()})
    else:
        doubt = shown(verdict.differences[0]) if verdict.answer == "in doubt" else ""
        said = {"yes": "the certificate holds", "no": "the certificate does not hold"}
        if verdict.answer == "no" and (storage or log) and check_alone(certificate).answer != "no":
            said["no"] = "the certificate is not about this log, though its own arithmetic holds"
        say(f"{verdict.answer}: {said.get(verdict.answer, f'the arithmetic holds, but {doubt}')}")
        if verdict.holds or verdict.answer == "in doubt":
            content = read(certificate)
            for line in (content["statement"], *(f"assuming: {line}" for line in content["assumptions"])):
                say(shown(line))
            for advice in dict.fromkeys(found["advice"] for found in content["warnings"]):
                say(f"what to do: {shown(advice)}")
        for line in (*(verdict.differences[1:] if doubt else verdict.differences), *verdict.notes):
            say(f"- {shown(line)}")
    if not verdict.holds:
        raise typer.Exit(1)


@app.command()
def serve(
    storage: Annotated[
        str,
        typer.Argument(
            envvar="SUREPATH_STORAGE", help='The studies: "sqlite:///study.db", a file, or "postgresql://...".'
        ),
    ],
    host: Annotated[str, typer.Option(help="The address to serve on; one that others can reach needs a token.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes a free one.")] = 8700,
    read_token: Annotated[
        str | None, typer.Option(envvar="SUREPATH_READ_TOKEN", help="Lets people read; random by default.")
    ] = None,
    write_token: Annotated[
        str | None,
        typer.Option(envvar="SUREPATH_WRITE_TOKEN", help="Lets people read, ask and tell; random by default."),
    ] = None,
    tokens: Annotated[
        str | None,
        typer.Option(envvar="SUREPATH_TOKENS", help="A file of named tokens, read again on SIGHUP.", metavar="FILE"),
    ] = None,
    root_path: Annotated[str, typer.Option(help="The path under which a proxy serves this: /surepath.")] = "",
    proxy: Annotated[str | None, typer.Option(help="Address of a proxy whose X-Forwarded headers count.")] = None,
    processes: Annotated[int, typer.Option(min=1, max=64, help="How many processes serve.")] = 1,
    log_level: Annotated[str, typer.Option(help="debug, info (every request), warning or error.")] = "warning",
    as_json: AsJson = False,
) -> None:
    """Show the studies of a storage on a live page, and let workers ask and tell over HTTP."""
    from surepath._optional import need

    for module in ("fastapi", "uvicorn", "prometheus_client"):
        need(module, "web")
    from surepath.web.routes import Access
    from surepath.web.server import serve as run

    def started(address: str, access: Access, _: Any) -> None:
        if as_json:
            found = {"read_token": access.read_token, "write_token": access.write_token} if access.generated else {}
            print_json({"address": address, **found})
        else:
            say("\n".join(page_links(address, access)))

    options: dict[str, Any] = {"tokens": tokens, "root_path": root_path, "proxy": proxy, "processes": processes}
    run(storage, host, port, read_token, write_token, started, **options, log_level=log_level)


def page_links(address: str, access: Any, rest: str = "") -> list[str]:
    """Return the address of the page; a link carries its token after #, which no browser sends and no server logs.

    Tokens that were given, by an option or the environment, are not printed: what is printed ends up in logs.
    """
    text = []
    for what, kind, token in (
        ("to read, ask and tell:", "write", access.write_token),
        ("to read only:", "read", access.read_token),
    ):
        if token is not None:
            link = f"#token={url_quote(token, safe='')}{rest}" if access.generated else f"  with the {kind} token given"
            text.append(f"{what:24}{address}{link}")
    if access.file is not None:
        text.append(f"{address}  with the tokens of {access.file}")
    return [*text, "Ctrl-C ends it; nothing is lost"]
