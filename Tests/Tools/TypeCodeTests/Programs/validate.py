# Validates values against printed schemas. Each line of input is a document's path, a definition in it and a value, as an
# array; each line of output says whether it is valid.

import json
import sys

from jsonschema import Draft202012Validator

for line in sys.stdin:
    path, definition, value = json.loads(line)
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    Draft202012Validator.check_schema(document)
    schema = document if definition is None else {**document, "$ref": "#/$defs/" + definition}
    errors = [error.message for error in Draft202012Validator(schema).iter_errors(value)]
    print("valid" if not errors else "invalid: " + errors[0].replace("\n", " "))
