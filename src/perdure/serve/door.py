"""The memory behind the service, as routes ask for it, and the ids that stand in their paths."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends
from starlette.convertors import PathConvertor, register_url_convertor
from starlette.requests import Request

from perdure.memory import Memory


async def front_door(request: Request) -> Memory:
    """The memory behind the service."""
    memory: Memory = request.app.state.memory
    return memory


Door = Annotated[Memory, Depends(front_door)]
"""The memory behind the service."""


class Exactly(PathConvertor):
    """An id in a path as ``{user_id:id}``: every character counts, a line's end at its end, too.

    With ``path`` an id that ends with a line would be that of somebody else, without it.
    """

    regex = r"[\s\S]*"


register_url_convertor("id", Exactly())
