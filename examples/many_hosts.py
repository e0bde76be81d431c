"""Many hosts on one study: run this same program on every host, with the address of one PostgreSQL database.

Each process loads the study and runs trials until the answer is proven. There is no server but the database, and no
process that must stay alive: kill any of them at any moment, start others later. The trials of a killed one are
assigned again when their leases end.

Run: python examples/many_hosts.py postgresql://user:password@host/database [--workers 4]
     (needs the extra postgres; without an address a SQLite file serves many processes on one machine)
"""

import argparse
import multiprocessing
import os
import random
import socket
import time

from surepath import MDP, Study

STEPS = {"chunk": ["256", "512", "1024"], "retriever": ["bm25", "dense"], "model": ["small", "large"]}
QUALITY = {"256": 0.5, "512": 0.7, "1024": 0.6, "bm25": 0.5, "dense": 0.7, "small": 0.4, "large": 0.7}


def trial(plan):
    """Run your trial here; this one draws random scores."""
    time.sleep(0.01)
    return {step: QUALITY[option] + random.gauss(0, 0.1) for step, option in plan.items()}


def work(storage, number):
    """Work on the study until its answer is proven, by this process or by any other."""
    random.seed(f"{socket.gethostname()} {os.getpid()}")  # else processes that start alike draw the same noise
    study = Study.load(storage, "pipeline")
    study.optimize(trial)  # n_jobs=8 runs eight at a time, in threads
    print(f"worker {number} has ended", flush=True)


def main():
    parser = argparse.ArgumentParser(description="Work on a study together with other hosts.")
    parser.add_argument("storage", nargs="?", default="sqlite:///many_hosts.db")
    parser.add_argument("--workers", type=int, default=4, help="processes on this host")
    wanted = parser.parse_args()

    mdp = MDP.from_steps(STEPS, sigma=0.1)
    # Whoever comes first creates the study; exist_ok lets all others join it.
    study = Study.create(mdp, wanted.storage, "pipeline", epsilon=0.2, delta=0.05, lease="1min", exist_ok=True)

    start = multiprocessing.get_context("spawn").Process
    workers = [start(target=work, args=(wanted.storage, number)) for number in range(wanted.workers)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print(study.best_plan)
    print(f"proven within {study.certified_gap:.3f} of the best (95 % sure)")


if __name__ == "__main__":
    main()
