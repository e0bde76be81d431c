"""An LLM workflow on 500 tickets: which retriever, prompt and model, scored step by step, within a budget in dollars.

All model calls go through one function, `call_model`. The one here is a fake that needs no key and no network: it takes
its time, is busy now and then, and costs something. Put your provider's async client in its place and nothing else has
to change. Every trial is kept in workflow.db: after a crash, or on another day, run the program again and it goes on.

Run: python examples/llm_workflow.py [--budget 10]
"""

import argparse
import asyncio
import random

from surepath import MDP, Study
from surepath.plots import write_report
from surepath.study import Cost

STEPS = {
    "retrieve": ["keyword", "embedding"],
    "draft": ["small/plain", "small/examples", "large/plain", "large/examples"],
    "review": ["none", "self-critique", "second model"],
}
TICKETS = [f"T-{number:03}" for number in range(1, 501)]
PRICE = {"small": 0.002, "large": 0.01}  # dollars a call


class RateLimitError(Exception):
    """The provider is busy: it says nothing about the plan, so the trial may be begun anew."""


def difficulty(ticket):
    """Return how much harder than usual a ticket is; hard ones pull all scores of a trial down together."""
    return random.Random(ticket).gauss(0, 0.08)


async def call_model(model, ticket, skill):
    """Call a model; the only place that does. This fake answers with the quality of what it would have said."""
    await asyncio.sleep(random.uniform(0, 0.002))
    if random.random() < 0.02:
        raise RateLimitError("429: slow down")
    quality = skill + {"small": 0.0, "large": 0.15}[model] - difficulty(ticket) + random.gauss(0, 0.06)
    return min(max(quality, 0), 1), Cost(PRICE[model])


async def trial(plan, ticket):
    """Play a plan on a ticket and yield the score of each step as soon as it is known, and what each call cost.

    The ticket is drawn by the study, for every trial anew and without a look at the plan: that is what the proof needs.
    """
    found = {"keyword": 0.6, "embedding": 0.7}[plan["retrieve"]] - difficulty(ticket) + random.gauss(0, 0.06)
    yield min(max(found, 0), 1)
    model, _, style = plan["draft"].partition("/")
    drafted, cost = await call_model(model, ticket, 0.45 + 0.1 * (style == "examples") + 0.1 * (found - 0.6))
    yield cost
    yield drafted
    if plan["review"] == "none":
        yield drafted
        return
    reviewer = "large" if plan["review"] == "second model" else model
    reviewed, cost = await call_model(reviewer, ticket, drafted + difficulty(ticket) - 0.05)
    yield cost
    yield reviewed


def main():
    parser = argparse.ArgumentParser(description="Find the best workflow.")
    parser.add_argument("--budget", type=float, default=20.0, help="dollars to spend in all")
    wanted = parser.parse_args()

    # The draft's score depends on the retriever; the review's on both choices before it.
    mdp = MDP.from_steps(STEPS, depends={"draft": "retrieve", "review": ["retrieve", "draft"]}, reward_range=(0, 1))
    settings = {"epsilon": 0.3, "delta": 0.05, "exist_ok": True}
    study = Study.create(mdp, storage="workflow.db", name="workflow", cases=TICKETS, **settings)
    study.optimize(trial, n_jobs=8, retry=5, retry_on=RateLimitError, backoff=0.01, budget=wanted.budget)

    print(study.best_plan)
    print(f"within {study.certified_gap:.2f} of the best workflow (95 % sure), after {study.status().settled} trials")
    print(f"spent {study.spent:.2f} dollars; hardest tickets: {', '.join(one.case for one in study.cases[:3])}")
    if not study.done:
        print(study.forecast())
    write_report(study, "report.html")


if __name__ == "__main__":
    main()
