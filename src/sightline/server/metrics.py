"""What a server counts, for Prometheus at `/metrics`, and what it logs: one line of JSON for each record.

Neither has header values, bodies or texts of a conversation. Paths are counted by their pattern, because every
id would be a time series of its own.
"""

import logging
import re
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

import msgspec
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector
from starlette.requests import ClientDisconnect
from starlette.routing import compile_path
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sightline.server.work import Work

_PROBES = frozenset({"/healthz", "/readyz"})
PATH_PATTERN = "sightline.path"  # the key of a scope under which a handler says which pattern it answers
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
# Seconds: an answer from the log takes milliseconds, one of a model up to minutes.
_BUCKETS = (0.005, 0.02, 0.1, 0.5, 2, 10, 60, 300)
_CLIENT_LEFT = 499  # what other servers count, too, where a client went away before it had an answer
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
# What a record may say besides its message. Everything else that a library attaches is left out.
FIELDS = (
    "method", "path", "status", "seconds", "session", "branch", "provider", "model", "tokens", "limit", "reason",
    "bytes", "kind",
)  # fmt: skip
# What looks like a key or a token in a message, whoever wrote it.
_SECRET = re.compile(
    r"(?i)\b(?:bearer|basic)\s+[\w.~+/=-]{6,}|\b(?:sk|pk|rk|ghp|gho|xox[abp])[-_][\w-]{6,}|\beyJ[\w-]{10,}\.[\w.-]+"
    r"|(?<=/token/)[^/\s\"']+"
    r"|(?:x-api-key|api[-_]key|authorization|x-sightline-token|cookie|password|secret)[\"']?\s*[:=]\s*[\"']?[^\s\"',}]+"
)

logger = logging.getLogger("sightline.server")


class Metrics:
    """The counts of one server. Each has a registry of its own, so that several can run in one process."""

    def __init__(self, open_sessions: Callable[[], int] | None = None) -> None:
        """`open_sessions` is asked whenever the metrics are read."""
        registry = self._registry = CollectorRegistry()
        self._requests = Counter(
            "sightline_requests", "Requests answered.", ("method", "path", "status"), registry=registry
        )
        self._seconds = Histogram(
            "sightline_request_seconds", "Seconds until the last byte was sent.", ("path",), buckets=_BUCKETS,
            registry=registry,
        )  # fmt: skip
        self._upstream = Histogram(
            "sightline_upstream_seconds", "Seconds that a provider took, to its last byte.", ("provider", "status"),
            buckets=_BUCKETS, registry=registry,
        )  # fmt: skip
        self._tokens = Counter(
            "sightline_tokens",
            "Tokens: those that agents offered, those that were sent instead, those that providers billed.",
            ("what",), registry=registry,
        )  # fmt: skip
        self._sweeps = Counter(
            "sightline_sweeps", "Payloads that changed the prompt prefix.", ("reason",), registry=registry
        )
        self._recalls = Counter(
            "sightline_recalls", "Calls of expand and recall that were answered.", registry=registry
        )
        self._unlogged = Counter(
            "sightline_unlogged",
            "Calls of models that passed, and whose request or answer could not be logged then.",
            registry=registry,
        )
        self._brought_in = Counter(
            "sightline_brought_in", "Calls of them that were logged later, from the spool.", registry=registry
        )
        self._spool = Gauge("sightline_spool_bytes", "What waits in spools to be logged.", registry=registry)
        self.open_sessions: Callable[[], int] = open_sessions or (lambda: 0)
        gauge = Gauge("sightline_open_sessions", "Sessions that are open now.", registry=registry)
        gauge.set_function(self.open_sessions)

    def watch(self, work: Work | None) -> None:
        """Have the counts of background work among the others. Others of the same database count their own."""
        if work is not None:
            self._registry.register(_WorkCollector(work))

    def request(self, method: str, path: str, status: int, seconds: float) -> None:
        """Count a request. `path` is the pattern of its path."""
        self._requests.labels(method if method in _METHODS else "other", path, str(status)).inc()
        self._seconds.labels(path).observe(seconds)

    def upstream(self, provider: str, status: int, seconds: float) -> None:
        """Count a request to a provider. `status` 0: it gave no answer."""
        self._upstream.labels(provider, str(status)).observe(seconds)

    def tokens(self, *, offered: int = 0, sent: int = 0, billed: int = 0) -> None:
        """Count the tokens of a model call."""
        for what, count in (("offered", offered), ("sent", sent), ("billed", billed)):
            if count > 0:
                self._tokens.labels(what).inc(count)

    def sweep(self, reason: str) -> None:
        """Count a payload that does not begin with the one before. `reason` as the receipt has it."""
        self._sweeps.labels(reason).inc()

    def recall(self, count: int = 1) -> None:
        """Count calls of `expand` and `recall` that were answered from the log."""
        self._recalls.inc(count)

    def unlogged(self) -> None:
        """Count a request or an answer that could not be logged."""
        self._unlogged.inc()

    def spool(self, more: int) -> None:
        """Count bytes more, or fewer, that wait in a spool."""
        self._spool.inc(more)

    def brought_in(self, count: int) -> None:
        """Count calls that were logged from a spool."""
        self._brought_in.inc(count)

    def text(self) -> bytes:
        """Return all counts in the text format of Prometheus."""
        return generate_latest(self._registry)


class _WorkCollector(Collector):
    """Reads the counts of background work whenever the metrics are read."""

    def __init__(self, work: Work) -> None:
        self._work = work

    def collect(self) -> Iterable[Metric]:
        ended = CounterMetricFamily(
            "sightline_jobs",
            "Attempts at background work: done, retried later, or given up.",
            labels=("kind", "outcome"),
        )
        for (kind, outcome), count in list(self._work.counts.items()):
            ended.add_metric((kind, outcome), count)
        refused = GaugeMetricFamily(
            "sightline_jobs_refused",
            "1 while the database's role may not do background work.",
            bool(self._work.refused),
        )
        waiting = GaugeMetricFamily("sightline_jobs_waiting", "Background work that waits.", self._work.waiting)
        return ended, waiting, refused


class Measure:
    """An ASGI middleware that counts and logs each request, once its answer has ended.

    It goes around the `Guard`, so that refusals are counted too. No handler says which pattern these have, so they are
    looked for among `patterns`: paths as routes have them, and what each is counted as.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics, patterns: Mapping[str, str] = MappingProxyType({})) -> None:
        self._app, self._metrics = app, metrics
        self._patterns = [(compile_path(path)[0], counted) for path, counted in patterns.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and note how it ended."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun, status = time.perf_counter(), 500  # as the client sees it if the handler fails before it answers

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noted)
        except ClientDisconnect:  # while its body came: there is nobody to answer, and nothing is wrong here
            status = _CLIENT_LEFT
        finally:
            seconds, path = time.perf_counter() - begun, scope.get(PATH_PATTERN) or self._pattern(scope["path"])
            self._metrics.request(scope["method"], path, status, seconds)
            facts = {"method": scope["method"], "path": path, "status": status, "seconds": round(seconds, 4)}
            is_probe = path in _PROBES and status == 200  # every second or so, from several sides
            logger.log(logging.DEBUG if is_probe else logging.INFO, "request", extra=facts)

    def _pattern(self, path: str) -> str:
        """Return what a path is counted as that no handler has seen. However many are tried, there are few of these."""
        return next((counted for regex, counted in self._patterns if regex.match(path)), "other")


# ---------------------------------------------------------------------- logs


class NoSecrets(logging.Filter):
    """Takes out of every record what looks like a key or a token, also out of its traceback."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Change the record. It is always logged."""
        record.msg, record.args = without_secrets(record.getMessage()), ()
        if record.exc_info:
            record.exc_text = without_secrets(logging.Formatter().formatException(record.exc_info))
            record.exc_info = None
        return True


class JsonLines(logging.Formatter):
    """Writes a record as one line of JSON: time, level, logger, message, and those of `FIELDS` that it has."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {name: getattr(record, name) for name in FIELDS if hasattr(record, name)}
        if record.exc_text or record.exc_info:
            line["error"] = record.exc_text or (record.exc_info and self.formatException(record.exc_info))
        return msgspec.json.encode(line, enc_hook=str).decode()


def without_secrets(text: str) -> str:
    """Return the text with [hidden] for what looks like a key or a token."""
    return _SECRET.sub("[hidden]", text)


def json_log_handler() -> logging.Handler:
    """Return a handler that writes JSON lines to standard error, without secrets."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines())
    handler.addFilter(NoSecrets())
    return handler


def log_as_json() -> None:
    """Write the log of the server to standard error: a line for each request and for each thing that went wrong.

    All libraries write there too: one that finds no handler would add its own, which does not take keys out.
    """
    logging.getLogger().addHandler(json_log_handler())
    logging.getLogger("sightline").setLevel(logging.INFO)
    logging.getLogger("psycopg.pool").setLevel(logging.ERROR)  # it tells each attempt, we tell it once
