"""English words for people, things and what is said of them; each list says why it exists."""

from __future__ import annotations

from perdure.learn.basic.rules import words

# ── who is spoken of ─────────────────────────────────────────────────────────────────────────────

# Family and animals: what is said of them is part of the person's life.
KIN = words("""
    wife, husband, partner, spouse, fiance, fiancee, fiancé, fiancée, girlfriend, boyfriend, kid(s),
    child, children, son(s), daughter(s), baby, toddler, mum, mom, mother, dad, father, parents,
    sister(s), brother(s), sibling(s), twin(s), grandma, grandpa, grandmother, grandfather,
    grandparents, grandson, granddaughter, grandkids, aunt, uncle, cousin(s), niece, nephew,
    stepson(s), stepdaughter(s), stepmother, stepmum, stepmom, stepfather, stepdad, stepbrother(s),
    stepsister(s), half-brother(s), half-sister(s), family, mother-in-law, father-in-law,
    brother-in-law, sister-in-law, in-laws, cat(s), dog(s), puppy, puppies, kitten(s), rabbit(s),
    parrot(s), horse(s), hamster(s), tortoise
""")
# Which of several it is.
WHICH = words("""
    older, younger, elder, eldest, oldest, youngest, little, big, middle, twin, first, second, third
""")
# Everybody else: what is said of them is not about the person.
STRANGER = words("""
    ex, ex-wife, ex-husband, friend(s), best friend, boss, manager, colleague(s), coworker(s),
    co-worker(s), neighbour(s), neighbor(s), flatmate(s), roommate(s), housemate(s), classmate(s),
    teacher, professor, landlord, landlady, doctor, dentist, therapist, customer(s), client(s),
    guy, man, woman, people, person, girl, boy, student(s), teammate(s), mate(s), buddy
""")
# What a team speaks of when it speaks of its work.
PROJECT = words("""
    project, repo, repository, codebase, code base, monorepo, backend, back-end, frontend,
    front-end, service, microservice(s), api, app, website, library, build, pipeline, ci,
    test suite, tests, team, staging, staging server, production, schema, main branch, style guide
""")
# "We" with one of these speaks of the work, not of the home.
TEAMWORK = words("""
    commit(s), branch, branches, main, master, pr(s), pull request(s), merge, deploy, deploys,
    release(s), ci, lint, tests, sprint(s), staging, production, repo, codebase, monorepo,
    code review(s)
""")
# Things of a person that say something whatever follows.
OWN = words("""
    name, nickname, first name, last name, surname, middle name, birthday, anniversary, name day,
    age, favourite*, favorite*, least favourite*, least favorite*, all-time favourite*, preferred*,
    e-mail, email, email address, phone, phone number, mobile number, number, address, postcode,
    zip code, budget, limit, job, profession, hometown, home town, allergy, allergies, pronouns,
    time zone, timezone, major, degree, shoe size, size, blood type, diet, religion,
    native language, first language, mother tongue, salary, income, rent, mortgage, hobby, hobbies,
    commute, bedtime, workplace, employer, title, role, height, weight, nationality, go-to*
""")
# What my things are as long as they are mine: "is a", "is on", "is called".
STAYS = words("""
    in, on, at, from, near, with, without, called, named, made, written, based, my, our, between,
    next to
""")
# Things that are mine for a moment only.
PASSING_THING = words("""
    question, problem, issue, code, script, function, error, bug, test, point, guess, idea, query,
    output, file, table, loop, boss, friend, mistake, apologies, bad, day, week, weekend, head,
    computer, screen, page, app, build, answer, goodness, god, only concern, first thought
""")
# How a thing is for a moment: "my phone is dead".
STATE = words("""
    dead, broken, lost, gone, off, on silent, empty, ringing, charging, wrong, missing, down, too,
    so, very, not working, cracked, stolen, full, killing, acting
""")

# ── what is said ─────────────────────────────────────────────────────────────────────────────────

# Words between "I" and the verb that change nothing.
ADVERB = words("""
    really, actually, absolutely, honestly, personally, mostly, mainly, usually, normally,
    generally, typically, always, often, sometimes, rarely, hardly, also, still, just, only, now,
    currently, already, both, much, strongly, definitely, recently, finally, kind of, sort of,
    quite, particularly, especially, truly, first, all, basically, additionally, now also
""")
LIKE = words("""
    prefer, like, love, enjoy, adore, hate, dislike, detest, loathe, despise, cannot stand,
    cannot bear, cannot abide, do not like, do not really like, do not particularly like,
    do not much like, do not enjoy, do not love, do not care for, do not dislike, do not mind,
    do not hate, no longer like, no longer enjoy, no longer love, would rather, would much rather,
    would sooner, tend to prefer, am … fan of, am not … fan of, am … lover of, am fond of,
    am not fond of, am … keen on, am not … keen on, am into, am not into, am really into,
    am crazy about, am obsessed with, am partial to, never say no to, would never say no to,
    would not say no to
""")
# After those: what is liked for a moment only.
LIKED_NOW = words("""
    not, it, that, this, these, those, them, him, her, you, your, how, what, where, the first,
    the second, the third, the last, the new, the idea, the way, the one, the other, the sound,
    the look, to think, to see, to know, to ask, to hear, to be able, through, by, in, at, when,
    if, being able, so, and, but
""")
DIET = words("""
    vegan, vegetarian, pescatarian, veggie, allerg*, intolerant, intolerance, coeliac, celiac,
    gluten-free, lactose, teetotal*, halal, kosher, sober, keto
""")
# "I do not eat", "I cannot drive": limits that others must keep to.
LIMIT = words("""
    eat, drink, have, smoke, touch, tolerate, digest, take, work, fly, do mornings, do *days,
    do evenings, meet, lift, climb, swim, drive, stand for, sit for, go out
""")
# Verbs that tell something lasting when they stand in the present.
LASTING = words("""
    live, work, moonlight, own, run, teach, study, speak, play, bake, cook, brew, grow, commute,
    cycle, drive, ride, walk, swim, travel, volunteer, code, program, write, draw, paint, sing,
    dance, knit, sew, collect, keep bees, keep chickens, keep hens, keep ducks, keep goats,
    keep rabbits, keep a, breed, coach, manage, lead, maintain, use, wear, train, practise,
    practice, meditate, garden, hike, climb, ski, surf, sail, row, fish, rent, share, smoke, drink,
    eat, sleep, belong to, earn, save, invest in, celebrate, pray, suffer from, struggle with,
    come from, identify as, specialise, specialize, freelance, spend, prefer, like, love, enjoy,
    hate, dislike, rely on, go by, look after, take care of, get around, wake up, get up, go to bed
""")
# Of those the ones that say enough alone.
ALONE = words("""
    smoke, drink, drive, cook, bake, cycle, commute, swim, sing, dance, paint, draw, knit, sew,
    volunteer, garden, meditate, hike, climb, ski, surf, sail, fish, freelance, code, program, run,
    travel, pray
""")
# The same verbs asking for something now: "I use this function", "I run into an error".
LASTING_NOW = words("""
    run into, run this, run the code, run the script, run the test(s), run the command,
    run the program, run the app, run the build, run the query, run the function, run it, use this,
    use that, use it, use the following, write to, write this, grow up, speak to, speak with,
    play around, save it, own it, use to, eat now, stay tuned, share this, share the, spend the,
    come from the, work on this, work on the, work on it, work on a, take this
""")
# After "I am": what stays.
TRAIT = words("""
    from, originally from, based, born, married, single, divorced, widowed, engaged, retired,
    self-employed, unemployed, freelance, freelancing, bilingual, fluent in, left-handed,
    right-handed, colour-blind, color-blind, colour blind, color blind, deaf, blind, dyslexic,
    autistic, pregnant, diabetic, asthmatic, afraid of, scared of, terrified of, in charge of,
    responsible for, short-sighted, near-sighted, religious, muslim, jewish, christian, hindu,
    buddhist, catholic, in my … twenties, in my … thirties, in my … forties, in my … fifties,
    in my … sixties, learning, studying, teaching, training for, raising, majoring in,
    volunteering, renovating, building a, building my, building our, running a, running my,
    doing a phd, doing a master*, doing my phd, doing my master*, doing my degree,
    doing my training, writing a book, writing a novel, writing my, working as, working at,
    working for, working in, working from, working part, working full, working remotely,
    working nights, living in, living with, living on, living near, saving for, saving up,
    on a diet, in a wheelchair, out of work, between jobs
""")
# After "I can".
SKILL = words("speak, play, drive, swim, ride, code, cook, sing, ski, sail, read")
# After "I have" or "I am a": what does not.
PASSING_NOUN = words("""
    file(s), folder(s), table(s), row(s), 404, 500, 403, image(s), picture(s), bit, little, lot,
    mess, fool, idiot, tad, few, couple, question(s), idea, best, worst, clue, problem(s),
    issue(s), doubt(s), bug, error(s), feeling, look, request, favour, favor, headache, cold,
    fever, hunch, point, chance, hard time, good time, great time, time, day, list, string, array,
    dataframe, class, variable, component, column, loop, suggestion, thought(s), moment, minute,
    second, task, hangover, choice, meeting, appointment, exam, interview, flight, deadline, call,
    fan, blast, way, mix, ton, lot in common, one, first, last, only, same, trouble
""")
ILLNESS = words("""
    dementia, asthma, diabetes, type 1, type 2, adhd, epilepsy, arthritis, anxiety, depression,
    migraines, hay fever, high blood pressure, hypertension, coeliac disease, celiac disease,
    insomnia, tinnitus, eczema, cancer, allergies, ibs, autism, bipolar
""")
# What happened and still holds.
EVENT = words("""
    moved, relocated, emigrated, immigrated, married, adopted, quit, resigned, retired, graduated,
    divorced, switched, became, become, enrolled, joined, founded, gave up, given up, was born,
    grew up, was diagnosed, been diagnosed, got married, got engaged, got divorced, got promoted,
    got laid off, got fired, got a … job, got a … dog, got a … cat, got a … puppy, got a … car,
    got a … bike, left my job, left the company, left school, left university, started a,
    started an, started my, started at, started as, started with, started working, started smoking,
    started drinking, started eating, started learning, started studying, started using,
    started running, started playing, started taking, began working, began learning, began studying,
    changed my name, changed my job, changed my number, changed my address, changed jobs,
    changed schools, stopped eating, stopped drinking, stopped smoking, stopped using,
    stopped taking, passed my, finished my degree, finished my phd, finished my studies,
    finished my training, opened a, opened my, opened our, sold my, sold our, broke up,
    bought a … house, bought a … flat, bought a … apartment, bought a … home, bought a … car,
    bought a … van, bought a … boat, bought a … bike, bought a … piano, bought a … place,
    had a … baby, had a … son, had a … daughter, had twins, flew to, travelled to, traveled to,
    turned 1*, turned 2*, turned 3*, turned 4*, turned 5*, turned 6*, turned 7*, turned 8*,
    turned 9*, turned two, turned three, turned four, turned five, turned six, turned seven,
    turned eight, turned nine, turned ten, turned eleven, turned twelve
""")
# What people plan without naming a day.
GOAL = words("""
    learn, run a, run my, become, move, visit, travel, lose weight, lose, gain, quit, stop, save,
    retire, finish my, write a book, write a novel, write my, read more, start a, start my,
    start learning, start running, buy a, buy my, buy our, get fit, get in shape, get married,
    get a dog, get a degree, get a new job, eat less, eat more, sleep more, exercise more,
    go back to, apply, pass my, climb, hike, cycle to, open a, build a
""")
# Plans that only this conversation needs: "I will try that tomorrow".
PASSING_PLAN = words("""
    try, check, look, let you, get back, send, ask, see, test, tell, do it, do that, need, want,
    think, hope, guess, wonder, have to send, be back, report, let us, am not sure
""")
# Signs of a habit.
HABIT = words("""
    every, each day, each week, each month, each year, each morning, each evening, each night,
    daily, weekly, monthly, usually, normally, typically, always, often, rarely, on mondays,
    on tuesdays, on wednesdays, on thursdays, on fridays, on saturdays, on sundays, on weekdays,
    on weekends, at weekends, most days, most mornings, most evenings, most weekends, once a,
    twice a, times a, in the mornings, in the evenings, all year
""")
# Verbs that no habit is told with, and pasts that end in no "ed".
NO_HABIT = words("""
    need, want, think, know, guess, hope, feel, believe, understand, mean, see, get, wonder,
    suppose, remember, forget, hear, say, ask, agree, wish, try, keep, have, click, follow, was,
    were, had, did, went, will, would, could, should, might, may, thank, apologise, apologize, am,
    are, cannot, do not, said, knew, thought, heard, saw, got, made, took, met, told, found, felt,
    left, gave, ate, drank, slept, ran, swam, wrote, drove, spoke, taught, bought, sold, grew,
    kept, led, wore, sang, spent, rode, came, sat
""")
# "Two kids", "no car".
COUNT = words("""
    a, an, no, two, three, four, five, six, seven, eight, nine, ten, eleven, twelve, several, many
""")
LANGUAGE = words("""
    english, norwegian, swedish, danish, finnish, icelandic, german, dutch, french, spanish,
    portuguese, italian, catalan, basque, greek, turkish, polish, czech, slovak, hungarian,
    romanian, bulgarian, ukrainian, russian, estonian, latvian, lithuanian, arabic, hebrew,
    persian, farsi, hindi, bengali, urdu, tamil, thai, vietnamese, indonesian, malay, korean,
    japanese, chinese, mandarin, cantonese, swahili, esperanto, welsh, irish
""")

# ── how a team speaks of its work ────────────────────────────────────────────────────────────────

WORK_VERB = words("""
    use(s), run(s) on, run(s) in, target(s), require(s), deploy(s), is written, are written,
    is built, are built, is based, is hosted, are hosted, is deployed, are deployed, is in, are in,
    is on, is called, is named, is licensed, is versioned, is managed, is pinned, has, have, must,
    should, never, always, only, follow(s), build(s), ship(s), depend(s), support(s), store(s),
    talk(s) to, rely on, relies on, live(s) in, do not, does not, cannot, is not allowed,
    are not allowed, merge(s), release(s), commit, squash, tag, lint, pin, test, review, keep,
    write
""")

# ── what is delicate ─────────────────────────────────────────────────────────────────────────────

HEALTH_AND_MONEY = words("""
    dementia, allerg*, intoleran*, coeliac, celiac, diabet*, asthma*, adhd, epilep*, arthritis,
    anxiety, depress*, migraine*, blood pressure, hypertension, cancer, hiv, autis*, bipolar,
    pregnan*, disab*, wheelchair, deaf, blind, dyslex*, diagnos*, medication(s), medicine(s),
    pill(s), insulin, blood thinner(s), antidepressant*, therapy, therapist, surgery, hospitalised,
    illness, disease, disorder, sick leave, sober, alcoholic, insomnia, eczema, tinnitus, salary,
    income, mortgage, debt(s), loan(s), bankrupt*, savings, net worth, bank account, iban,
    credit score, credit card, passport number, passport no, social security, tax id, tax number,
    national id, id card, driving licence number, driver's license number
""")
CONTACT = words("""
    email, e-mail, email address, phone, phone number, mobile, cell, address, postcode, zip code,
    reach me, reached
""")
