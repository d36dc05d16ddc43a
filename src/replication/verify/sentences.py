"""Differences from the reference as sentences."""

import math
from collections.abc import Iterable

from replication.verify.differences import Difference

READABLE = "readable"
"""Expected state of a file; the found value of such a difference says why it cannot be used."""
_DEPENDS_ON = {
    "claim": "its evidence, its published values, or the settings or seeds of what it is judged on",
    "test": "its entry in the registry, or what counts for robustness,",
    "figure": "its settings, its published values, or the settings or seeds of what it shows",
    "experiment": "its settings or its seeds",
}
"""Possible causes by kind: a digest does not tell which of them changed."""


def difference_sentences(differences: Iterable[Difference]) -> list[str]:
    """Return one sentence per difference; equal differences of several places share one.

    Numbers come last, as there may be many, and the rest says why they differ.
    """
    places: dict[str, list[str]] = {}
    for difference in sorted(differences, key=lambda each: not math.isnan(each.difference)):
        place, said = _place_and_sentence(difference)
        places.setdefault(said, []).extend(place)
    return [f"{'; '.join(named)}: {said}" if named else said for said, named in places.items()]


def _place_and_sentence(difference: Difference) -> tuple[list[str], str]:
    """Return the place, unless the sentence names it, and the sentence."""
    place, quantity, was, now, gap, tolerance, allowed = difference
    if (place, was) == ("results", READABLE):
        return [], now
    if quantity == "content":
        return [], f"{place} of the reference was changed or added by hand; restore it with git"
    if place in {"settings", "code"}:
        return [], _changed_sentence(place, quantity, was, now)
    if (was, now) == ("there", "missing"):
        return [place], f"{quantity} is missing"
    size = f", {gap:.3g} apart (tolerance: {tolerance}, at most {allowed:.3g})"
    # A verdict is a sentence of its own.
    verb = ":" if quantity.startswith("verdict on ") else " is"
    return [place], f"{quantity}{verb} {now}, expected {was}{'' if math.isnan(gap) else size}"


def _changed_sentence(place: str, name: str, was: str, now: str) -> str:
    """Return a sentence on changed settings or code with the digests `was` and `now`."""
    named = name if place == "settings" else f"the code of {name}"
    if was == "none":
        return f"{named} is new, the reference has nothing of it"
    if now == "none":
        return f"{named} is gone, the reference still has it"
    depends_on = _DEPENDS_ON.get(name.partition(" ")[0])
    why = f": {depends_on} changed" if depends_on else ""
    return f"{named} is not as it was when the reference was made{why}"
