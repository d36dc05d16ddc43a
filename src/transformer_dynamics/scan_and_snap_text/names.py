"""Names in the configuration."""

from typing import Annotated

from pydantic import AfterValidator, Field

from replication.strict import distinct

Name = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]*$")]
Names = Annotated[list[str], Field(min_length=1), AfterValidator(distinct)]
