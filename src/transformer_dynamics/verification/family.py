"""What judging a claim depends on, besides its evidence."""

from typing import Annotated, Any

from pydantic import Field

from transformer_dynamics.provenance import Provenance, provenance
from transformer_dynamics.registry import Test
from transformer_dynamics.strict import Strict


class Member(Strict):
    """One claim of a family."""

    claim: str
    """Its number."""
    test: Test
    """How it is judged."""
    program: str
    """Full name of the module that made its evidence."""
    settings: dict[str, Any]
    """What that program was given."""

    @property
    def provenance(self) -> Provenance:
        """What the evidence must say of itself."""
        return provenance(self.program, self.settings)


class Family(Strict):
    """Claims that share the correction for many tests."""

    members: Annotated[list[Member], Field(min_length=1)]
    """They."""
