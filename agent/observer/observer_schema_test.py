#!/usr/bin/env python3
"""The schema of the observer's record, its document, what the reader knows and a real record say the same."""
import json
import os
import re
import unittest

from observer_schema import Schema

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
SCHEMA = Schema(os.path.join(SOURCE, "proto", "paritect", "v1", "observer.schema.json"))
KINDS = {name: set(one["properties"]) - {"k", "t"} for name, one in SCHEMA.definitions.items()
         if "k" in one.get("properties", {})}


def text(*path):
    with open(os.path.join(SOURCE, *path), encoding="utf-8") as file:
        return file.read()


def rows_of_document():
    """kind: its row of a table."""
    rows = {}
    for names, row in re.findall(r"^\| ((?:`\w+`(?:, )?)+) \| (.*) \|$", text("docs", "observer.md"), re.M):
        for name in re.findall(r"\w+", names):
            rows[name] = rows.get(name, "") + row
    return rows


class SchemaTest(unittest.TestCase):
    def test_document_names_every_kind_and_field(self):
        rows = rows_of_document()
        for kind, fields in KINDS.items():
            self.assertIn(kind, rows)
            if "the same" in rows[kind]:
                continue
            named = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]*)`", rows[kind])))) | \
                set(re.findall(r"\w+", rows[kind]))
            self.assertEqual(fields - named, set(), kind)

    def test_reader_knows_the_same(self):
        known = {}
        for kind, fields in re.findall(r'\{"(\w+)",\s*\{((?:"\w+",?\s*)+)\}\}',
                                       text("formats", "observer", "known_fields.cc")):
            known[kind] = set(re.findall(r'"(\w+)"', fields))
        self.assertEqual(known, KINDS)

    def test_real_record_fits(self):
        for line in text("tests", "fuzz", "corpus", "observer", "training.jsonl").splitlines():
            record = json.loads(line)
            if record["t"] > 1:  # the others were written by hand
                self.assertEqual(SCHEMA.problems(record), [], line[:200])

    def test_what_does_not_fit_is_told(self):
        fitting = {"k": "kept", "t": 1.5, "optimizer": 0, "n": 1, "looked": 8, "kept": 0}
        self.assertEqual(SCHEMA.problems(fitting), [])
        for change in ({"n": "1"}, {"n": None}, {"k": "later"}, {"other": 1}, {"n": True}):
            self.assertTrue(SCHEMA.problems(dict(fitting, **change)), change)
        self.assertTrue(SCHEMA.problems({"k": "kept", "t": 1}))


if __name__ == "__main__":
    unittest.main()
