"""Made-up files of the sets that a user gives, in the formats in which they are distributed."""

import json


def json_lines(*rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def question(text, label):
    return {"question": text, "passage": f"About {text}.", "idx": 0, "label": label}


def word(label):
    places = {"start1": 2, "end1": 6, "start2": 0, "end2": 4, "idx": 3}
    return {
        "word": "bank",
        "sentence1": "A bank.",
        "sentence2": "Bank on it.",
        "label": label,
    } | places


def pronoun(text, label):
    spans = {"span1_text": "Ann", "span1_index": 0, "span2_text": "she", "span2_index": 3}
    return {"text": text, "target": spans, "label": label, "idx": 1}


SENTIMENTS = 'Text\tLabel\n"a ""good"" one"\t1\nbad\t0\n\t2\nso so\t2\n'
GIVEN_FILES = {
    "boolq": [
        json_lines(question("is it so", True), question("is it not", False)),
        json_lines(question("was it so", False)),
    ],
    "wic": [json_lines(word(True), word(False)), json_lines(word(False))],
    "wsc": [
        json_lines(pronoun("Ann saw that she won", True), pronoun("Ann said she lost", False)),
        json_lines(pronoun("Ann ran and she fell", True)),
    ],
    "amazon": [SENTIMENTS, "Text\tLabel\nfine\t1\n"],
    "dynasent": [SENTIMENTS, "Text\tLabel\nfine\t1\n"],
    "semeval": [SENTIMENTS, "Text\tLabel\nfine\t1\n"],
    "boss_sst5": [SENTIMENTS, "Text\tLabel\nfine\t1\n"],
    "pubmed": [
        "###12\nBACKGROUND\tA Cell .\nMETHODS\tWe @ it .\n\n###13\nRESULTS\tIt was so .\n\n",
        "###14\nOBJECTIVE\tTo see .\n\n",
        "###15\nCONCLUSIONS\tDone .\n\n",
    ],
}
