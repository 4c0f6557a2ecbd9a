"""How much is said: by kind, by level, in all, in tokens and in bytes. Pure. Spec 4.7."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from perdure import text
from perdure.policy import BudgetPolicy
from perdure.recall.rank import Ranked
from perdure.recall.render import Layout
from perdure.types import Dropped, Found, Kind, Level, Reason, Utterance


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """What fits, in ranked order, and what does not."""

    kept: tuple[Ranked, ...]
    dropped: tuple[Dropped, ...]
    episodes: tuple[Found, ...] = ()

    @property
    def omitted(self) -> int:
        """How many memories there was no room for."""
        return sum(one.reason is Reason.OVER_BUDGET for one in self.dropped)


@dataclass(slots=True)
class _Room:
    """What is left while memories are let in one by one."""

    policy: BudgetPolicy
    tokens: int = 0
    bytes: int = 0
    levels: Counter[Level] = field(default_factory=Counter)
    kinds: Counter[Kind] = field(default_factory=Counter)
    titled: set[tuple[str, ...]] = field(default_factory=set)

    def holds(self, lines: Iterable[str]) -> bool:
        """These lines fit; then they count."""
        lines = tuple(lines)
        tokens = self.tokens + sum(map(text.model_tokens, lines))
        size = self.bytes + sum(text.utf8_length(line) + 1 for line in lines)
        if not _within(tokens, self.policy.tokens) or not _within(size - 1, self.policy.bytes):
            return False
        self.tokens, self.bytes = tokens, size
        return True

    def admits(self, entry: Ranked, form: Layout) -> Reason | None:
        """Why this memory does not come in, or None; then it counts."""
        item, policy = entry.item, self.policy
        if not _within(self.kinds[item.kind] + 1, getattr(policy, item.kind.value)):
            return Reason.OVER_TYPE_LIMIT
        level = policy.project if item.level is Level.PROJECT else policy.user
        if not _within(self.kinds.total() + 1, policy.total) or not _within(
            self.levels[item.level] + 1, level
        ):
            return Reason.OVER_BUDGET
        title = form.title(item)
        if not self.holds((*(() if title in self.titled else title), form.line(item))):
            return Reason.OVER_BUDGET
        self.titled.add(title)
        self.levels[item.level] += 1
        self.kinds[item.kind] += 1
        return None


def fit(
    ranked: Sequence[Ranked],
    form: Layout,
    policy: BudgetPolicy,
    *,
    episodes: Sequence[Found] = (),
    quote_chars: int = 0,
) -> Fitted:
    """The memories that fit into the text, its head, titles and closing line included.

    The lowest ranked go first and, where the policy says so, constraints last. No memory is cut.

    Args:
        ranked: best first.
        form: the form of the text, which decides what a memory costs.
        policy: the limits; None means no limit, 0 means nothing.
        episodes: messages to quote where room is left, best first.
        quote_chars: characters of a quoted message.
    """
    fitted, room = _fitted(ranked, form, policy, closing=0)
    if fitted.omitted and form.more:  # the closing line needs room too
        fitted, room = _fitted(ranked, form, policy, closing=len(ranked))
    quotes = _quotes(episodes[: policy.episodes], form, room, quote_chars)
    return Fitted(kept=fitted.kept, dropped=fitted.dropped, episodes=tuple(quotes))


def _quotes(episodes: Iterable[Found], form: Layout, room: _Room, chars: int) -> Iterator[Found]:
    """The messages there is room for, with those around them, or else without."""
    quoted: set[int] = set()
    for found in episodes:
        if found.episode is None:
            continue
        for one in (found, replace(found, around=())) if found.around else (found,):
            title = () if quoted else ("", form.said)
            new = {said.seq: said for said in passage([one]) if said.seq not in quoted}
            if room.holds((*title, *(form.quote(said, chars) for said in new.values()))):
                quoted |= new.keys()
                yield one
                break


def passage(episodes: Iterable[Found]) -> list[Utterance]:
    """Every message that these quote, once, in the order in which they were said."""
    said = [one for found in episodes for one in (*found.around, found.episode) if one is not None]
    return [one for _, one in sorted({one.seq: one for one in said}.items())]


def _fitted(
    ranked: Sequence[Ranked], form: Layout, policy: BudgetPolicy, *, closing: int
) -> tuple[Fitted, _Room]:
    """One pass, with room kept for a closing line that names so many memories."""
    room = _Room(policy)
    full = not room.holds((*form.head, *form.tail(closing)))
    reasons: dict[int, Reason] = {}
    order = list(range(len(ranked)))
    if policy.constraints_last:
        order.sort(key=lambda place: ranked[place].item.kind is not Kind.CONSTRAINT)
    for place in order:
        reason = Reason.OVER_BUDGET if full else room.admits(ranked[place], form)
        if reason is not None:
            reasons[place] = reason
        if reason is Reason.OVER_BUDGET and not policy.gaps:
            full = full or _fits_alone(ranked[place], form, policy, closing)
    kept = tuple(entry for place, entry in enumerate(ranked) if place not in reasons)
    dropped = tuple(ranked[place].dropped(reason) for place, reason in sorted(reasons.items()))
    return Fitted(kept=kept, dropped=dropped), room


def _fits_alone(entry: Ranked, form: Layout, policy: BudgetPolicy, closing: int) -> bool:
    """It would fit into an empty text; what never fits does not end the others' turn."""
    room = _Room(policy)
    return room.holds((*form.head, *form.tail(closing))) and room.admits(entry, form) is None


def _within(amount: int, limit: int | None) -> bool:
    return limit is None or amount <= limit
