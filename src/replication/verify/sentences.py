"""Differences from the reference, as they are told to a reader."""

import math
from collections.abc import Iterable

from replication.verify.differences import Difference

READABLE = "readable"
"""What a file should be; of one that cannot be used, the reason is what was found."""
_DEPENDS_ON = {
    "claim": "its measure, its published values, or the settings or seeds of what it is measured"
    " on",
    "test": "its entry in the registry, or what counts for robustness,",
    "figure": "its settings, its published values, or the settings or seeds of what it shows",
    "experiment": "its settings or its seeds",
}
"""By kind: whatever may have changed, as a digest does not tell what did."""


def difference_sentences(differences: Iterable[Difference]) -> list[str]:
    """Return one sentence per difference; what differs alike in two places is told once.

    Numbers come last, as there may be many, and the rest says why they differ.
    """
    places: dict[str, list[str]] = {}
    for difference in sorted(differences, key=lambda each: not math.isnan(each.difference)):
        place, said = _place_and_sentence(difference)
        places.setdefault(said, []).extend(place)
    return [f"{'; '.join(named)}: {said}" if named else said for said, named in places.items()]


def _place_and_sentence(difference: Difference) -> tuple[list[str], str]:
    """The place, unless the sentence names it, and the sentence."""
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
    """Something that numbers depend on, of which the digests `was` and `now` are known."""
    named = name if place == "settings" else f"the code of {name}"
    if was == "none":
        return f"{named} is new, the reference has nothing of it"
    if now == "none":
        return f"{named} is gone, the reference still has it"
    depends_on = _DEPENDS_ON.get(name.partition(" ")[0])
    why = f": {depends_on} changed" if depends_on else ""
    return f"{named} is not as it was when the reference was made{why}"
