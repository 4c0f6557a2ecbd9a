"""Why: what a message would bring to mind, and for what reason each memory is said or not."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from perdure.errors import NotFound
from perdure.pages.asked import Person, Sent
from perdure.pages.charts import stacked
from perdure.pages.page import PageRoute, View, spoken
from perdure.types import Answer, Considered, Reason, Stage
from perdure.types.words import in_words

routes = APIRouter(route_class=PageRoute)


@routes.get("/why")
def asked(view: Person) -> Response:
    """The page before anything was asked."""
    projects = view.items.projects(view.scope)
    return view.html("why.html", query="", project="", projects=projects, answer=None)


@routes.post("/why")
def explained(view: Person, form: Sent) -> Response:
    """What the message would bring to mind. Looking counts as no use of a memory."""
    query, project = form["query"].strip(), form["project"].strip()
    values: dict[str, Any] = {"query": query, "project": project, "answer": None}
    if query:
        values |= told(view, answer_to(view, query, project or None))
    if view.partial:
        return view.html("_why.html", **values)
    return view.html("why.html", projects=view.items.projects(view.scope), **values)


def answer_to(view: View, query: str, project: str | None) -> Answer:
    """The answer that the service would give now, with the way of each memory."""
    parts, scope = view.memory.parts, view.scope.within(project=project)
    return parts.recaller.answer(
        scope, query, policy=parts.policy_of(scope.namespace), at=parts.clock(), explain=True
    )


def told(view: View, answer: Answer) -> dict[str, Any]:
    """An answer as the page shows it: what is said, then what is left out and why."""
    tongue = spoken(view.request)
    most = max((one.score.total for one in answer.considered if one.score), default=1.0)
    said = [one for one in answer.considered if one.stage is Stage.SAID]
    out = [one for one in answer.considered if one.stage is not Stage.SAID]

    def bar(one: Considered) -> object:
        return None if one.score is None else stacked(one.score.terms, max(most, 1.0))

    def words(one: Considered) -> str:
        """What it says; of one that belongs elsewhere the answer does not tell, its owner may."""
        if one.reason is Reason.SCOPE:
            with suppress(NotFound):  # it is gone since
                return view.memory.items.get(view.scope, one.item.id).content
        return one.item.content

    def reason(one: Considered) -> str:
        return "" if one.reason is None else in_words(one.reason, tongue)

    return {
        "answer": answer,
        "said": said,
        "out": out,
        "bar": bar,
        "words": words,
        "reason": reason,
        "degraded": [(one.part, in_words(one.reason, tongue)) for one in answer.degraded],
    }
