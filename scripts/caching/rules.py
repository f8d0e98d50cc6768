"""What RFC 9111, 5861 and 9211 ask of a private cache, as a table of exchanges."""

import dataclasses

from caching.site import FRESH

TAG = 'ETag: "a"'
DATED = "Last-Modified: Mon, 03 Nov 2025 10:00:00 GMT"
# This answer is stale after STALE seconds: Date has only whole seconds, so some of its life may be over when it arrives.
SHORT, STALE = "Cache-Control: max-age=2", 3.2
SAME = {"If-None-Match": '"a"'}


@dataclasses.dataclass
class Step:
    """One request, and what its answer is, as a pattern: status, what Cache-Status says, and the number of the upstream's answer whose
    body it has. `200 stale/304+stored #1` is the first body, after the upstream has answered 304. `wait` are seconds before."""

    expected: str
    fields: dict = dataclasses.field(default_factory=dict)
    method: str = "GET"
    wait: float = 0


@dataclasses.dataclass
class Rule:
    """A target that is answered with `fields` and by `parameters` (see upstream.py), and requests for it. `saw` are fields that the last
    request which came upstream must have had. `asked` is None if the gateway may ask again by itself."""

    what: str
    fields: list
    steps: list
    asked: int | None
    parameters: dict = dataclasses.field(default_factory=dict)
    saw: dict = dataclasses.field(default_factory=dict)
    route: str = "plain"


STORED, HIT = Step("200 uri-miss+stored #1"), Step("200 hit #1")
NOT_STORED = [Step("200 uri-miss #1"), Step("200 uri-miss #2")]


def asking(expected, control, wait=0):
    return Step(expected, {"Cache-Control": control}, wait=wait)


RULES = [
    Rule("fresh by max-age", [FRESH], [STORED, HIT], 1),
    Rule("fresh by Expires", ["Expires: Fri, 01 Jan 2100 00:00:00 GMT"], [STORED, HIT], 1),
    Rule("max-age comes before Expires", [FRESH, "Expires: 0"], [STORED, HIT], 1),
    Rule("private is stored", ["Cache-Control: private, max-age=600"], [STORED, HIT], 1),
    Rule("s-maxage is for shared caches", ["Cache-Control: s-maxage=600, max-age=0"], NOT_STORED, 2),
    Rule("no-store", ["Cache-Control: no-store, max-age=600"], NOT_STORED, 2),
    Rule("an answer that says nothing", [], NOT_STORED, 2),
    Rule("an answer that says nothing, with default_ttl", [], [STORED, HIT], 1, route="lenient"),
    Rule("Vary: *", [FRESH, "Vary: *"], NOT_STORED, 2),
    Rule("a stream of events", [FRESH, "Content-Type: text/event-stream"], NOT_STORED, 2),
    Rule("longer than max_object", [FRESH], NOT_STORED, 2, {"size": 100_000}),
    Rule("longer than max_object, in chunks", [FRESH], [Step("200 uri-miss* #1"), Step("200 uri-miss* #2")], 2, {"size": 100_000, "chunked": 1}),
    Rule("in chunks", [FRESH], [Step("200 uri-miss* #1"), HIT], 1, {"chunked": 1}),
    Rule("cut by the upstream", [FRESH], [Step("0"), Step("200 uri-miss+stored #2"), Step("200 hit #2")], 2, {"cut": "half|"}),
    Rule("404", [FRESH], [Step("404 uri-miss+stored #1"), Step("404 hit #1")], 1, {"status": 404}),
    Rule("302 with max-age", [FRESH, "Location: /elsewhere"], [Step("302 uri-miss+stored #1"), Step("302 hit #1")], 1, {"status": 302}),
    Rule("302 with default_ttl alone", ["Location: /elsewhere"], [Step("302 uri-miss #1"), Step("302 uri-miss #2")], 2, {"status": 302}, route="lenient"),
    Rule("a part of the upstream is not stored", [FRESH],
         [Step("206 uri-miss", {"Range": "bytes=10-19"}), Step("200 uri-miss+stored #2"), Step("200 hit #2")], 2, {"ranges": 1}),
    Rule("the Age of the upstream counts", [FRESH, "Age: 599"], [STORED, Step("200 stale+stored #2", wait=2.2)], 2),
    Rule("revalidation by ETag", [SHORT, TAG], [STORED, Step("200 stale/304* #1", wait=STALE), HIT], 2, saw={"if-none-match": '"a"'}),
    Rule("revalidation by a weak ETag", [SHORT, 'ETag: W/"a"'], [STORED, Step("200 stale/304* #1", wait=STALE), HIT], 2, saw={"if-none-match": 'W/"a"'}),
    Rule("revalidation by Last-Modified", [SHORT, DATED], [STORED, Step("200 stale/304* #1", wait=STALE), HIT], 2,
         saw={"if-modified-since": "Mon, 03 Nov 2025 10:00:00 GMT"}),
    Rule("revalidation of what has changed", [SHORT, 'ETag: "a"|ETag: "b"'], [STORED, Step("200 stale+stored #2", wait=STALE), Step("200 hit #2")], 2,
         saw={"if-none-match": '"a"'}),
    Rule("nothing to revalidate by", [SHORT], [STORED, Step("200 stale+stored #2", wait=STALE)], 2),
    Rule("no-cache of the upstream", ["Cache-Control: no-cache", TAG], [STORED, Step("200 */304* #1"), Step("200 */304* #1")], 3, saw={"if-none-match": '"a"'}),
    Rule("no-cache of the caller", [FRESH, TAG], [STORED, asking("200 request/304* #1", "no-cache"), HIT], 2, saw={"if-none-match": '"a"'}),
    Rule("Pragma: no-cache of the caller", [FRESH, TAG], [STORED, Step("200 request/304* #1", {"Pragma": "no-cache"}), HIT], 2),
    Rule("max-age=0 of the caller", [FRESH, TAG], [STORED, asking("200 request/304* #1", "max-age=0"), HIT], 2),
    Rule("min-fresh of the caller", [FRESH], [STORED, asking("200 hit #1", "min-fresh=100"), asking("200 request+stored #2", "min-fresh=1000")], 2),
    Rule("max-stale of the caller", [SHORT], [STORED, asking("200 hit #1", "max-stale=60", STALE)], 1),
    Rule("max-stale and must-revalidate", ["Cache-Control: max-age=2, must-revalidate"], [STORED, asking("200 stale+stored #2", "max-stale", STALE)], 2),
    Rule("no-store of the caller", [FRESH], [asking("200 request #1", "no-store"), Step("200 uri-miss+stored #2"), Step("200 hit #2")], 2),
    Rule("only-if-cached, and it is not", [FRESH], [asking("504*", "only-if-cached")], 0),
    Rule("only-if-cached, and it is", [FRESH], [STORED, asking("200 hit #1", "only-if-cached")], 1),
    Rule("the caller has it, by ETag", [FRESH, TAG],
         [STORED, Step("304 hit", SAME), Step("304 hit", {"If-None-Match": '"z", W/"a"'}), Step("304 hit", {"If-None-Match": "*"}),
          Step("200 hit #1", {"If-None-Match": '"z"'})], 1),
    Rule("the caller has it, by date", [FRESH, DATED],
         [STORED, Step("304 hit", {"If-Modified-Since": "Mon, 03 Nov 2025 10:00:00 GMT"}),
          Step("200 hit #1", {"If-Modified-Since": "Mon, 03 Nov 2025 09:59:59 GMT"})], 1),
    Rule("the caller has it, and the cache has not", [FRESH, TAG], [Step("304 uri-miss", SAME), Step("200 uri-miss+stored #2")], 2),
    Rule("If-Match is for the upstream", [FRESH, TAG], [STORED, Step("200 bypass* #2", {"If-Match": '"a"'})], 2),
    Rule("HEAD from what GET has brought", [FRESH], [STORED, Step("200 hit", method="HEAD")], 1),
    Rule("HEAD brings nothing for GET", [FRESH], [Step("200 uri-miss", method="HEAD"), Step("200 uri-miss+stored #2")], 2),
    Rule("POST is not stored", [FRESH], [Step("200 method #1", method="POST"), Step("200 uri-miss+stored #2")], 2),
    Rule("POST invalidates", [FRESH], [STORED, HIT, Step("200 method #2", method="POST"), Step("200 uri-miss+stored #3")], 3),
    Rule("DELETE invalidates", [FRESH], [STORED, HIT, Step("200 method #2", method="DELETE"), Step("200 uri-miss+stored #3")], 3),
    Rule("a POST that fails does not", [FRESH], [STORED, Step("500 method #2", method="POST"), HIT], 2, {"status": "200|500"}),
    Rule("Vary", [FRESH, "Vary: Accept-Language"],
         [Step("200 uri-miss+stored #1", {"Accept-Language": "en"}), Step("200 vary-miss+stored #2", {"Accept-Language": "de"}),
          Step("200 hit #1", {"Accept-Language": "en"}), Step("200 hit #2", {"Accept-Language": "de"}), Step("200 vary-miss+stored #3")], 3),
    Rule("Vary on the injected field", [FRESH, "Vary: Authorization"], [STORED, HIT], 1),
    Rule("stale-while-revalidate", ["Cache-Control: max-age=2, stale-while-revalidate=60"],
         [STORED, Step("200 hit #1", wait=STALE), Step("200 hit #2", wait=1)], 2),
    Rule("stale-while-revalidate and must-revalidate", ["Cache-Control: max-age=2, stale-while-revalidate=60, must-revalidate"],
         [STORED, Step("200 stale+stored #2", wait=STALE)], 2),
    Rule("stale-if-error, and 503", ["Cache-Control: max-age=2, stale-if-error=60"], [STORED, Step("200 stale/503 #1", wait=STALE)], 2, {"status": "200|503"}),
    Rule("stale_if_error of the route, and 503", [SHORT], [STORED, Step("200 stale/503 #1", wait=STALE)], 2, {"status": "200|503"}, route="lenient"),
    Rule("503 and no stale-if-error", [SHORT], [STORED, Step("503 stale* #2", wait=STALE)], 2, {"status": "200|503"}),
    Rule("stale-if-error and must-revalidate", ["Cache-Control: max-age=2, stale-if-error=60, must-revalidate"],
         [STORED, Step("503 stale* #2", wait=STALE)], 2, {"status": "200|503"}),
    Rule("stale-if-error, and no answer", ["Cache-Control: max-age=2, stale-if-error=60"], [STORED, Step("200 stale #1", wait=STALE)], None, {"cut": "|before"}),
]
