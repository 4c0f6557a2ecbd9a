"""The memory behind the service, as routes ask for it."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends
from starlette.requests import Request

from perdure.memory import Memory


async def front_door(request: Request) -> Memory:
    """The memory behind the service."""
    memory: Memory = request.app.state.memory
    return memory


Door = Annotated[Memory, Depends(front_door)]
"""The memory behind the service."""
