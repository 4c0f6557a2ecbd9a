"""English words around a statement: orders, greetings, doubts; each list says why it exists."""

from __future__ import annotations

from perdure.learn.basic.rules import words

# ── what is asked for ────────────────────────────────────────────────────────────────────────────

# An order with one of these holds beyond this conversation.
FROM_NOW_ON = words("""
    from now on, from today, from today on, from here on, from here on out, in future,
    in the future, going forward
""")
# The same, but part of what is ordered.
EVERY_TIME = words("""
    by default, at all times, every time you, each time you, every time i ask, in all your,
    for all my, for all future, whenever you, whenever i ask
""")
# Orders with "do not" that only make sense if they last.
LASTING_ORDER = words("""
    book, schedule, plan, call me, wake me, suggest, recommend, send me, message me, remind me,
    offer me
""")
# What an assistant can be told to do always or never; "never give up" is no order to one.
WISH = words("""
    use, show, give me, write, answer, reply, respond, keep, put, add, include, list, format,
    explain, start, end, sign, ask, tell me, remind me, send, check, convert, round, quote, cite,
    address, speak, talk, call, be brief, be concise, be honest, be direct, be short, make, avoid,
    stop, skip, leave out, summarise, summarize, translate, mark, name, order, book, choose, pick,
    suggest, recommend, schedule, plan, offer, buy, propose, reserve, assume, mention, say, share,
    wake, message, text, email, contact, run, deploy, commit, push, merge, delete, overwrite,
    install, test, lint, confirm, wait, prefer, sort, link, spell, do not, never, always, no, only,
    greet, begin, repeat, apologise, apologize, interrupt, change, touch, edit, rename, refactor,
    go above, go over, exceed, spend, invite
""")

# "Remember to include the sources": for this answer, not for later.
FOR_NOW = words("""
    include, use, cite, add, explain, format, keep, write, answer, reply, respond, list, show,
    give, stay, be, focus, breathe, relax, enjoy
""")

# ── how it is wrapped ────────────────────────────────────────────────────────────────────────────

# A greeting or a gesture before the statement.
OPENER = words("""
    hi, hey, hello, oh, ah, well, so, ok, okay, yes, yeah, yep, also, and, but, because, plus, btw,
    by the way, fyi, just so you know, for the record, for context, for reference, in general,
    honestly, actually, to be honest, tbh, frankly, in fact, as i said, as i mentioned,
    as you know, anyway, good morning, thanks, thank you, please, that is why, you should know,
    you should know that, the thing is, turns out, it turns out that, these days, nowadays, lately,
    unfortunately, luckily, i should mention, i should say, i should add, i should mention that,
    let me add, let me add that
""")
# The same, but only with a comma or a colon after it: "No, I live in Oslo".
INTERJECTION = words("""
    no, sure, right, now, there, all, everyone, sorry, intro, quick intro, short intro,
    quick introduction, background, correction, small correction, quick correction, update,
    small update, quick update, context, about me, a bit about me, some facts about me, fun fact,
    one more thing, another thing, one thing, quick note, first, second, also note
""")
# And after it.
CLOSER = words("""
    at all, though, tho, haha, lol, btw, by the way, to be honest, tbh, please, thanks, thank you,
    ok, okay, you know, just so you know, fyi, ever, as well, anyway, xd, too, actually
""")
# The person asks to remember what follows.
REMEMBER = words("""
    remember, always remember, keep in mind, bear in mind, take note, make a note, note,
    do not forget, never forget, memorise, memorize, save this, save that, for future reference,
    add to memory, add to your memory
""")

# Where a new clause begins: a new subject, an order, a question.
BEGINNING = words("""
    i, we, my, our, please, call me, answer, never, always, do not, remember, from now on, what,
    how, where, which, who, can you, could you, any, suggest, recommend, give, tell, help, it,
    that, this, there, he, she, they, you, nobody, everyone, nothing, otherwise, careful
""")
JOINT = words("""
    and, but, so, because, since, as, although, though, while, yet, plus, that is why
""")

# ── what only looks like a statement ─────────────────────────────────────────────────────────────

# Pasts of lasting verbs: "I lived in Oslo" is over.
OVER = words("""
    lived, worked, owned, ran, taught, studied, spoke, played, baked, grew, used, liked, loved,
    hated, preferred, drove, smoked, was a, was an, were a, had two, had three, had four, kept,
    moved, live, move, buy, become
""")
# Between "I" and such a verb.
HEDGE = words("""
    do, did, would, could, might, may, should, used to, will, had, have, not, never, am, was, were,
    cannot, to, been, thinking of, thinking about, considering, be, get, getting, wish, hope
""")
# What makes a statement a guess or a wish.
DOUBT = words("""
    might, maybe, perhaps, possibly, probably, i wish, we wish, as if, i guess, i suppose,
    i wonder, not sure, tempted, someday, some day, one day, i may, we may, i could, we could,
    thinking about, thinking of, considering, toying with, pretend*, in theory
""")
# What opens a sentence about a world that is not.
SUPPOSING = words("""
    if, unless, what if, suppose, supposing, imagine, assume, assuming, say, let us say, in theory,
    hypothetically, even if, as if
""")
# What others do when they are quoted without marks.
SAYING = words("""
    said, says, told, tells, wrote, writes, thinks, claims, asked, asks, texted, goes,
    keeps saying, replied, answered
""")
# What opens a task of this conversation.
TASK = words("""
    write, draft, compose, generate, create, make, translate, summarise, summarize, fix, rename,
    refactor, explain, find, convert, rewrite, correct, debug, list, show me, give me, tell me,
    help me
""")
# What is said in jest, or as a figure of speech.
JEST = words("""
    married to my job, married to my work, married to my phone, married to the job,
    allergic to mondays, allergic to work, allergic to mornings, allergic to exercise,
    allergic to people, allergic to bullshit, two left feet, like a dog, king of the world,
    queen of the world, walking disaster, millionaire in my dreams, eat a horse, a vampire
""")
LONG_AGO = words("""
    when i was, when we were, as a kid, as a child, as a teenager, as a student, back then,
    back in, in those days, at the time, growing up
""")
MOMENT = words("""
    right now, at the moment, today, tonight, this morning, this afternoon, this evening, just now,
    for now, yesterday, last night, this time, this one, here
""")
# Pasts that tell what happened once.
ONCE = words("""
    was, were, had, did, went, ate, drank, made, took, came, saw, met, wrote, drove, spoke, taught,
    bought, sold, grew, kept, led, wore, ran
""")
# Capitalised words that begin a sentence and are no names.
NO_NAME = words("""
    as, looks, sounds, feels, seems, guess, always, keep, congrats, you, it, there, that, this,
    the, i, we, my, our, your
""")
# Whoever is meant was named before, or is the reader.
POINTING = words("him, them, it, there, that one, those")
