"""The sixteen topics of the planted stream: when each is active, and its words.

Every subject takes any verb, so that the slots of sentences can be filled freely and still read like news. ``who`` are
subjects, ``did`` transitive verbs whose past tense equals the participle, ``thing`` bare plurals or mass nouns,
``which`` adjectives, ``where`` phrases of place. Within a list the first entry is the most frequent. ``at``,
``begins``, ``ends`` and ``bursts`` count slices of a stream of 24 and are stretched to longer or shorter streams.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["PLANTED_TOPICS", "TOPICAL", "Phase", "PlantedTopic", "entries_of"]

TOPICAL = ("who", "did", "thing", "which", "where")
"""The kinds of slots whose words depend on the topic."""


@dataclass(frozen=True, slots=True)
class Phase:
    """The words of a topic around slice ``at``; between two phases the words cross-fade."""

    name: str
    at: float
    who: tuple[str, ...]
    did: tuple[str, ...]
    thing: tuple[str, ...]
    which: tuple[str, ...]
    where: tuple[str, ...]

    def entries(self, kind: str) -> tuple[str, ...]:
        """Return the list for one kind of slot, most frequent first."""
        entries: tuple[str, ...] = getattr(self, kind)
        return entries


@dataclass(frozen=True, slots=True)
class PlantedTopic:
    """One topic: its phases, its share of the stream and the slices in which it is active."""

    name: str
    phases: tuple[Phase, ...]
    share: float = 1.0
    begins: int = 0
    ends: int | None = None
    season: int | None = None
    bursts: tuple[int, ...] = ()
    merges_into: str | None = None
    splits_from: str | None = None


def entries_of(line: str) -> tuple[str, ...]:
    """Split a line at its commas; return the entries with single spaces."""
    return tuple(" ".join(entry.split()) for entry in line.split(","))


def _phase(name: str, at: float, *, who: str, did: str, thing: str, which: str, where: str) -> Phase:
    return Phase(name, at, entries_of(who), entries_of(did), entries_of(thing), entries_of(which), entries_of(where))


def _both(name: str, at: float, first: Phase, second: Phase) -> Phase:
    """Deal the entries of two phases alternately into one, so that neither leads."""

    def dealt(kind: str) -> tuple[str, ...]:
        a, b = first.entries(kind), second.entries(kind)
        pairs = [entry for pair in zip(a, b, strict=False) for entry in pair]
        rest = a[len(b) :] + b[len(a) :]
        return tuple(dict.fromkeys([*pairs, *rest]))

    return Phase(name, at, dealt("who"), dealt("did"), dealt("thing"), dealt("which"), dealt("where"))


_HARBOUR = _phase(
    "harbour strike",
    0,
    who="""dockers, the dockers' union, crane drivers, port managers, shipping lines, tugboat crews, harbour
        pilots, picketing stevedores, the port authority, ferry captains""",
    did="""blocked, unloaded, rejected, picketed, moored, demanded, delayed, anchored, suspended, handled,
        rerouted, stranded""",
    thing="""containers, cargo, wages, overtime, picket lines, freighters, shifts, cranes, tankers, pay talks,
        pensions, freight, ballots, dockside jobs, barges, lorries, piers, bananas, customs papers, walkouts,
        warehouses, anchors""",
    which="""idle, striking, unloaded, overdue, unpaid, dockside, rusty, seaborne, unionised, perishable,
        casual, tidal""",
    where="""at the harbour, along the quay, at the container terminal, beside the locks, in the docks, off the
        breakwater""",
)

_SOLAR = _phase(
    "solar power",
    11,
    who="""solar installers, roof owners, panel makers, electricians, village cooperatives, the solar
        association, silicon factories, cell researchers, tenants with balconies, school caretakers""",
    did="""installed, wired, mounted, subsidised, connected, shaded, cleaned, tilted, metered, charged,
        insulated, laminated""",
    thing="""solar panels, rooftops, sunlight, batteries, inverters, solar cells, silicon, tiles, subsidies,
        cables, meters, wafers, carports, sunshine, glass modules, feed-in tariffs, mirrors, heat pumps,
        boilers, kilowatts, warranties, roof frames""",
    which="""solar, sunny, rooftop, photovoltaic, cloudless, bright, thin-film, domestic, recycled,
        south-facing, dusty, midday""",
    where="""on the rooftops, in the desert park, above the car park, in sunny valleys, on the school roof, at
        the panel factory""",
)

_WIND = _phase(
    "wind farms",
    0,
    who="""turbine builders, wind engineers, blade makers, offshore crews, hill farmers, bird wardens, the wind
        developers, mast climbers, cable layers, gearbox fitters""",
    did="erected, anchored, hoisted, towed, bolted, surveyed, opposed, balanced, greased, rotated, spun, lifted",
    thing="""turbines, wind, blades, masts, gusts, gearboxes, rotors, foundations, seabirds, undersea cables,
        hilltops, megawatts, towers, generators, breezes, nacelles, barges, migrating geese, planning permits,
        noise limits, bolts, lubricants""",
    which="""windy, offshore, gusty, towering, breezy, rotating, three-bladed, hilltop, floating, noisy,
        coastal, aerial""",
    where="off the coast, on the ridge, at the wind farm, in the shallow sea, along the windy hills, on the moor",
)

_CLEAN = _both("clean power", 12, _SOLAR, _WIND)

_FOOTBALL = _phase(
    "football cup",
    0,
    who="""the strikers, the goalkeeper, home fans, the visiting team, the referee, the coach, young
        midfielders, tired defenders, the league leaders, the captain""",
    did="""scored, missed, defended, saved, cleared, substituted, booked, equalised, dribbled past, celebrated,
        tackled, headed""",
    thing="""goals, penalties, corners, free kicks, the final, points, crosses, the trophy, headers, tickets,
        extra time, defenders, red cards, the semi-final, injuries, shirts, transfers, scarves, away matches,
        tackles, whistles, the second half""",
    which="""late, unbeaten, offside, goalless, injured, left-footed, noisy, relegated, second-half, muddy,
        youthful, decisive""",
    where="""in the stadium, on the pitch, in the penalty area, before a sold-out stand, in the dressing room,
        on the touchline""",
)

_CAMPAIGN = _phase(
    "campaign",
    3,
    who="candidates, campaign managers, the opposition, party members, canvassers, young voters, the challenger",
    did="promised, debated, attacked, printed, launched, courted, criticised, rallied",
    thing="""posters, campaign promises, opinion polls, slogans, debates, speeches, tax cuts, leaflets, rallies,
        donations, manifestos, undecided voters, party funds, handshakes, interviews, billboards""",
    which="undecided, televised, populist, leafy, hopeful, glossy, grassroots, partisan",
    where="""on the campaign trail, in the market square, at the party conference, in marginal districts, in the
        television debate""",
)

_COUNT = _phase(
    "counting votes",
    11,
    who="""voters, polling clerks, election observers, returning officers, the winning party, the incumbent,
        exit pollsters""",
    did="counted, cast, sealed, recounted, disputed, certified, queued for, posted",
    thing="""ballots, votes, turnout, polling stations, ballot boxes, recounts, seats, majorities, postal votes,
        results, exit polls, constituencies, complaints, queues, observers, spoilt papers""",
    which="electoral, narrow, postal, spoilt, landslide, uncounted, record, disputed",
    where="""at the polling stations, in the town halls, at the counting centre, in the constituencies, on
        election night""",
)

_CABINET = _phase(
    "coalition",
    20,
    who="""coalition partners, cabinet ministers, the new prime minister, party whips, the speaker,
        backbenchers, smaller parties""",
    did="negotiated, appointed, formed, vetoed, resigned over, reshuffled, drafted, toppled",
    thing="""portfolios, coalition talks, ministries, amendments, a cabinet, compromises, confidence votes,
        bills, the treaty, committees, reforms, parliament seats, alliances, resignations, policy papers,
        majorities""",
    which="coalition, parliamentary, ministerial, three-party, fragile, legislative, constitutional, junior",
    where="in parliament, in the cabinet room, behind closed doors, in the upper chamber, at the chancellery",
)

_FEVER = _phase(
    "outbreak",
    4,
    who="doctors, nurses, infected travellers, virologists, hospital wards, ambulance crews, contact tracers",
    did="isolated, tested, quarantined, infected, traced, treated, ventilated, screened",
    thing="""fever, patients, infections, symptoms, masks, swabs, quarantine, coughs, hospital beds, oxygen,
        gloves, outbreaks, ventilators, samples, incubation periods, field hospitals""",
    which="infectious, feverish, contagious, viral, quarantined, airborne, feared, intensive-care",
    where="in the hospital, in intensive care, at the airport clinic, in nursing homes, on the isolation ward",
)

_VACCINE = _phase(
    "vaccination",
    19,
    who="""vaccine makers, pharmacists, trial volunteers, immunologists, health visitors, family doctors, drug
        regulators""",
    did="vaccinated, injected, approved, refrigerated, dispensed, boosted, trialled, licensed",
    thing="""vaccines, doses, immunity, antibodies, boosters, syringes, side effects, clinical trials, patients,
        vials, variants, needles, cold chains, certificates, placebos, allergies""",
    which="immune, vaccinated, booster, frozen, clinical, two-dose, elderly, sterile",
    where="at the vaccination centre, in the laboratory, at the pharmacy, in mobile clinics, in the cold store",
)

_LOANS = _phase(
    "bad loans",
    2,
    who="""mortgage lenders, borrowers, house buyers, loan officers, estate agents, savings banks, property
        developers""",
    did="borrowed, lent, mortgaged, repaid, foreclosed on, refinanced, overvalued, defaulted on",
    thing="""mortgages, loans, house prices, interest rates, arrears, deposits, repayments, building sites,
        debts, credit, landlords, foreclosures, instalments, suburban homes, valuations, collateral""",
    which="subprime, overdue, mortgaged, unsold, cheap, variable-rate, indebted, overpriced",
    where="in the housing market, at the branch counter, on new estates, in the loan books, at the auction house",
)

_RESCUE = _phase(
    "bank rescue",
    12,
    who="""the central bank, depositors, bank chiefs, treasury officials, panicked savers, shareholders, the
        creditors""",
    did="bailed out, guaranteed, emptied, rescued, nationalised, propped up, injected, wiped out",
    thing="""bailouts, deposits, bonds, losses, liquidity, bank runs, guarantees, shares, emergency loans,
        credit, cash machines, balance sheets, reserves, takeovers, insolvency, billions""",
    which="insolvent, toxic, emergency, nationalised, collapsing, panicky, overnight, frozen",
    where="""at the central bank, on the trading floor, outside the bank branches, in the vaults, at the crisis
        summit""",
)

_RULES = _phase(
    "bank rules",
    21,
    who="""regulators, auditors, compliance officers, supervisors, the banking commission, whistle-blowers, risk
        managers""",
    did="audited, fined, capped, supervised, licensed, disclosed, stress-tested, tightened",
    thing="""capital rules, bonuses, stress tests, audits, fines, disclosure, buffers, ratings, directives,
        loopholes, hedge funds, derivatives, ledgers, leverage limits, penalties, safeguards""",
    which="regulatory, prudent, risk-weighted, audited, transparent, supervisory, capped, offshore",
    where="""at the banking commission, in the audit offices, in the boardrooms, at the clearing house, in tax
        havens""",
)

_HARVEST = _phase(
    "grain harvest",
    0,
    who="""farmers, combine drivers, grain traders, millers, bakers, seed growers, the farm cooperative, barley
        brewers, agronomists, silo owners""",
    did="""harvested, threshed, sowed, stored, milled, irrigated, exported, dried, weighed, fertilised,
        ploughed, baled""",
    thing="""wheat, grain, barley, harvests, silos, combines, fields, maize, straw, flour, fertiliser, tractors,
        crops, rye, bread prices, seed, oats, yields, drought, export quotas, rapeseed, grain elevators""",
    which="ripe, golden, parched, bumper, dry, arable, fertile, organic, threshed, early-sown, mildewed, rural",
    where="""in the fields, on the plains, at the grain market, in the farm belt, at the mill, along the river
        meadows""",
)

_TELESCOPE = _phase(
    "space telescope",
    14,
    who="""astronomers, telescope engineers, mirror polishers, the observatory, infrared specialists, galaxy
        hunters, planetary scientists, doctoral students, spectrograph builders, sky surveyors""",
    did="""observed, photographed, focused, discovered, unfolded, calibrated, mapped, resolved, measured,
        catalogued, polished, magnified""",
    thing="""galaxies, stars, mirrors, exoplanets, infrared light, nebulae, telescopes, images, black holes,
        spectra, sunshields, star clusters, supernovae, lenses, dark matter, detectors, planets, wavelengths,
        starlight, dust clouds, observing time, gyroscopes""",
    which="""distant, infrared, faint, cosmic, gilded, stellar, galactic, spiral, primordial, deep-field, dim,
        astronomical""",
    where="""at the observatory, in deep space, beyond the Milky Way, in the early universe, in the clean room,
        in the night sky""",
)

_ROCKET = _phase(
    "moon rocket",
    14,
    who="""astronauts, rocket engineers, mission controllers, the space agency, test pilots, launch crews,
        booster makers, lunar geologists, capsule designers, recovery divers""",
    did="""launched, fuelled, landed, docked, ignited, tested, scrubbed, steered, retrieved, assembled,
        rehearsed, undocked""",
    thing="""rockets, boosters, the moon, capsules, launch pads, moon dust, lunar landers, countdowns, orbits,
        heat shields, parachutes, fuel leaks, spacesuits, thrusters, craters, moon rocks, valves, rovers,
        engines, docking ports, splashdowns, oxygen tanks""",
    which="""lunar, crewed, orbital, liquid-fuelled, reusable, weightless, cratered, supersonic, hydrogen,
        cryogenic, giant, jettisoned""",
    where="on the launch pad, in lunar orbit, at mission control, on the moon, at the space centre, over the ocean",
)

_SPACE = _both("one space programme", 13, _TELESCOPE, _ROCKET)

_COMET = _phase(
    "comet",
    6,
    who="""comet watchers, amateur stargazers, planetarium guides, night photographers, school astronomers, the
        comet hunters, binocular sellers, campers, shepherds, almanac writers""",
    did="""spotted, photographed, sighted, chased, sketched, glimpsed, named, plotted, admired, followed,
        predicted, filmed""",
    thing="""comets, tails, icy dust, binoculars, meteors, shooting stars, the comet, dark skies, tripods,
        orbits, twilight, the nucleus, starry nights, street lamps, ice, horizons, night walks, campfires,
        moonlight, star charts, blankets, long exposures""",
    which="""icy, glowing, celestial, moonless, green, once-in-a-lifetime, dusty, twilit, fuzzy, naked-eye,
        cloudless, fleeting""",
    where="above the horizon, in the northern sky, on the hilltops, after sunset, before dawn, at the planetarium",
)

_KEYPADS = _phase(
    "keypads",
    2,
    who="""phone makers, commuters, network operators, ringtone composers, handset dealers, text-message fans,
        mast builders""",
    did="dialled, texted, flipped open, unlocked, recharged, silenced, tapped, pocketed",
    thing="""handsets, text messages, keypads, ringtones, aerials, phone calls, pagers, prepaid cards, chargers,
        coverage, phone boxes, roaming fees, snake games, voicemail, phone numbers, telephone masts""",
    which="mobile, clip-on, pocket-sized, prepaid, folding, monochrome, crackling, shrill",
    where="on the train, in phone shops, at the kiosk, in remote valleys, on the switchboard",
)

_CAMERAS = _phase(
    "camera phones",
    11,
    who="phone makers, snapshot takers, lens designers, tourists, network operators, teenagers, picture editors",
    did="snapped, zoomed in on, shared, uploaded, cropped, filtered, recorded, recharged",
    thing="""camera phones, pixels, lenses, snapshots, selfies, handsets, photo albums, colour screens,
        megapixels, video clips, memory cards, flashlights, zooms, picture messages, self-portraits, tripods""",
    which="mobile, blurry, pixelated, wide-angle, front-facing, colourful, high-resolution, candid",
    where="at concerts, on the train, in photo booths, in holiday resorts, on the promenade",
)

_APPS = _phase(
    "apps",
    21,
    who="""app developers, phone makers, start-up founders, gamers, privacy campaigners, influencers, screen
        designers""",
    did="downloaded, swiped, streamed, updated, subscribed to, muted, encrypted, deleted",
    thing="""apps, touchscreens, notifications, passwords, streaming, chat groups, screen time, subscriptions,
        updates, location data, chatbots, podcasts, fingerprints, app stores, emojis, batteries""",
    which="mobile, addictive, touch-sensitive, encrypted, wireless, foldable, personalised, free-to-play",
    where="in the app store, on the touchscreen, in the cloud, on social media, at the developer conference",
)

_FLOODS = _phase(
    "floods",
    0,
    who="""rescue teams, flood victims, river wardens, firefighters, weather forecasters, army engineers,
        stranded villagers, dyke builders, insurers, volunteers with sandbags""",
    did="""evacuated, flooded, drained, pumped out, rescued, swamped, sandbagged, washed away, dammed, soaked,
        sheltered, breached""",
    thing="""floods, sandbags, rain, dykes, cellars, rivers, mud, landslides, bridges, dinghies, boats, storm
        drains, levees, pumps, downpours, emergency shelters, torrents, rescue helicopters, water levels,
        driftwood, roofs, blankets""",
    which="""flooded, muddy, torrential, swollen, waterlogged, low-lying, stormy, submerged, knee-deep, soaked,
        rain-fed, homeless""",
    where="along the river, on the flood plain, in low-lying streets, behind the dyke, in the delta, below the dam",
)

_FILM = _phase(
    "film festival",
    0,
    who="""directors, actors, film critics, screenwriters, the jury, festival visitors, camera operators,
        producers, costume designers, young actresses""",
    did="""directed, filmed, applauded, premiered, screened, reviewed, starred in, nominated, dubbed, awarded,
        booed, edited""",
    thing="""films, premieres, red carpets, scripts, documentaries, prizes, close-ups, comedies, soundtracks,
        scenes, subtitles, trailers, tickets, thrillers, cinemas, costumes, plots, short films, leading roles,
        film reels, love stories, box offices""",
    which="""cinematic, animated, black-and-white, award-winning, silent, romantic, low-budget, star-studded,
        critical, wide-screen, theatrical, dramatic""",
    where="""on the red carpet, in the cinemas, at the festival, on the film set, in the front row, on the big
        screen""",
)

_TRIAL = _phase(
    "museum theft",
    0,
    who="""prosecutors, the defendants, museum guards, the judge, defence lawyers, detectives, jurors, art
        dealers, curators, the burglars""",
    did="""looted, testified about, convicted, smuggled, forged, pleaded for, cross-examined, sentenced,
        recovered, concealed, acquitted, auctioned""",
    thing="""paintings, stolen jewels, evidence, testimony, alarms, verdicts, fingerprints, frames,
        masterpieces, witnesses, crowbars, safes, alibis, portraits, appeals, bail, forgeries, getaway cars,
        display cases, ransom notes, indictments, prison terms""",
    which="""stolen, guilty, priceless, forged, masked, alleged, circumstantial, missing, antique, gilded,
        locked, sworn""",
    where="in the courtroom, at the museum, in the dock, in the gallery, at the auction house, behind bars",
)

_TAXIS = _phase(
    "robot taxis",
    14,
    who="""robot taxis, software engineers, taxi drivers, passengers, traffic planners, car makers, the
        licensing board, cyclists, chauffeurs, sensor makers""",
    did="""steered, braked for, parked, programmed, licensed, outpaced, hailed, mapped, halted, insured,
        recalled, rerouted""",
    thing="""driverless cars, sensors, algorithms, taxis, crossings, traffic lights, lidar, test rides, steering
        wheels, fares, kerbs, parking bays, software, traffic jams, cameras, roadworks, safety drivers, bus
        lanes, collisions, electric motors, seat belts, roundabouts""",
    which="""driverless, autonomous, self-driving, electric, programmed, robotic, urban, congested, passenger,
        swerving, collision-free, hailed""",
    where="""at the junction, on the ring road, in the bus lane, on the test track, at the taxi rank, in
        rush-hour traffic""",
)

PLANTED_TOPICS: tuple[PlantedTopic, ...] = (
    PlantedTopic("harbour strike", (_HARBOUR,), share=1.1, ends=10),
    PlantedTopic("solar power", (_SOLAR, _CLEAN), share=0.9),
    PlantedTopic("wind farms", (_WIND,), share=0.9, ends=12, merges_into="solar power"),
    PlantedTopic("football cup", (_FOOTBALL,), share=1.3),
    PlantedTopic("election", (_CAMPAIGN, _COUNT, _CABINET), share=1.2),
    PlantedTopic("virus", (_FEVER, _VACCINE), share=1.5, begins=3),
    PlantedTopic("bank crisis", (_LOANS, _RESCUE, _RULES), share=1.1),
    PlantedTopic("grain harvest", (_HARVEST,), share=1.1, season=8),
    PlantedTopic("space", (_SPACE, _TELESCOPE), share=0.8),
    PlantedTopic("moon rocket", (_ROCKET,), share=0.8, begins=14, splits_from="space"),
    PlantedTopic("comet", (_COMET,), share=0.9, begins=6, ends=17),
    PlantedTopic("phones", (_KEYPADS, _CAMERAS, _APPS), share=1.1),
    PlantedTopic("floods", (_FLOODS,), share=0.7, bursts=(4, 13, 19)),
    PlantedTopic("film festival", (_FILM,), share=0.9, season=5),
    PlantedTopic("museum theft", (_TRIAL,), share=0.9, ends=19),
    PlantedTopic("robot taxis", (_TAXIS,), share=1.0, begins=15),
)
"""The sixteen topics; a topic's number is its place here."""
