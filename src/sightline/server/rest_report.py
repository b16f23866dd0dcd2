"""The report of a session: where its tokens went, what caching and reading again cost, and what would save most."""

from msgspec import Struct

from sightline.server.rest_operation import ApiRequest
from sightline.server.rest_values import ReportQuery
from sightline.view.report.phrases import told
from sightline.view.report.values import SessionReport


class Recommendation(Struct, frozen=True):
    """A piece of advice in words."""

    kind: str
    saving: str
    found: str
    what_to_do: str
    share: float  # of the whole cost
    is_forecast: bool


class ReportFacts(Struct, frozen=True):
    """The report of a session, and its advice in words, what saves most first."""

    report: SessionReport
    recommendations: list[Recommendation]


async def get_report(request: ApiRequest) -> ReportFacts:
    """Return the report of a session. With `forecast` it is replayed, which takes longer."""
    query: ReportQuery = request.query
    async with request.session() as session:
        place, own_id = request.server.sessions.place_of(request.path["id"])
        report = await request.server.reports.get(place, own_id, session.branch, forecast=query.forecast)
        return ReportFacts(report, [_told(report, at, query.lang) for at in range(len(report.advice))])


def _told(report: SessionReport, at: int, lang: str) -> Recommendation:
    advice = report.advice[at]
    words = told(advice, lang)
    return Recommendation(advice.kind, words[0], words[1], words[2], advice.share, advice.is_forecast)
