"""Holds records of the observer against proto/paritect/v1/observer.schema.json: as much of JSON Schema as that file uses.

    observer_schema.py SCHEMA FILE...      # lines that do not fit are told; exit code 1 if there is any
"""
import json
import re
import sys

TYPES = {"string": str, "boolean": bool, "object": dict, "array": list, "null": type(None)}


class Schema(object):
    def __init__(self, path):
        with open(path) as file:
            self.definitions = json.load(file)["definitions"]

    def problems(self, record):
        """["step.lr: no list", ...] of one line's object."""
        kind = record.get("k")
        if kind not in self.definitions or "k" not in self.definitions[kind]["properties"]:
            return ["kind %r" % kind]
        return list(self.unfit(record, self.definitions[kind], kind))

    def unfit(self, value, schema, place):
        if "$ref" in schema:
            schema = self.definitions[schema["$ref"].rpartition("/")[2]]
        if "anyOf" in schema and all(list(self.unfit(value, one, place)) for one in schema["anyOf"]):
            yield "%s: %s fits nothing" % (place, json.dumps(value)[:60])
        if "type" in schema and not is_of(value, schema["type"]):
            yield "%s: %s is no %s" % (place, json.dumps(value)[:60], schema["type"])
            return
        if "const" in schema and value != schema["const"] or "enum" in schema and value not in schema["enum"]:
            yield "%s: %s" % (place, json.dumps(value)[:60])
        if "pattern" in schema and not re.search(schema["pattern"], value):
            yield "%s: %s" % (place, value[:60])
        if type(value) is dict:
            for one in self.unfit_fields(value, schema, place):
                yield one
        for item in value if type(value) is list and "items" in schema else ():
            for one in self.unfit(item, schema["items"], place):
                yield one

    def unfit_fields(self, value, schema, place):
        properties = schema.get("properties", {})
        for name in schema.get("required", ()):
            if name not in value:
                yield "%s: no %s" % (place, name)
        for name, inner in value.items():
            if name in properties:
                for one in self.unfit(inner, properties[name], place + "." + name):
                    yield one
            elif schema.get("additionalProperties") is False:
                yield "%s.%s: not in the schema" % (place, name)


def is_of(value, kinds):
    for kind in kinds if type(kinds) is list else [kinds]:
        if kind == "integer" and type(value) is int or kind == "number" and type(value) in (int, float):
            return True
        if kind in TYPES and type(value) is TYPES[kind]:
            return True
    return False


def main():
    schema, count = Schema(sys.argv[1]), 0
    for path in sys.argv[2:]:
        with open(path, "rb") as file:
            for number, line in enumerate(file.read().split(b"\n")[:-1], 1):
                for problem in schema.problems(json.loads(line.decode())):
                    print("%s:%d: %s" % (path, number, problem))
                    count += 1
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
