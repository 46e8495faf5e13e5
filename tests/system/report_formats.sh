#!/usr/bin/env bash
# report_formats.sh BUILD_DIR: each format is read by a reader of its own, with hostile texts in the report; and the HTML
# file in a real browser, where there is one.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh" "$1"

# Names that mean something elsewhere: to HTML, XML, spreadsheets, terminals, readers of text in two directions.
cp -r "$source_dir/deploy/example/gpu" "$source_dir/deploy/example/npu" . || exit 1
seeds=()
for seed in 1 2 3; do seeds+=(--baseline "gpu/seed$seed"); done
names=('<img src=x onerror="window.hostile=1">' '<script>window.hostile=1<!--' '=HYPERLINK("http:__x")'
  $'right\u202eleft' $'bell\a' "O'Brien & Söhne \"AG\"" '{{7*7}}${7*7}' $'\xff\xfe' '数据 文件'
  $'no text\xef\xbf\xbe\xef\xbf\xbf' "@SUM(1+9)*cmd|' " '-2+3' '+1|x' $'\tlead' "$(printf 'long%.0s' {1..60})")
for name in "${names[@]}"; do
  printf 'a\n' > "gpu/data/train/$name"
done
formats=(html xlsx sarif junit csv markdown json jsonl)
outputs=()
for format in "${formats[@]}"; do outputs+=(-o "$format=report.$format"); done
# Without the cache of digests: a report says what came from it.
SOURCE_DATE_EPOCH=1764500000 expect 1 "written" "$paritect" check "${seeds[@]}" --migrated npu --no-cache "${outputs[@]}"
for format in "${formats[@]}"; do [ -s "report.$format" ] || fail "no report.$format"; done
cp report.html first.html
expect 1 "" "$paritect" check "${seeds[@]}" --migrated npu -o zh.xlsx --lang zh
SOURCE_DATE_EPOCH=1764500000 expect 1 "" "$paritect" check "${seeds[@]}" --migrated npu --no-cache -o html=report.html
cmp -s first.html report.html || fail "the same evidence gives another HTML file"
expect 0 "agrees with itself" "$paritect" report verify report.html
"$paritect" report verify report.html | grep -q "the page in it" && fail "its own page is not known"
sed 's/<body /<body class="x" /' report.html > other-page.html
expect 0 "the page in it is not the one that this version writes" "$paritect" report verify other-page.html
expect 0 "agrees with itself" "$paritect" report verify report.json

# JUnit: well-formed, of the shape that build servers read.
if command -v xmllint > /dev/null; then
  xmllint --noout --nonet --schema "$source_dir/tests/system/junit.xsd" report.junit 2> xml.txt || fail "JUnit: $(head -5 xml.txt)"
else
  fail "xmllint is missing (deploy/install-build-deps)"
fi

# Debian's python3, which has Debian's openpyxl and jsonschema.
/usr/bin/python3 - "$source_dir/tests/system/sarif.schema.json" <<'END' || fail "a reader does not take a format"
import csv, io, json, sys

import jsonschema

schema = json.load(open(sys.argv[1], encoding="utf-8"))
sarif = json.load(open("report.sarif", encoding="utf-8"))
assert sarif["version"] == "2.1.0" and len(sarif["runs"]) == 1, "SARIF: version"
run = sarif["runs"][0]
rules = run["tool"]["driver"]["rules"]
assert len({rule["id"] for rule in rules}) == len(rules) > 50, "SARIF: rules are unique"
jsonschema.Draft7Validator.check_schema(schema)
for error in jsonschema.Draft7Validator(schema).iter_errors(sarif):
    raise AssertionError(f"SARIF: {'/'.join(map(str, error.absolute_path))}: {error.message[:300]}")
# What does not fit must be told, or the schema proves nothing.
sarif["runs"][0]["results"][0]["level"] = "fatal"
assert not jsonschema.Draft7Validator(schema).is_valid(sarif), "SARIF: the schema takes everything"
sarif = json.load(open("report.sarif", encoding="utf-8"))
run, rules = sarif["runs"][0], sarif["runs"][0]["tool"]["driver"]["rules"]

# What differs in settings stands in a file, at a line.
settings = [r for r in run["results"] if r["ruleId"].startswith("model.hyperparameters.") and r["level"] == "error"]
for result in settings:
    assert any("region" in place.get("physicalLocation", {}) for place in result["locations"]), "SARIF: no line: " + str(result)

levels, lines = set(), 0
for result in run["results"]:
    assert rules[result["ruleIndex"]]["id"] == result["ruleId"], "SARIF: rule of a result"
    assert result["level"] in ("error", "warning", "note", "none") and result["message"]["text"], "SARIF: result"
    levels.add(result["level"])
    for place in result["locations"]:
        if "physicalLocation" in place:
            uri = place["physicalLocation"]["artifactLocation"]["uri"]
            assert uri and not set(uri) & set(' <>"{}|\\^`') and uri.isascii(), "SARIF: uri " + uri
            lines += place["physicalLocation"].get("region", {}).get("startLine", 0) > 0
assert "error" in levels and lines > 0, "SARIF: errors with lines"
for note in run["invocations"][0]["toolExecutionNotifications"]:
    assert rules[note["associatedRule"]["index"]]["id"] == note["associatedRule"]["id"], "SARIF: notification"

report = json.load(open("report.json", encoding="utf-8"))
assert report["meta"]["time"] == "2025-11-30T10:53:20Z", report["meta"]
total = sum(len(check["findings"]) for item in report["items"] for check in item["checks"])

import openpyxl
book = openpyxl.load_workbook("report.xlsx")
first = book.worksheets[0]
assert [cell.value for cell in first[1]][:3] == ["check item", "introduction", "check result"], "xlsx: heads"
chinese = openpyxl.load_workbook("zh.xlsx").worksheets[0]
assert [cell.value for cell in chinese[1]][:3] == ["检查项", "简介", "检查结果"], "xlsx: heads in Chinese"
assert chinese.title == "检查结果", chinese.title
assert first.max_row == 1 + len(report["items"]) and len(book.worksheets) == 1 + len(report["items"]), "xlsx: sheets"
rows = 0
for sheet in book.worksheets:
    for row in sheet.iter_rows():
        for cell in row:
            assert cell.data_type in ("s", "n"), "xlsx: a formula in " + sheet.title
    rows += sum(1 for row in sheet.iter_rows(min_row=2) if sheet is not first and row[3].value)
assert rows == total, f"xlsx: {rows} findings of {total}"

table = list(csv.DictReader(io.open("report.csv", encoding="utf-8-sig", newline="")))
assert sum(row["row"] == "finding" for row in table) == total, "CSV"
END

"$source_dir/tests/browser/prepare" "$build_dir/browser" > prepare.txt; ready=$?
[ $ready = 77 ] && { cat prepare.txt; [ "$failures" = 0 ] && exit 77; }
if [ $ready = 0 ]; then
  timeout 900 node "$build_dir/browser/report.js" "$work/report.html" "$build_dir/browser" > browser.txt 2>&1 ||
    { fail "in the browser:"; tail -n 20 browser.txt >&2; }
  timeout 900 node "$build_dir/browser/hostile.js" "$work/report.html" "$build_dir/browser" > hostile.txt 2>&1 ||
    { fail "data that nobody expects, in the browser:"; tail -n 20 hostile.txt >&2; }
fi
finish
