"""Words of an invented newspaper, and how their weights rise and fall."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# words in the order of their time; those after the bar stay for the whole life
_STORIES = """
mainframe terminal floppy modem dial-up browser homepage portal dotcom napster broadband laptop blog |
  computer software internet ;
strike dockers pickets crane container dredging quay feeder terminal2 logistics robot shore-power wind-farm |
  harbour ships port ;
recession closures layoffs retraining upswing vacancies temps shortage hiring bubble downturn benefits | jobs
  unemployment workers ;
caucus mayor coalition referendum scandal recount runoff landslide debate billboard ballot turnout campaign |
  election vote party ;
smallpox clinic vaccine measles outbreak flu waiting-list nurses surgery sars quarantine masks hygiene |
  hospital patients doctors ;
chalk textbooks truancy uniforms league-tables lottery charter academies exams tutoring calculators lunches |
  school teachers pupils ;
terraces hooligans stadium kick-off relegation striker transfer penalty derby cup final trophy parade |
  football league club ;
wall checkpoint reunification embassy refugees convoy ceasefire blockade airstrike peacekeepers tribunal
  accord | war army border ;
drought reservoir hosepipe flood dyke sandbags insurance sirens evacuation cleanup dam embankment gauge |
  river water rain ;
heroin needles raids syndicate wiretap informer cartel trial jury appeal sentence parole prison | police court
  crime ;
stamp gilder mint devaluation interest-rate changeover euro coins rounding prices vending inflation mortgage |
  money bank prices ;
tram signal bus-lane roadworks ring-road toll congestion bicycle pedestrian zone parking scooter ferry |
  traffic road transport ;
herring quota trawler nets collapse seals salmon farm lice moratorium licences mussels restoration | fish
  fishing catch ;
opera ballet gallery premiere sponsor biennale curator installation video auction forgery restoration museum |
  theatre art audience ;
landfill recycling bottles incinerator dioxin composting methane emissions carbon offset turbines solar
  climate | waste energy environment ;
brewery barley malt pub closing-time smoking-ban craft cider tasting label export festival hops | beer
  restaurant kitchen ;
vinyl cassette guitar grunge rave dj festival download ringtone charts reunion tour tribute | music band
  concert ;
squatters tenants rent eviction renovation loft conversion bubble foreclosure cranes skyline towers penthouse
  | housing building flats ;
satellite shuttle orbit probe mars rover telescope comet launch module cosmonaut tourist eclipse | space moon
  science ;
mad-cow beef ban slaughter cull foot-and-mouth disinfectant compensation organic labels market box cheese |
  farm farmers cattle ;
millennium bug fireworks countdown hangover dome ferris-wheel queue tickets debts auctioned demolition arena |
  celebration city night ;
hijack towers anthrax rubble alert screening scanner liquids threat profiling camera watchlist passports |
  security airport terror ;
asylum camp deportation visa amnesty language course citizenship ceremony headscarf quota integration mosque |
  immigrants refugees passport ;
merger takeover shareholders bonus audit shredding bankruptcy indictment whistleblower settlement bailout
  pension | company shares profit ;
archive bones shipwreck divers amphora excavation carbon-dating hoard medieval wharf timber exhibition replica
  | archaeology museum history ;
genome sheep clone stem-cells embryo patent gene therapy ethics sequencing ancestry database privacy |
  research scientists cells ;
typhoon earthquake rescue tents aid donations reconstruction tsunami warning buoys orphans memorial
  anniversary | disaster victims relief ;
chess deep-blue grandmaster tournament simultaneous clock rating prodigy league school-club cheating online
  blitz | players game champion ;
bishop synod ordination schism pilgrimage cathedral scaffolding organ spire bells choir donation canon |
  church faith priest ;
heat-wave snow blizzard gale ice skating frozen thaw pollen thunder hail record forecast | weather storm
  temperature ;
"""

TITLES = (
    "{a} and {b}: what the {c} year brought",
    "Why {a} is on everybody's mind",
    "{a} meets {b}",
    "A {c} look at {a}",
    "{b} after {a}",
)


def stories() -> list[list[str]]:
    """Return the words of each topic, those that stay last."""
    return [story.replace("|", " ").split() for story in _STORIES.split(";") if story.strip()]


def track(
    story: list[str], slices: int, stored: int, rng: np.random.Generator
) -> tuple[list[str], NDArray[np.float64]]:
    """Return words and their weights over time: a procession, three stayers, and a tail of rare companions."""
    passing, staying = story[:-3], story[-3:]
    tail = [f"{w}{suffix}" for w in passing for suffix in ("s", "ing", "er")][: max(0, stored + 6 - len(story))]
    time = np.arange(slices)
    columns = []
    for k, _ in enumerate(passing):
        centre = (k + 0.5) / len(passing) * slices + rng.normal(0, 0.8)
        width = slices / len(passing) * rng.uniform(1.0, 2.6) + 0.3
        columns.append(rng.uniform(0.25, 0.6) * np.exp(-0.5 * ((time - centre) / width) ** 2))
    columns += [
        rng.uniform(0.18, 0.42) * (1 + 0.3 * np.sin(time / slices * rng.uniform(1, 6) + rng.uniform(0, 6)))
        for _ in staying
    ]
    columns += [
        rng.uniform(0.01, 0.06) * (1 + 0.4 * np.sin(time / max(slices, 1) * 5 + rng.uniform(0, 6))) for _ in tail
    ]
    return [*passing, *staying, *tail], np.column_stack(columns)


def lagged(weight: NDArray[np.float64], noise: float, rng: np.random.Generator) -> NDArray[np.float64]:
    out = np.empty_like(weight)
    state = weight[0]
    for s in range(weight.shape[0]):
        state = 0.45 * state + 0.55 * weight[s]
        out[s] = state * np.exp(noise * rng.normal(size=state.shape))
    return out
