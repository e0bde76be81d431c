"""An LLM workflow: which retriever, prompt and model, with every step scored by a judge. A skeleton to copy.

All model calls go through one function, `call_model`. The one here is a fake that needs no key and no network; put your
provider's client in its place and nothing else has to change. Every trial is kept in workflow.db: after a crash, or on
another day, run the program again and it goes on.

Run: python examples/llm_workflow.py [--trials 200]
"""

import argparse
import random

from surepath import MDP, Study

QUESTIONS = ["How do I reset my password?", "Why was I charged twice?", "Can I export my data?"]
DOCUMENTS = ["Passwords are reset under Settings.", "Double charges are refunded.", "Exports are under Account."]
STEPS = {
    "retrieve": ["keyword", "embedding"],
    "draft": ["small/plain", "small/examples", "large/plain", "large/examples"],
    "review": ["none", "self-critique", "second model"],
}


def call_model(model, prompt):
    """Call a model; the only place that does. This fake answers with a number, and fails now and then."""
    if random.random() < 0.01:
        raise TimeoutError("the model did not answer")
    skill = {"small": 0.55, "large": 0.7}[model]
    skill += 0.1 * ("Examples:" in prompt) + 0.03 * prompt.count("Fact:") + 0.08 * ("Improve:" in prompt)
    return f"answer of quality {min(max(random.gauss(skill, 0.12), 0), 1):.3f}"


def judge(answer):
    """Score an answer between 0 and 1; real ones ask a model with a rubric, or compare with a known answer."""
    return float(answer.rpartition(" ")[2])


def retrieve(plan, question):
    """Find documents; keyword search misses more of them."""
    return [text for text in DOCUMENTS if random.random() < {"keyword": 0.6, "embedding": 0.8}[plan["retrieve"]]]


def draft(plan, question):
    """Write a first answer."""
    model, _, style = plan["draft"].partition("/")
    facts = "".join(f" Fact: {text}" for text in retrieve(plan, question))
    return call_model(model, question + facts + (" Examples: ..." if style == "examples" else ""))


def review(plan, question):
    """Write a first answer and improve it, by the same model or by the large one."""
    answer = draft(plan, question)
    if plan["review"] == "none":
        return answer
    model = "large" if plan["review"] == "second model" else plan["draft"].partition("/")[0]
    return call_model(model, f"{question} Improve: {answer}")


def trial(plan):
    """Score every step of a plan, each as soon as it is known, so that a failure is placed at its step.

    Each step is judged on a question of its own. On one question for all, a hard one would push all scores of the trial
    down together, and the proof asks for scores that share nothing but the plan.
    """
    yield len(retrieve(plan, random.choice(QUESTIONS))) / len(DOCUMENTS)
    yield judge(draft(plan, random.choice(QUESTIONS)))
    yield judge(review(plan, random.choice(QUESTIONS)))


def main():
    parser = argparse.ArgumentParser(description="Find the best workflow.")
    parser.add_argument("--trials", type=int, default=None, help="stop after this many, proven or not")
    wanted = parser.parse_args()

    # The draft's score depends on the retriever; the review's on both choices before it.
    depends = {"draft": "retrieve", "review": ["retrieve", "draft"]}
    mdp = MDP.from_steps(STEPS, depends=depends, reward_range=(0, 1))
    # A call that fails is part of the workflow's quality: the step that failed counts as 0.
    settings = {"epsilon": 0.3, "delta": 0.05, "on_failure": "worst", "exist_ok": True}
    study = Study.create(mdp, storage="workflow.db", name="workflow", **settings)
    study.optimize(trial, n_jobs=4, n_trials=wanted.trials)

    print(study.best_plan)
    print(f"within {study.certified_gap:.2f} of the best workflow (95 % sure), after {study.status().settled} trials")
    if not study.done:
        print(study.forecast())


if __name__ == "__main__":
    main()
