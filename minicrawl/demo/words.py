"""Words of the demo web: names of hosts, topics and sentences.

Law: no word has a character that HTML or a URL must escape, so pages are assembled without
escaping; every noun forms its plural with `s`.
"""

from math import prod
from random import Random
from typing import Final, NamedTuple


class Topic(NamedTuple):
    """Topic of a community of hosts. `hosts` are names without the domain."""

    name: str
    hosts: tuple[str, ...]
    sections: tuple[str, ...]
    nouns: tuple[str, ...]
    remarks: tuple[str, ...]


def _these(words: str) -> tuple[str, ...]:
    return tuple(words.split(", "))


_TOPICS: Final = """
sea
www.harbour-museum, news.northshore, wiki.tidepool, www.lighthouse-keepers,
  blog.saltmarsh-diary, forum.small-boats
Boats, Harbours, Lights, Tides, Ropes, People
skiff, lantern, breakwater, anchor, slipway, tide table, foghorn, ferryboat, sail locker, buoy,
  rope walk, pilot boat, crab pot, chart, pier, mast
At low water the old moorings show, black and furred with weed.
A lamp that is trimmed every evening asks for no other kindness.
The ferry is late whenever the wind is in the east, and nobody minds.
Tar, hemp and patience are what the shed has always smelled of.

gardens
wiki.kitchen-garden, www.rose-society, news.allotment-gazette, blog.muddy-boots,
  www.seed-exchange, forum.compost-corner
Vegetables, Roses, Soil, Tools, Seasons, Pests
hedge, cold frame, orchard, seed tray, wheelbarrow, arbour, bean row, rain barrel, beehive,
  greenhouse, spade, quince, marrow, border, pond, compost heap
Sow thinly, water in the evening, and expect the slugs.
The best soil on the slope lies where the hens used to be.
A rose that sulks for two years may still flower in the third.
Nothing teaches the weather like a row of early peas.

railways
news.branch-line, www.narrow-gauge, wiki.signal-box, blog.slow-train, www.engine-shed,
  forum.timetable-club
Engines, Stations, Signals, Lines, Timetables, Models
signal, tank engine, viaduct, turntable, goods van, platform, tunnel, footbridge, water tower,
  timetable, carriage, siding, lamp room, boiler, level crossing, ticket hall
The last train of the day has carried more cheese than passengers.
Every lever in the box has its own colour and its own temper.
Steam is raised at five, long before the first visitor arrives.
Where the line ends, a buffer stop stands among the foxgloves.

stars
www.hilltop-observatory, wiki.night-sky, blog.backyard-telescope, news.meteor-watch,
  www.planetarium-trust, forum.dark-skies
Planets, Comets, Telescopes, Charts, Meteors, Nights
telescope, comet, star chart, dome, mirror, eyepiece, sundial, planet, meteor, crater, nebula
  map, tripod, moonrise, cluster, astrolabe, finder
Give the eyes twenty minutes in the dark before judging the sky.
The dome turns by hand, and complains at the same place each night.
Clouds came at nine, as they do whenever the public is invited.
A cheap mirror, well looked after, shows more than a dear one in its box.

bread
www.village-bakery, wiki.sourdough, news.millers-journal, blog.flour-on-the-floor,
  www.oven-works, forum.rye-and-barley
Loaves, Flour, Ovens, Mills, Recipes, Markets
loaf, millstone, starter jar, oven door, rye field, proving basket, bun, flour sack, cake tin,
  windmill, rolling pin, market stall, crust, scone, brick oven, dough trough
A starter that is fed on time forgives nearly everything else.
The crust should sing a little when it leaves the oven.
Good flour smells of the field, not of the sack.
On Fridays the queue reaches the fountain before it is light.

birds
wiki.field-guide, www.wetland-reserve, news.migration-desk, blog.morning-chorus,
  www.nestbox-trust, forum.binoculars
Waders, Songbirds, Owls, Hides, Counts, Migration
heron, curlew, nest, reed bed, barn owl, hide, wren, feather, swift, dawn count, lapwing,
  kestrel, field notebook, flock, rook, warbler
The hide is warm, dry, and pointed the wrong way until noon.
One curlew makes more evening than any clock.
Count twice, write once, and never round up a flock.
Swifts are back on the church, a day earlier than last year.

music
www.fiddle-makers, wiki.folk-tunes, blog.second-violin, news.bandstand, www.organ-archive,
  forum.ceilidh
Tunes, Fiddles, Organs, Bands, Scores, Concerts
fiddle, reel, organ pipe, songbook, bow, concertina, hornpipe, choir loft, drum, polka,
  bandstand, tuning fork, cello, manuscript, whistle, dance
Play it slowly until it is dull, then slowly again.
The second part is older than the first, and better.
No two organists agree about the swell box, nor should they.
A dance without a pause for tea has not been planned at all.

maps
wiki.footpaths, www.old-maps, news.survey-office, blog.lost-villages, www.county-archive,
  forum.compass-rose
Maps, Paths, Villages, Surveys, Boundaries, Archives
footpath, boundary stone, survey, milestone, ford, parish map, theodolite, plumb line,
  bridleway, stile, globe, hill fort, drove road, gazetteer, field name, packhorse bridge
The path on the sheet and the path on the ground met once, in 1911.
A hedge that bends for no reason is worth an afternoon in the archive.
Names of fields outlive the fields, and often the farms.
Surveyors drew what they saw, and on wet days what they remembered.
"""
"""Name, hosts, sections and nouns of each topic, and its remarks; indented lines go on."""


def _topic(text: str) -> Topic:
    name, hosts, sections, nouns, *remarks = text.strip().replace("\n  ", " ").split("\n")
    return Topic(name, _these(hosts), _these(sections), _these(nouns), tuple(remarks))


TOPICS: Final = tuple(map(_topic, _TOPICS.split("\n\n")))

PLACES: Final = _these(
    "Northshore, Ashford, Brackwater, Coldharbour, Dunmere, Eastwick, Fernhill, Greywater, "
    "Hollin, Inchmoor, Kettleby, Larkrise, Marshgate, Netherby, Oldcastle, Penrose, Quarrybank, "
    "Ravenscar, Saltby, Thornley, Underhill, Whitfield, Yarrow, Westering"
)
_ADJECTIVES: Final = _these(
    "old, little, forgotten, painted, crooked, patient, borrowed, last, winter, quiet, stubborn, "
    "famous"
)
_PEOPLE: Final = _these(
    "Ada Quill, Tom Harrow, Miriam Voss, Old Peter, Nell Fairweather, Josef Lind, the two sisters "
    "Amory, a retired postman, Ines Calder, the schoolmaster"
)
_SEASONS: Final = _these("spring, summer, autumn, winter")

_TITLES: Final = (
    "The {adjective} {noun} of {place}",
    "How {place} kept its {noun}",
    "Notes on the {noun} at {place}",
    "Who looks after the {adjective} {noun}",
    "{place} and its {noun}s",
    "One {season} with the {noun}s of {place}",
    "Mending the {adjective} {noun}",
    "What we know about the {noun} at {place}",
    "The {noun} that went to {place}",
)
_SENTENCES: Final = (
    "The {adjective} {noun} at {place} was mended in the {season}, and {person} wrote it down.",
    "Nobody in {place} remembers when the {noun} was new.",
    "Visitors ask for the {noun} first and for the {other} only on the way out.",
    "{person} paid for the {adjective} {noun} with money meant for a {other}.",
    "There are {number} {noun}s in the register, of which {place} claims the oldest.",
    "Between the {noun} and the {other} lies about an hour's walk, less in dry weather.",
    "In {year} the {noun} was moved to {place}, where it still stands.",
    "We have compared {number} descriptions of the {noun}, and no two agree on its size.",
    "A photograph of {year} shows the {adjective} {noun} beside what may be a {other}.",
    "The {noun} was thought lost until {person} found it behind a {other}.",
    "It takes {number} days to restore a {noun}, and one careless {season} to lose it.",
    "Anyone who owns a {adjective} {noun} is asked to write to the secretary in {place}.",
    "The {other} came later; before that, the {noun} had to do for everything.",
    "For {number} years {person} has opened the {noun} to the public, rain or shine.",
    "What the catalogue calls a {other} is in truth a {noun}, only smaller.",
    "This {season} the {noun} drew more people to {place} than the fair did.",
    "The committee met in {place} and decided, after {number} votes, to keep the {noun}.",
    "Of the {adjective} {noun} only a drawing survives, signed by {person}.",
)

_VARIETY: Final = prod(map(len, (_TITLES, TOPICS[0].nouns, PLACES, _ADJECTIVES, _SEASONS)))
_STRIDE: Final = 2_654_435_761  # a large prime, so that neighbours have little in common


def title(topic: Topic, number: int) -> str:
    """Return the title of an article; neighbours have unlike titles."""
    quotient, pattern = divmod(number * _STRIDE % _VARIETY, len(_TITLES))
    quotient, noun = divmod(quotient, len(topic.nouns))
    quotient, place = divmod(quotient, len(PLACES))
    season, adjective = divmod(quotient, len(_ADJECTIVES))
    words = _TITLES[pattern].format(
        noun=topic.nouns[noun],
        place=PLACES[place],
        adjective=_ADJECTIVES[adjective],
        season=_SEASONS[season],
    )
    return words[0].upper() + words[1:]


def sentences(topic: Topic, count: int, rng: Random) -> tuple[str, ...]:
    """Return `count` different sentences about a topic; its remarks come first."""
    said = dict.fromkeys(topic.remarks)
    while len(said) < count:
        noun, other = rng.sample(topic.nouns, 2)
        sentence = rng.choice(_SENTENCES).format(
            noun=noun,
            other=other,
            place=rng.choice(PLACES),
            adjective=rng.choice(_ADJECTIVES),
            person=rng.choice(_PEOPLE),
            season=rng.choice(_SEASONS),
            number=rng.randrange(3, 60),
            year=rng.randrange(1840, 1990),
        )
        said[sentence[0].upper() + sentence[1:]] = None
    return tuple(said)
