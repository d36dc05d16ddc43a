"""What figures call what they draw."""

from typing import Annotated

from pydantic import Field

Label = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9 .-]*$")]
"""Of a curve, a panel or a level."""
