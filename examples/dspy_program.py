"""A DSPy program tuned by surepath: the instruction and the model of each module are steps, its metrics are scores.

DSPy's own DummyLM answers in the place of a provider: no key, no network. A callback logs every trial to MLflow.
At the end the same number of program calls, spread evenly over all plans by `dspy.Evaluate`, shows what a script would
have found.

Run: python examples/dspy_program.py        (needs dspy, mlflow-skinny and alembic)
"""

import functools
import itertools
import random

import dspy
import mlflow
from dspy.utils import DummyLM

from surepath import MDP, Study

STEPS = {
    "classify instruction": ["Name the topic.", "Name the topic, refunds first.", "Quote, then name the topic."],
    "classify model": ["small", "medium", "large"],
    "reply instruction": ["Reply.", "Reply kindly and briefly.", "Reply with the rule that applies."],
    "reply model": ["small", "medium", "large"],
}
TOPICS = ["billing", "delivery", "refund", "account"]
TICKETS = {f"T-{i:03}": (f"ticket T-{i:03}, please help", TOPICS[i % 4], f"rule {i % 7}") for i in range(1, 501)}
SKILL = {"small": 0.45, "medium": 0.6, "large": 0.7, STEPS["classify instruction"][2]: 0.2}
SKILL |= {STEPS["reply instruction"][2]: 0.15, STEPS["reply instruction"][1]: -0.1}


@functools.cache
def language_model(instruction, model):
    """Pretend a model: for every ticket an answer, right as often as model and instruction make it."""
    draw, chance = random.Random(f"{instruction} {model}"), SKILL[model] + SKILL.get(instruction, 0.0)
    answers = {}
    for text, topic, rule in TICKETS.values():
        right = draw.random() < chance
        answers[text] = {"topic": topic if right else "other", "reply": f"By {rule}." if right else "Sorry!"}
    return DummyLM(answers)


class Support(dspy.Module):
    """Classify a ticket and reply to it, by the instructions and models of a plan."""

    def __init__(self, plan):
        super().__init__()
        self.classify = dspy.Predict(dspy.Signature("ticket -> topic", plan["classify instruction"]))
        self.reply = dspy.Predict(dspy.Signature("ticket, topic -> reply", plan["reply instruction"]))
        self.classify.set_lm(language_model(plan["classify instruction"], plan["classify model"]))
        self.reply.set_lm(language_model(plan["reply instruction"], plan["reply model"]))

    def forward(self, ticket):
        topic = self.classify(ticket=ticket).topic
        return dspy.Prediction(topic=topic, reply=self.reply(ticket=ticket, topic=topic).reply)


def metrics(case, answer):
    """Score both modules: is the topic right, and does the reply name the rule?"""
    _, topic, rule = TICKETS[case]
    return [float(answer.topic == topic), float(rule in answer.reply)]


def log(study, outcome):
    """Log a trial to MLflow; surepath calls this after each one."""
    scores = {"topic": outcome.rewards[1], "reply": outcome.rewards[3]}
    mlflow.log_metrics({**scores, "proven gap": min(study.certified_gap, 2.0)}, step=outcome.trial.number)


def evaluate(plan, cases):
    """Run a plan's program on cases with DSPy's own evaluation; return the mean sum of its metrics."""
    judge = dspy.Evaluate(
        devset=[dspy.Example(ticket=TICKETS[case][0], case=case).with_inputs("ticket") for case in cases],
        metric=lambda example, answer, trace=None: sum(metrics(example.case, answer)),
        num_threads=1,
    )
    return judge(Support(plan)).score / 100


def main():
    dspy.disable_logging()
    mlflow.set_tracking_uri("sqlite:///mlflow.db")
    # A topic's score depends on both choices about it; a reply's on its own two, as a wrong topic does not mislead it.
    depends = {"classify model": "classify instruction", "reply instruction": [], "reply model": "reply instruction"}
    scored = ["classify model", "reply model"]
    mdp = MDP.from_steps(STEPS, depends=depends, scores=scored, reward_range=(0, 1))
    study = Study.create(mdp, "memory", epsilon=0.4, delta=0.1, cases=list(TICKETS))

    def trial(plan, case):
        return metrics(case, Support(plan)(ticket=TICKETS[case][0]))

    with mlflow.start_run():
        study.optimize(trial, callbacks=[log])
        mlflow.log_params(study.best_plan)
    print(study.certificate())

    plans = [dict(zip(STEPS, options)) for options in itertools.product(*STEPS.values())]
    each = len(study) // len(plans)
    evenly = max(plans, key=lambda plan: evaluate(plan, random.sample(list(TICKETS), each)))
    best = max(evaluate(plan, TICKETS) for plan in plans)
    for name, plan in [("surepath", study.best_plan), (f"{each} calls of each of {len(plans)} programs", evenly)]:
        print(f"{name}: {best - evaluate(plan, TICKETS):.3f} short of the best on all tickets")


if __name__ == "__main__":
    main()
