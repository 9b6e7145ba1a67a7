"""Measures pg_claims beside what people would use instead, and says what it came to."""

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

import machine
import report
from measure import Time
from server import Postgres
from works import WORKS


@dataclass(frozen=True)
class Plan:
    """How much of it is done."""

    level: str
    rounds: int

    def clients(self, *full, quick=None):
        if self.level == "check":
            return (2,)
        return full if self.level == "full" or quick is None else quick

    def works(self, names):
        """The library takes minutes to build."""
        return [name for name in names if self.level == "full" or name != "library"]

    def time(self, load):
        """Many clients take longer to warm up, on as many cores as there are."""
        return Time(2, 0.8) if load.clients > 8 and self.level == "full" else Time(1, 0.3)

    def size(self, full, quick, check):
        return {"full": full, "quick": quick, "check": check}[self.level]


PLANS = {"full": Plan("full", 7), "quick": Plan("quick", 3), "check": Plan("check", 1)}


def main():
    options = arguments()
    plan = PLANS[options.plan]
    if options.rounds:
        plan = Plan(plan.level, options.rounds)
    unknown = set(options.work) - set(WORKS)
    if unknown:
        sys.exit(f"no such workload: {', '.join(sorted(unknown))}; there are {', '.join(WORKS)}")
    options.results.mkdir(parents=True, exist_ok=True)
    with Postgres(options.root, options.place) as server:
        for name in options.work or plan.works(WORKS):
            facts = {"machine": machine.facts(), "settings": server.settings(), "plan": plan.level, "rounds": plan.rounds}
            result = facts | WORKS[name](server, plan)
            report.save(result, options.results / f"{name}.json")
            report.show(result)
    print(f"\n{machine.sentence(result)}.")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", nargs="*", help="workloads; all of them without a name")
    parser.add_argument("--plan", choices=PLANS, default="full",
                        help="full: half an hour; quick: three minutes; check: only whether the bench still works")
    parser.add_argument("--rounds", type=int, help="how often each subject is measured")
    parser.add_argument("--root", type=Path, required=True, help="the installation that is measured: target/pg/<major>/root")
    parser.add_argument("--place", type=Path, required=True, help="a folder for the server's data, made anew")
    parser.add_argument("--results", type=Path, required=True, help="where the results go")
    return parser.parse_args()


if __name__ == "__main__":
    main()
