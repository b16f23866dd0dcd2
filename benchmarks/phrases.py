"""The words and templates that generated histories are made of. All invented; `%(name)s` is filled by `histories`."""


def list_of(text: str, by: str | None = None) -> list[str]:
    """The pieces of a text: its words, or what stands between two `by`."""
    return text.split(by)


AREAS = list_of("""
billing catalog checkout identity inventory ledger messaging notifications payments pricing reports search
shipping
""")
NOUNS = list_of("""
account address attempt balance batch bundle carrier cart charge claim coupon credit currency customer
delivery discount dispatch export feed invoice item label lease manifest margin notice order parcel partner
payout plan profile quota quote rate refund region reminder report reservation retry route rule
schedule session shelf slot statement stock subscription supplier tariff ticket token tracker transfer voucher
warehouse webhook window
""")
VERBS = list_of("""
apply archive assign build cancel check close collect count create expire fetch find flush group load lock
mark match merge move normalise open parse price publish read release resolve reserve round save send settle
split store sync trim update validate void
""")
ROLES = list_of("""
api cache client errors events handlers jobs models policy queries repository schema service tasks validators
views
""")
FIELDS = list_of("""
amount_cents attempts closed_at country created_at expires_at external_id locale owner_id priority quantity
reason state tax_rate total version
""")
STATES = list_of("""
accepted cancelled delayed expired failed open paid pending rejected returned settled timed_out
""")
ERRORS = list_of("""
ConflictError DeadlineExceeded IntegrityError KeyError LookupError PermissionError StaleVersion TimeoutError
ValueError
""")
PLACES = list_of("""
Aarhus Braga Cádiz Gdańsk Győr Kraków Malmö Nantes Ōtsu Porto Tromsø Zürich 台北 上海
""")

SOURCE = list_of(
    """\
def %(verb)s_%(noun)s(%(other)s: %(Other)s, *, limit: int = %(count)d) -> list[%(Noun)s]:
    \"\"\"%(Verb)s every %(noun)s of one %(other)s, newest first.\"\"\"
    found = %(noun)s_repository.by_%(other)s(%(other)s.id, limit=limit)
    if not found:
        raise %(error)s(f"no %(noun)s for {%(other)s.id}")
    return sorted(found, key=lambda row: row.%(field)s, reverse=True)


~class %(Noun)s%(Role)s:
    \"\"\"Keeps one %(noun)s per %(other)s; a second one replaces the first.\"\"\"

    timeout_ms = %(ms)d

    def __init__(self, store: %(Other)sStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def %(verb)s(self, %(noun)s_id: str) -> %(Noun)s:
        row = self._store.get(%(noun)s_id)
        if row.%(field)s is None:
            return self._%(verb)s_missing(%(noun)s_id)
        return replace(row, state="%(state)s", updated_at=self._clock.now())

    def _%(verb)s_missing(self, %(noun)s_id: str) -> %(Noun)s:
        log.warning("%(noun)s %%s has no %(field)s", %(noun)s_id)
        return self._store.insert(%(noun)s_id, %(field)s=%(amount)d)


~@router.post("/%(area)s/%(noun)s/{%(noun)s_id}/%(verb)s")
async def %(verb)s_%(noun)s_view(%(noun)s_id: str, body: %(Verb)s%(Noun)sBody) -> Response:
    %(noun)s = await load_%(noun)s(%(noun)s_id)
    if %(noun)s.state in {"%(state)s", "closed"}:
        return problem(409, f"%(noun)s {%(noun)s_id} is already {%(noun)s.state}")
    for %(other)s in body.%(other)ss[:%(count)d]:
        await %(verb)s_%(other)s(%(noun)s, %(other)s, deadline_ms=%(ms)d)
    return accepted(%(noun)s)


~%(NOUN)s_%(FIELD)s_LIMIT = %(amount)d  # agreed with %(area)s, see %(ticket)s
%(NOUN)s_STATES = ("open", "%(state)s", "closed")


""",
    "~",
)
LOG = list_of(
    """\
%(time)s INFO  %(area)s.%(noun)s request=%(request)s order=%(order)s accepted host=%(host)s
%(time)s DEBUG %(area)s.%(noun)s request=%(request)s %(verb)s_%(noun)s took %(ms)d ms rows=%(count)d
%(time)s INFO  %(area)s.http request=%(request)s POST /%(area)s/%(noun)s/%(verb)s 202 %(ms)d ms
~%(time)s INFO  %(area)s.%(other)s worker=%(count)d picked up job %(request)s (%(verb)s %(other)s)
%(time)s WARN  %(area)s.%(other)s job %(request)s slow: %(ms)d ms, limit 250 ms, retry %(digit)d of 8
~%(time)s ERROR %(area)s.%(noun)s request=%(request)s order=%(order)s %(error)s: %(noun)s is %(state)s
%(time)s ERROR   at %(verb)s_%(noun)s (%(path)s:%(line)d)
%(time)s INFO  %(area)s.http request=%(request)s POST /%(area)s/%(noun)s/%(verb)s 500 %(ms)d ms
""",
    "~",
)
HITS = list_of(
    """\
%(path)s:%(line)d:def %(verb)s_%(noun)s(%(other)s: %(Other)s, *, limit: int = %(count)d) -> list[%(Noun)s]:
%(path)s:%(line2)d:    rows = %(verb)s_%(noun)s(%(other)s, limit=%(count)d)
~%(path)s:%(line)d:from %(area)s.%(noun)s_%(role)s import %(verb)s_%(noun)s
%(path)s:%(line2)d:        await %(verb)s_%(noun)s(%(noun)s, %(other)s, deadline_ms=%(ms)d)
""",
    "~",
)
LISTING = [
    "%(path)s  %(amount)d\n%(area)s/%(other)s_%(role)s.py  %(ms)d\ntests/%(area)s/test_%(file)s  %(line2)d\n",
    "%(area)s/fixtures/%(noun)s_%(state)s.json  %(ms)d\n"
    "%(area)s/migrations/%(line)04d_%(noun)s_%(state)s.sql  %(ms)d\n",
]
TESTS = [
    "tests/%(area)s/test_%(noun)s_%(role)s.py::test_%(verb)s_%(noun)s PASSED [%(ms)d ms]\n"
    "tests/%(area)s/test_%(noun)s_%(role)s.py::test_%(verb)s_twice_is_%(state)s PASSED [%(count)d ms]\n",
    """\
_____________ test_%(verb)s_%(noun)s_keeps_%(field)s _____________
    def test_%(verb)s_%(noun)s_keeps_%(field)s(store):
        row = %(verb)s_%(noun)s(store, "%(order)s")
>       assert row.%(field)s == %(amount)d
E       AssertionError: assert %(ms)d == %(amount)d
%(path)s:%(line)d: AssertionError
""",
]
DIFF = list_of(
    """\
diff --git a/%(path)s b/%(path)s
index %(sha)s..%(request)s 100644
--- a/%(path)s
+++ b/%(path)s
@@ -%(line)d,4 +%(line)d,5 @@ def %(verb)s_%(noun)s(%(other)s):
     rows = load_%(noun)s(%(other)s)
-    return rows[:%(count)d]
+    rows = [row for row in rows if row.state != "%(state)s"]
+    return rows[:%(amount)d]
~commit %(sha)s
    %(ticket)s %(verb)s the %(noun)s before its %(other)s is %(state)s
 %(path)s | %(count)d ++++---
""",
    "~",
)
ROWS = [
    '{"id":"%(order)s","%(noun)s":{"state":"%(state)s","%(field)s":%(amount)d,"place":"%(place)s"},'
    '"request":"%(request)s","attempts":%(digit)d,"source":"%(path)s"},\n'
]
TASKS = [
    "Please look into %(ticket)s: order %(order)s ends up %(state)s although the %(noun)s was never touched. "
    "Start with %(path)s.",
    "In %(area)s, %(verb)s_%(noun)s takes %(ms)d ms in production. Find out why and make it faster. Never change the "
    "public signature, and the limit of %(count)d must stay.",
    "Add a %(field)s to the %(noun)s in %(area)s, with a test. It must default to %(amount)d for old rows. "
    "Do not touch %(path)s.",
    "The nightly job %(request)s failed with %(error)s. What happened, and which %(other)s rows are affected? "
    "不要删除任何数据。",
]
ASIDES = [
    "One more thing: whatever you do, keep %(noun)s_%(field)s below %(amount)d.",
    "Wait, do not edit %(path)s, somebody else is working on it. Continue with the rest.",
    "Customer support says order %(order)s is urgent, please check that one too.",
]
REMARKS = [
    "%(path)s:%(line)d looks suspicious: the %(noun)s is %(state)s before its %(field)s is set.",
    "Request %(request)s took %(ms)d ms and ended with %(error)s. Let me see where that comes from.",
    "Next I check who calls %(verb)s_%(noun)s, then order %(order)s.",
]
REPORTS = [
    "Done. The cause was in %(path)s: %(verb)s_%(noun)s compared %(field)s before the %(noun)s was locked, so order "
    "%(order)s became %(state)s. I fixed it at line %(line)d; all %(count)d tests pass.",
    "I found it: %(error)s came from a stale %(other)s in %(area)s (%(path)s:%(line)d). It is fixed, "
    "%(amount)d rows are affected.",
]
CHAT = [
    "About the %(noun)s in %(place)s: the %(other)s was %(state)s on %(time)s, and the %(field)s still shows "
    "%(amount)d. If we %(verb)s it before the %(other)s closes, the rest can wait until next week, and nobody has to "
    "work over the weekend. I would only do that if you agree, because it cannot be undone without a second person. ",
    "I would rather %(verb)s the %(other)s first, because order %(order)s depends on it and every day of waiting costs "
    "%(amount)d. Remember that the %(area)s team only answers until %(digit)d o'clock, and that they want the whole "
    "question in one message. If they say no, we fall back to the old way and try again in the next month. ",
    "Let us compare both plans. The first needs %(count)d people and %(amount)d of the budget, but it is finished "
    "before the summer. The second is slower and cheaper, yet the %(noun)s stays in %(place)s and nobody has to touch "
    "reference %(request)s again, which is what went wrong the last time. On balance I lean towards the second. ",
    "That is a fair point about the %(noun)s. My worry is the %(field)s: last time it moved from %(line)d to "
    "%(amount)d within a week, and %(ticket)s was opened only afterwards, when two customers had already noticed. So "
    "before we decide I want to see the numbers of the last three months, side by side, with the reasons beside them. ",
]
SYSTEM = (
    "You are a coding agent working in the repository of an online shop. Read before you edit, run the tests after "
    "every change, and report briefly. Never push, never delete data."
)
