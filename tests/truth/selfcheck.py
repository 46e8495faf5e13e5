#!/usr/bin/env python3
"""That the instrument can fail: made-up reports of which each outcome is known, and lists that are out of date."""
import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import audit  # noqa: E402
import concerns  # noqa: E402
import curves  # noqa: E402
import faults  # noqa: E402
import logs  # noqa: E402
import table  # noqa: E402

CURVE = "training.flow.loss-curve"
STATE = "training.flow.state"


def finding(kind, severity="error"):
    return {"severity": severity, "kind": kind, "subject": "run", "message": {"en": kind}, "waived": None}


def report(**verdicts):
    """curve=("fail", "nan_loss"): the verdict of the check and the kinds of its errors."""
    made = []
    for name, (verdict, *kinds) in verdicts.items():
        lacks = [{"what": {"en": "the log"}}] if verdict == "not_performed" else []
        made.append(
            {
                "id": {"curve": CURVE, "state": STATE}[name],
                "verdict": verdict,
                "missing": lacks,
                "findings": [finding(kind) for kind in kinds],
            }
        )
    return {"items": [{"checks": made}]}


class Judging(unittest.TestCase):
    def outcome(self, judge, *reports):
        return judge(list(reports))[0]

    def test_a_fault_that_passes_is_a_wrong_pass(self):
        judge = audit.judge_fault((CURVE,), ("nan_loss",))
        self.assertEqual(self.outcome(judge, report(curve=("pass",), state=("pass",))), audit.WRONG_PASS)

    def test_a_fault_told_as_something_else_lacks_its_cause(self):
        judge = audit.judge_fault((CURVE,), ("nan_loss",))
        self.assertEqual(self.outcome(judge, report(curve=("fail", "loss_differs"))), audit.CAUSE_MISSING)

    def test_an_error_elsewhere_does_not_excuse_a_pass(self):
        judge = audit.judge_fault((CURVE,), ("nan_loss",))
        self.assertEqual(self.outcome(judge, report(curve=("pass",), state=("fail", "nan_loss"))), audit.WRONG_PASS)

    def test_a_warning_is_no_error(self):
        weak = report(curve=("pass",))
        weak["items"][0]["checks"][0]["findings"].append(finding("nan_loss", "warning"))
        self.assertEqual(self.outcome(audit.judge_fault((CURVE,), ("nan_loss",)), weak), audit.WRONG_PASS)

    def test_a_fault_found_is_right(self):
        judge = audit.judge_fault((CURVE, STATE), ("nan_loss",))
        self.assertEqual(
            self.outcome(judge, report(curve=("fail", "loss_differs"), state=("fail", "nan_loss"))), audit.RIGHT
        )

    def test_not_performed_needs_what_is_missing(self):
        judge = audit.judge_fault((CURVE,), ("nan_loss",))
        silent = report(curve=("not_performed",))
        self.assertEqual(self.outcome(judge, silent), audit.NOT_PERFORMED)
        silent["items"][0]["checks"][0]["missing"] = []
        self.assertEqual(self.outcome(judge, silent), audit.BROKEN)

    def test_an_error_in_a_healthy_pair_is_a_false_alarm(self):
        judge = audit.judge_healthy((CURVE,))
        self.assertEqual(self.outcome(judge, report(curve=("pass",), state=("fail", "x"))), audit.FALSE_ALARM)
        self.assertEqual(self.outcome(judge, report(curve=("not_performed",))), audit.NOT_PERFORMED)
        self.assertEqual(self.outcome(judge, report(curve=("pass",))), audit.RIGHT)

    def test_only_the_check_of_the_change_may_fail(self):
        judge = audit.judge_healthy(may_fail=("training.flow.s*",))
        self.assertEqual(self.outcome(judge, report(state=("fail", "x"))), audit.RIGHT)
        self.assertEqual(self.outcome(judge, report(curve=("fail", "x"))), audit.FALSE_ALARM)

    def test_another_form_must_give_the_same_verdicts(self):
        judge = audit.judge_same()
        good, bad, other = report(curve=("pass",)), report(curve=("fail", "a")), report(curve=("fail", "b"))
        silent = report(curve=("not_performed",))
        self.assertEqual(self.outcome(judge, good, good), audit.RIGHT)
        self.assertEqual(self.outcome(judge, good, bad), audit.FALSE_ALARM)
        self.assertEqual(self.outcome(judge, bad, good), audit.WRONG_PASS)
        self.assertEqual(self.outcome(judge, silent, good), audit.WRONG_PASS)
        self.assertEqual(self.outcome(judge, bad, other), audit.CAUSE_MISSING)
        self.assertEqual(self.outcome(judge, good, silent), audit.NOT_PERFORMED)

    def test_less_evidence_passes_nothing(self):
        judge = audit.judge_less("a log")
        self.assertEqual(
            self.outcome(judge, report(curve=("not_performed",)), report(curve=("pass",))), audit.WRONG_PASS
        )
        self.assertEqual(self.outcome(judge, report(curve=("pass",)), report(curve=("not_performed",))), audit.RIGHT)


class Known(unittest.TestCase):
    def cell(self, kind="nan_loss", variant="first"):
        return audit.Cell("megatron", kind, variant, None, None)

    def surprises(self, outcome, known, whole=False, kind="nan_loss"):
        return [len(part) for part in table.surprises([(self.cell(kind), outcome, "")], known, whole)]

    def test_a_new_outcome_that_is_not_right_is_new(self):
        for outcome in audit.OUTCOMES[1:]:
            self.assertEqual(self.surprises(outcome, {}), [1, 0])
        self.assertEqual(self.surprises(audit.RIGHT, {}), [0, 0])

    def test_what_is_known_is_no_surprise_while_it_is_there(self):
        known = {("nan_loss", "megatron", "first"): (audit.WRONG_PASS, "why")}
        self.assertEqual(self.surprises(audit.WRONG_PASS, known), [0, 0])
        self.assertEqual(self.surprises(audit.RIGHT, known), [0, 1])
        self.assertEqual(self.surprises(audit.FALSE_ALARM, known), [1, 1])

    def test_a_known_cell_that_is_gone_shows_in_the_whole(self):
        known = {("nan_loss", "gone", "first"): (audit.WRONG_PASS, "why")}
        self.assertEqual(self.surprises(audit.RIGHT, known), [0, 0])
        self.assertEqual(self.surprises(audit.RIGHT, known, whole=True), [0, 1])

    def test_every_known_cell_exists(self):
        names = {table.key_of(cell) for cell in concerns.cells(1)}
        self.assertEqual([key for key in table.load_known() if key not in names], [])

    def test_wrong_passes_stand_on_the_page(self):
        page = table.page(
            f"before\n{table.BEGIN}\nold\n{table.END}\nafter\n", [(self.cell(), audit.WRONG_PASS, "")], {}, 1
        )
        self.assertIn("| wrong pass | nan_loss | megatron (first) |", page)
        self.assertTrue(page.startswith("before\n") and page.endswith("after\n"))
        self.assertNotIn("old", page)


class Generator(unittest.TestCase):
    def test_a_fault_changes_what_a_dialect_prints(self):
        for dialect in logs.DIALECTS.values():
            for fault in faults.FAULTS.values():
                if not faults.applies(fault, dialect):
                    continue
                for place in fault.places:
                    healthy = dialect.write(curves.healthy("migrated", 1))
                    faulty = dialect.write(fault.put(curves.healthy("migrated", 1), place))
                    self.assertFalse(healthy == faulty, f"{dialect.name} does not show {fault.name} {place}")

    def test_the_same_seed_makes_the_same_audits(self):
        for first, second in zip(concerns.cells(3)[::97], concerns.cells(3)[::97]):
            self.assertEqual((first.name, first.audits()), (second.name, second.audits()))

    def test_names_are_unique(self):
        names = [cell.name for cell in concerns.cells(1)]
        self.assertEqual(len(names), len(set(names)))


if __name__ == "__main__":
    unittest.main()
