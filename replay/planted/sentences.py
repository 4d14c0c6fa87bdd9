"""Templates of the sentences of the planted stream, and the words that all of its topics share.

Every sentence is in the past tense. A slot in braces is filled with a word of the topic (see ``topics``) or with a
shared word; a slot with a capital is filled with a capitalised word.
"""

from __future__ import annotations

from vmfstream.replay.planted.topics import entries_of

__all__ = ["ASIDES", "BODIES", "CLOSERS", "COMMON", "HEADLINES", "LEADS"]

COMMON: dict[str, tuple[str, ...]] = {
    kind: entries_of(line)
    for kind, line in {
        "people": """officials, experts, residents, local leaders, union members, neighbours, ministers, business
            owners, critics, researchers, families, visitors, the organisers, campaigners, teachers,
            shopkeepers, older people, parents, advisers, eyewitnesses, the authorities, council members,
            supporters, workers, students, local historians, commentators, passers-by, analysts, reporters""",
        "said": """said, warned, argued, explained, admitted, predicted, insisted, told reporters, announced,
            suggested, noted, added, claimed, agreed, confirmed, complained""",
        "hailed": """surprised, worried, pleased, divided, puzzled, encouraged, annoyed, impressed, alarmed,
            delighted, moved, angered""",
        "welcomed": """welcomed, questioned, discussed, defended, followed, regretted, praised, noticed, studied,
            remembered""",
        "matter": """matter, spread, return, disappear, change, grow, help, decide the outcome, cause trouble,
            make a difference, become normal, cost more, draw attention, fall short""",
        "weekday": "Monday, Tuesday, Wednesday, Thursday, Friday, Saturday, Sunday",
        "span": "days, weeks, months, years, a week, a month, half a year, hours, a long night, a quiet winter",
        "talk": """talks, waiting, rumours, preparation, argument, silence, planning, hard work, delay,
            uncertainty, debate, complaints, patience, criticism""",
        "season": """the end of the month, next week, the weekend, next year, the holidays, the start of the
            season, early spring, late autumn, the summer break, Christmas, midwinter, the end of the year""",
        "again": """this year, this month, this season, in a decade, in living memory, since January, in two
            years, this spring""",
        "ordinal": "first, second, third, fourth, fifth",
        "mood": "good, difficult, quiet, long, strange, busy, historic, sad, happy, remarkable, mild, nervous",
        "town": """Marlow, Port Ellery, Ashford, Brackwater, Lindenau, Saint Clare, Oldbridge, Kirkholm, Verona
            Hill, Tamsin, Westering, Halden, Coldharbour Lane, Mirefield, New Aldous, Quarrytown, Easterby,
            Fairhaven, Rosenthal, Dunmore, Hollin, Silverton, Castlebay, Northwold""",
        "name": """Anna Merriman, Tomas Veld, Ines Castellan, Joseph Okoro, Maria Lindqvist, Samir Haddad, Clara
            Whitlock, Peter Novak, Yuki Tanabe, Grace Mbeki, Oliver Stanhope, Leila Farouk, Henrik Dahl, Rosa
            Delgado, Daniel Osei, Judith Kramer, Viktor Sandor, Emily Hargreaves, Paulo Teixeira, Nadia Rahman,
            Arthur Pell, Mei Huang, Jonas Brandt, Fatima Zahra, Walter Quill, Eva Horvat, George Akande, Sofia
            Marchetti, Robert Finch, Amina Diallo, Lukas Weber, Helen Strand, Ivan Petrov, Beatriz Lobo, Kofi
            Mensah, Alice Thornbury""",
        "role": """a spokeswoman, a retired teacher, an adviser to the government, the deputy mayor, a professor,
            a long-time observer, a consultant, a local historian, head of a small company, a former minister, a
            mother of three, the chairman of the council, an author, a lawyer, a student, an economist""",
        "body": """city council, government, ministry, national institute, chamber of commerce, university,
            statistics office, consumer council, regional assembly, standards agency, audit court, foundation,
            planning office, advisory board""",
        "paper": "report, study, survey, letter, review, statement, paper, memo, forecast, briefing",
        "plan": """plan, proposal, project, agreement, programme, decision, budget, scheme, idea, contract,
            timetable, list, strategy, deal, measure, compromise""",
        "question": "question, problem, challenge, task, worry, puzzle, test, hope",
        "opinion": """sensible, expensive, overdue, brave, unrealistic, modest, welcome, unfair, clever,
            premature, generous, disappointing, practical, risky""",
        "patience": """patience, more time, public support, clear answers, an apology, careful reading, a second
            opinion, better information, calm, fairness, money, common sense""",
        "decide": "discuss, approve, review, finish, amend, sign, postpone, reconsider, publish, explain, finance",
        "number": """three, five, seven, eight, ten, twelve, fifteen, eighteen, twenty, thirty, forty, fifty,
            sixty, eighty, ninety, a hundred, two hundred, three hundred""",
        "details": "details, figures, meetings, interviews, documents, answers, photographs, hearings, visits, numbers",
        "time": "noon, midnight, the evening, the afternoon, daybreak, nine o'clock, lunchtime, the early morning",
        "adverb": "soon, early, often, quickly, suddenly, late, slowly, rarely, loudly, openly, visibly, widely",
    }.items()
}
"""Words that all topics share; every entry of a list is equally likely."""

HEADLINES: tuple[str, ...] = (
    "{Who} {did} {thing}",
    "{Who} {did} {which} {thing}",
    "{Which} {thing} {where}",
    "{Who} {did} {thing} {where}",
    "{Town} talks about {which} {thing}",
    "New doubts over {thing} {where}",
    "{Thing} and {thing} divide {town}",
    "Why {who} {did} {thing}",
    "{People} ask about {which} {thing}",
    "{Which} {thing}, and what comes next",
    "{Who} and {who} at odds over {thing}",
    "{Town} waits for {thing}",
)

ASIDES: tuple[str, ...] = (
    "Elsewhere, {who} {did} {which} {thing} {where}.",
    "The news came as {who} {did} {thing} and {thing} {where}.",
    "On the same {weekday} {who} {did} {which} {thing} {where}.",
    "{People} who had expected news of {thing} and {which} {thing} {where} were left waiting.",
)
"""Sentences about another active topic, so that documents are not pure."""

LEADS: tuple[str, ...] = (
    "{Who} {did} {thing} {where} on {weekday}, {people} {said}.",
    "After {span} of {talk}, {who} {did} {which} {thing} and {did} {thing} {where}.",
    "{Who} from {town} {did} {which} {thing} on {weekday}, for the {ordinal} time {again}.",
    "{Which} {thing} {where} {hailed} {people} on {weekday}.",
    "{People} {welcomed} {which} {thing} {where} after {who} {did} {thing}.",
    "It was a {mood} {weekday} for {who}, who {did} {thing} {where}.",
    "On {weekday} {who} {did} {thing}, and {people} in {town} {welcomed} {which} {thing}.",
    "{Thing} and {thing} {hailed} {people} {where}, where {who} {did} {thing} until {time}.",
)

BODIES: tuple[str, ...] = (
    '"We have rarely seen such {which} {thing}," said {name}, {role} from {town}.',
    "{People} {said} that {thing} and {thing} could {matter} before {season}.",
    "{Who} {did} {thing}, while {who} {did} {thing} {where}.",
    "A {paper} by the {body} put the cost of {which} {thing} at {number} million.",
    "{Name} said {who} had {did} {thing} too {adverb}.",
    "The {plan} covers {thing}, {thing} and {which} {thing}.",
    "In {town}, {who} {did} {thing} and asked for {which} {thing}.",
    "Nobody expected {which} {thing} {where} to {matter} so {adverb}.",
    "For {people}, the {question} is whether {who} and {who} can agree on {thing}.",
    "{People} {said} the {plan} would bring {which} {thing} {where} by {season}.",
    "Much depends on {thing}, {people} {said}, and on {which} {thing}.",
    "By {time}, {who} had {did} {which} {thing} {where}.",
    '"Without {thing} there will be no {plan}," {name} {said}, "and {who} know it."',
    "Last year {who} had {did} {thing} {where} for only {number} million.",
)

CLOSERS: tuple[str, ...] = (
    "The {body} meets again on {weekday} to {decide} the {plan}.",
    "{Name}, {role}, called the {plan} {opinion} and asked for {patience}.",
    "A {paper} from the {body} is expected by {season}.",
    "The {plan} will cost about {number} million and needs the support of {people}.",
    "More {details} are promised for {season}.",
    "{People} in {town} called the {plan} {opinion}.",
    "What is needed now is {patience}, {name} {said}.",
    "The {body} has until {season} to {decide} the {plan}; {people} expect a {mood} debate.",
)
