"""Puts one-line defects into a copy of the source, one by one, and checks that the tests notice each: `make mutants`.

A line of code whose defect no test notices is a line that the next change may break. The list below has defects in
every part of the engine. Each one names its file, the exact text that it replaces, the new text, and the test files
that should fail. The working tree is never changed: the defects go into a temporary copy of src/, which comes first on
PYTHONPATH.

If a text was reworded, the tool (and tests/test_mutants.py) says which defect no longer applies: copy the new text
from the file into `old`. Keep it short, an expression rather than a comment, so that this seldom happens. A new policy
deserves a new defect here: write it, run it with --only, and if it survives, write the test that it lacks.

Examples:
  python tools/mutants.py                  all of them, some minutes
  python tools/mutants.py --list           their names and what each replaces
  python tools/mutants.py --only worth     those with "worth" in their name

The exit code is 1 if a defect survives, if its text is not found exactly once, or if the tests fail without it.
"""

import argparse
import ast
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from importlib.util import cache_from_source
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = Path("src/sightline")
SECONDS = 300  # for one run of tests; a defect that makes them hang is noticed too


class Mutant(NamedTuple):
    """One defect: in `file`, below the package, `old` becomes `new`. One of `tests`, below tests/, should fail."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


SWEEP, FOCUS, VIEW, PLAN = "plan/strategies/sweep.py", "plan/strategies/focus.py", "plan/view.py", "plan/plan.py"
WORTHS, REPEATS, CALLS = "plan/strategies/worth.py", "log/repeats.py", "shorten/shell.py"
TURN, RENDER, ROOM = "compose/turn.py", "compose/render.py", "compose/inputs.py"
FILES, FILE_WORTH = "recall/files_in_work.py", ("recall/test_file_worth.py",)
JSONL, WORTH = "log/stores/jsonl.py", ("plan/strategies/test_sweep_worth.py",)
SWEPT, LIMITS = ("plan/strategies/test_sweep.py",), ("plan/strategies/test_focus_limits.py",)
OVERVIEW = ("recall/overview/test_overview_question.py", "recall/overview/test_overview_settlement.py")
FOCUSED, REPEATED = ("plan/strategies/test_focus.py",), ("log/test_repeats.py",)
COMPOSED, UNASKED = ("compose/test_turn.py",), ("recall/test_unasked.py",)
ASKED, FRAMED = ("recall/test_ask.py",), ("recall/test_recall_frame.py",)
CLAUDE, CODEX = ("imports/test_claude_code.py",), ("imports/test_codex.py",)
STORED, ANTHROPIC = ("log/stores/test_jsonl.py",), ("wire/test_wire_anthropic.py",)
LEDGER = ("view/test_ledger.py",)
SESSION, COMPACTED = ("session/test_session.py",), ("compaction/test_compaction.py",)
LEVELS, TOKENS, STRATEGY = "shorten/levels.py", "values/cautious.py", "plan/strategy.py"
FOREIGN, CAUTIOUS, HOOKS = ("shorten/test_shorteners.py",), ("values/test_cautious.py",), ("plan/test_strategy.py",)
FAILING, PLANNED = ("compaction/test_compaction_failures.py",), ("plan/test_plan.py",)
SCHEMA, DATABASE = "fleet/migrations/2.sql", "fleet/database.py"
TENANTED, REMOVAL = "fleet/tenant_statements.py", "fleet/removal.py"
GUARDED, TENANTS = ("fleet/test_row_security.py",), ("fleet/test_tenants.py",)
REMOVED, INPUTS = ("fleet/test_removal.py",), "compose/inputs.py"
ECONOMIC, ROOMIER = ("plan/test_economies.py",), ("compose/test_more_room.py",)
STOPPED = ("recall/test_stopping.py",)

MUTANTS = (
    # seams
    Mutant("shortener: a text without its label is shown", LEVELS, "(label in filled.text and ", "(", FOREIGN),
    Mutant("shortener: a broken one breaks the append", LEVELS, "if foreign is None:", "if True:", FOREIGN),
    Mutant("counting: all pairs merge", TOKENS, "len(common.run_end.findall(ascii_only))", "1", CAUTIOUS),
    Mutant("counting: a rare character is one token", TOKENS, "else _utf8_bytes(character)", "else 1", CAUTIOUS),
    Mutant("strategy: hooks of a plain object are lost", STRATEGY, "hasattr(planner, name)}", "False}", HOOKS),
    # plan: what a sweep takes first
    Mutant("worth: age does not count", WORTHS, "worth *= brief / age", "worth *= brief", WORTH),
    Mutant("worth: the user's words age as fast", WORTHS, "_SLOWER = 10 ", "_SLOWER = 1 ", WORTH),
    Mutant("worth: a long item is worth as much", WORTHS, "_POWER = 400, 0.25", "_POWER = 400, 0.0", WORTH),
    Mutant("worth: a call is worth a result", WORTHS, "Kind.CALL: 3.0", "Kind.CALL: 1.0", WORTH),
    Mutant("worth: a report is worth as little as output", WORTHS, "Purpose.REPORT: 3.0", "Purpose.REPORT: 1.0", WORTH),
    Mutant("worth: a search is worth as much as output", WORTHS, "Purpose.SEARCH: 0.7", "Purpose.SEARCH: 1.0", WORTH),
    Mutant("worth: a recalled piece is worth a message", WORTHS, "Kind.RECALL: 0.05", "Kind.RECALL: 20.0", WORTH),
    Mutant("worth: later mentions do not count", WORTHS, "1 + 1 / (1 + (len(", "1 + 0 / (1 + (len(", WORTH),
    Mutant("worth: a superseded read is worth as much", WORTHS, "_SUPERSEDED = 0.05", "_SUPERSEDED = 1.0", WORTH),
    Mutant("worth: an obsolete item is worth as much", WORTHS, "_OBSOLETE = 0.05", "_OBSOLETE = 1.0", WORTH),
    Mutant("worth: an error is worth no more", WORTHS, "_FAILED = 1.5", "_FAILED = 1.0", WORTH),
    Mutant("worth: units are left out before gists", WORTHS, "LEFT_OUT = 50.0", "LEFT_OUT = 0.1", WORTH),
    Mutant("worth: pins do not count", WORTHS, "if self._view.never_reduced(row):", "if False:", WORTH),
    Mutant("worth: files are in use for one unit", WORTHS, "_IN_USE = 4", "_IN_USE = 1", WORTH),
    Mutant("worth: what was read is in use as long", WORTHS, "_TO_EDIT = 8", "_TO_EDIT = 4", WORTH),
    Mutant("worth: a file's last use does not count", WORTHS, "if not self._shows_file(row):\n            return age",
           "return age", WORTH),
    Mutant("repeats: half of the lines are enough", REPEATS, "_NEARLY_ALL = 0.9", "_NEARLY_ALL = 0.5", REPEATED),
    Mutant("repeats: an edit counts", REPEATS, "kind == _CALL and purpose == _WRITE", "kind == _CALL", REPEATED),
    Mutant("repeats: a line counts once", REPEATS, "for line in compared]", "for line in set(compared)]", REPEATED),
    Mutant("repeats: a search counts", REPEATS, "timeline.purpose[row] == _SEARCH", "False", REPEATED),
    Mutant("calls: cat is a command", CALLS, '"cat", "nl", "head"', '"nl", "head"',
           ("shorten/test_call_subject.py",)),
    # plan: how far a sweep goes, and what it protects
    Mutant("sweep: the task is not protected", SWEEP, " | ({self.task} - {-1})", "", SWEPT),
    Mutant("sweep: the task goes before the newest", SWEEP, "if unit not in task]", "]", SWEPT),
    Mutant("sweep: the answer before a question goes", SWEEP, "keep + (self.said[-1] == question)", "keep", SWEPT),
    Mutant("sweep: what is recalled displaces the answer", SWEEP, "{*Kind} - {Kind.RECALL}",
           "{*Kind}", WORTH),
    Mutant("sweep: a new result is no longer than a summary", SWEEP, "free // left >= _LEAST_MORE and", "False and",
           ("compose/test_made_to_measure.py",)),
    Mutant("sweep: the task may be dropped", SWEEP, "| protected | {self.task}", "| protected", SWEPT),
    Mutant("sweep: the user has no share", SWEEP, "_USER_SHARE = 0.4", "_USER_SHARE = 0.0", SWEPT),
    Mutant("sweep: what is recent goes like the rest", SWEEP, "_RECENT_SHARE = 0.12", "_RECENT_SHARE = 0.0", SWEPT),
    Mutant("sweep: far more is recent", SWEEP, "_RECENT_SHARE = 0.12", "_RECENT_SHARE = 0.3", SWEPT),
    Mutant("sweep: fetched again, not protected", SWEEP, "_FAULT_UNITS = 30", "_FAULT_UNITS = 3", SWEPT),
    Mutant("sweep: fetched again, without limit", SWEEP, "_FAULT_SHARE = 0.25", "_FAULT_SHARE = 1.0", SWEPT),
    Mutant("sweep: a large result erases the rest", SWEEP, "\n_OLDER = 0.4 ", "\n_OLDER = 0.0 ", SWEPT),
    Mutant("sweep: a very large result erases the rest", SWEEP, "_LEAST_OLDER = 0.25", "_LEAST_OLDER = 0.0", SWEPT),
    Mutant("sweep: the working set has all the room", SWEEP, "_WORKING_SHARE = 0.7", "_WORKING_SHARE = 0.95", SWEPT),
    Mutant("sweep: a large question stays", SWEEP, "if large := self._large_questions():", "if large := []:", SWEPT),
    Mutant("sweep: nothing is given back", SWEEP, "self._give_back(taken, goal)", "pass", SWEPT),
    Mutant("sweep: next to nothing is saved", SWEEP, "_LEAST_SAVING = 200", "_LEAST_SAVING = 1", LIMITS),
    Mutant("sweep: no tokens for the index", PLAN, "INDEX = 0.08", "INDEX = 0.0", SWEPT),
    # plan: when a sweep comes, and what is shortened at once
    Mutant("focus: forced too early", FOCUS, "tokens > _forced_above(view)", "tokens >= _forced_above(view)", LIMITS),
    Mutant("focus: cold is no reason", FOCUS, "tidy and view.cold and", "False and", LIMITS),
    Mutant("focus: cold is a reason before the first sweep", FOCUS, " and view.last and view.last.base:", ":", LIMITS),
    Mutant("focus: cold at half", FOCUS, "_COLD = 0.6 ", "_COLD = 0.5 ", LIMITS),
    Mutant("focus: off is safe", FOCUS, 'tidy = self.economy != "off"', "tidy = True", LIMITS),
    Mutant("focus: thrifty in a large room", "plan/economies.py", "_WINDOW = 64_000", "_WINDOW = 128_000", ECONOMIC),
    Mutant("focus: thrifty uses all of the window", FOCUS, 'self.economy == "thrifty"', "False", LIMITS),
    Mutant("focus: every economy is thrifty", FOCUS, 'self.economy == "thrifty"', "True", LIMITS),
    Mutant("window: what must be shown has no room of its own", INPUTS, "unit for unit in view.must_show if unit >= 0",
           "unit for unit in () if unit >= 0", LIMITS),
    Mutant("window: what is new has no room of its own", INPUTS, ".union(view.new if view.last else ())", "", LIMITS),
    Mutant("window: an imported session has all the room", INPUTS, "view.new if view.last else ()", "view.new", LIMITS),
    Mutant("window: what must be shown takes all of it", INPUTS, "\n_NEEDED = 2 ", "\n_NEEDED = 1 ", LIMITS),
    Mutant("window: larger than the limit", INPUTS, "min(view.limit, max(window,", "(max(window,", LIMITS),
    Mutant("window: no payload is kept within it", TURN,
           "inputs.limit_in_window(view, most)", "view.limit", ROOMIER),
    Mutant("window: more room outside of it is a reason", TURN, "min(limit, most), budget.target",
           "limit, budget.target", ROOMIER),
    Mutant("window: outputs that are paged widen it", INPUTS, "full_tokens(must) - paged", "full_tokens(must)",
           ROOMIER),
    Mutant("reductions: paged without gists", "plan/plan.py", ", cut=lambda _row, _tokens: False", "", ROOMIER),
    Mutant("focus: retried at every call", FOCUS, "_RETRY_GROWTH = 0.1", "_RETRY_GROWTH = 0.0", FOCUSED),
    Mutant("paging: outputs below an eighth", FOCUS, "_LARGE = 0.125", "_LARGE = 0.0625", LIMITS),
    Mutant("paging: only outputs above a quarter", FOCUS, "_LARGE = 0.125", "_LARGE = 0.25", LIMITS),
    Mutant("paging: an output may take all that is free", FOCUS, "free / 2", "free", LIMITS),
    Mutant("paging: an output may take a third of what is free", FOCUS, "free / 2", "free / 3", LIMITS),
    Mutant("paging: what is shown counts as free", FOCUS, "view.last.body if view.last else 0", "0", LIMITS),
    Mutant("paging: files are paged like output", WORTHS, "and timeline.purpose[row] not in FILE_TEXT", "", LIMITS),
    Mutant("paging: what is no result is paged", WORTHS, "timeline.kind[row] == _RESULT and timeline", "timeline",
           LIMITS),
    Mutant("paging: what was asked for is paged", FOCUS, "view.timeline.state[row] & WHOLE or ", "", LIMITS),
    Mutant("paging: each output gets a whole page", FOCUS, "int(most / len(outputs))", "int(most)", LIMITS),
    Mutant("paging: also if most is left out", FOCUS, "pick(timeline.full, outputs)) > view.limit:",
           "pick(timeline.full, outputs)) > 1 << 60:", LIMITS),
    Mutant("paging: what was fetched again is paged", FOCUS, " or row in view.faults", "", LIMITS),
    Mutant("focus: a summary is wanted at 20 %", FOCUS, "_SUMMARY_ABOVE = 0.7", "_SUMMARY_ABOVE = 0.2", LIMITS),
    Mutant("focus: half is not summarised", FOCUS, "_RETAINED = 0.2", "_RETAINED = 0.5", LIMITS),
    # plan: what holds for every strategy
    Mutant("plan: pinned items may be reduced", PLAN, "lod is not FULL and view.never_reduced(row)", "False",
           PLANNED),
    Mutant("plan: units in any order", PLAN, "before >= after for before", "False for before", PLANNED),
    Mutant("budget: no margin", VIEW, "(factor * (1 + margin))", "factor", PLANNED),
    Mutant("notices: hidden constraints are not shown", "plan/notices.py", "_PREFACE_LEAST = 0.25, 400",
           "_PREFACE_LEAST = 0.0, 0", ("plan/strategies/test_sliding.py", "compaction/test_compaction_rules.py")),
    Mutant("rules: a permission lifts any order", "shorten/rules/revocations.py",
           "return part.forbidden != differs", "return True", ("shorten/rules/test_rules.py",)),
    Mutant("rules: forget that lifts nothing", "shorten/rules/revocations.py",
           'return lifting.how.startswith("cancels")', "return False", ("shorten/rules/test_rules.py",)),
    Mutant("rules: what is lifted in part is lifted", "shorten/rules/revocations.py", "if not left:", "if True:",
           ("shorten/rules/test_rules.py",)),
    Mutant("digest: nothing is marked as revoked", "shorten/digest/speech.py",
           "if lifted or _is_marked(constraint, text)", "if False", ("shorten/digest/test_digest.py",)),
    Mutant("rules: what was is a fact to be kept", "shorten/rules/facts.py", "(singular and word in PLURALS)", "False",
           ("compaction/test_compaction_loss.py",)),
    # compose
    Mutant("compose: the receipt is not synced", TURN, "journal.store.sync()", "journal.store.tips", COMPOSED),
    Mutant("compose: the last sweep's breakpoint is lost", TURN, "(*self._body_ends[:1], end)", "(end,)", COMPOSED),
    Mutant("compose: the head's breakpoint is lost", TURN, "(0, *self._body_ends)", "self._body_ends",
           COMPOSED),
    Mutant("compose: the end's breakpoint is lost", RENDER, "{*inputs.breakpoints, len(body)}",
           "{*inputs.breakpoints}", COMPOSED),
    Mutant("compose: a changed head is not named", "compose/receipts.py", 'return "tools or system changed"',
           'return "layout"', COMPOSED),
    Mutant("compose: pending calls are sent", TURN, "if calls := self.journal.open_calls():", "if calls := []:",
           SESSION),
    Mutant("compose: small payloads calibrate", "compose/receipts.py", "MIN_PAYLOAD = 2000", "MIN_PAYLOAD = 0",
           COMPOSED),
    Mutant("compose: any factor is believed", "compose/receipts.py", "MAX_FACTOR = 3.0",
           "MAX_FACTOR = 30.0", COMPOSED),
    Mutant("compose: an overflow forces no sweep", TURN, 'self.command = "sweep: overflow"', 'self.command = ""',
           SESSION),
    # gists
    Mutant("gists: a count in a part is one of the whole", "shorten/logs.py", "view.sample.is_whole else", "True else",
           ("shorten/test_unusual.py",)),
    # recall
    Mutant("recall: any match comes back", "recall/recall.py", "\n_CLEAR = 0.35", "\n_CLEAR = 0.0", UNASKED),
    Mutant("recall: only what matches best comes back", "recall/recall.py", "= 5.75, 0.45", "= 0.0, 0.45", STOPPED),
    Mutant("recall: a large room brings back no more", "recall/recall.py", "= 5.75, 0.45", "= 5.75, 0.0", STOPPED),
    Mutant("recall: the question comes back", "recall/recall.py", "and not self._repeats(query, hit)", "", ASKED),
    Mutant("recall: no sweep goes deeper for it", ROOM, "\n_DEEPER = 0.75", "\n_DEEPER = 0.0", UNASKED),
    Mutant("recall: what is free is not used", ROOM, "free_tokens(view, plan) + spare)", "0)", UNASKED),
    Mutant("recall: after the words of the message", TURN, "leads = view.last is None or", "leads = False and", FRAMED),
    Mutant("recall: no share of the budget", ROOM, "int(view.budget.recall * view.limit)", "view.limit", UNASKED),
    Mutant("recall: one message takes all that is free", ROOM, "\n_ENOUGH = 4_500 ", "\n_ENOUGH = 250_000 ", UNASKED),
    Mutant("files: the first blocks of a file", FILES, "key=attrgetter(\"worth\"), reverse=True", "key=lambda _: 0",
           ("compose/test_files_in_work.py",)),
    Mutant("files: an old one is worth as much", FILES, "age=-0.6", "age=0.0", FILE_WORTH),
    Mutant("files: a change is worth nothing", FILES, "changed=0.5", "changed=0.0", FILE_WORTH),
    Mutant("files: the question says nothing", FILES, "question=0.17", "question=0.0", FILE_WORTH),
    Mutant("files: the newest units say nothing", FILES, "recent=0.26", "recent=0.0", FILE_WORTH),
    Mutant("files: a long block is worth as much", FILES, "LENGTH = -0.5", "LENGTH = 0.0", FILE_WORTH),
    Mutant("files: a frequent word counts as much", FILES, "wanted[word]) / often[word]", "wanted[word])", FILE_WORTH),
    Mutant("files: a failed change counts", "recall/file_text.py", "timeline.state[row] & FAILED or", "",
           ("recall/test_file_text.py",)),
    Mutant("files: a change over a gap", "recall/file_text.py",
           "if self.lines[last].number - self.lines[first].number == last - first:", "if True:",
           ("recall/test_file_text.py",)),
    Mutant("recall: again in the middle of a turn", TURN, "self._question != self._searched and", "", UNASKED),
    Mutant("recall: a program's note is the user's", "log/recall_frame.py",
           '"by program" if timeline.is_by_program(row) else _L', "_L", FRAMED),
    Mutant("voices: a program's note is a request", "shorten/digest/steps.py", "whole if item.by_program else ",
           "", ("hostile/test_voices.py",)),
    Mutant("voices: a program's note is the question", "compose/turn.py", "if timeline.is_users_own(", "if bool(",
           ("hostile/test_voices.py",)),
    Mutant("forgery: only where a text begins", "values/escape.py", "|(?<=[{_BREAKS}])", "",
           ("hostile/test_forgery.py",)),
    Mutant("forgery: hidden characters hide a line", "values/escape.py", "{_BLANKS}{_UNSEEN}]*", "{_BLANKS}]*",
           ("hostile/test_forgery.py",)),
    Mutant("forgery: further lines of a recall", "log/recall_frame.py", "speaker(reader.timeline, row) else escape",
           "speaker(reader.timeline, row) else str", ("hostile/test_forgery.py",)),
    Mutant("forgery: a log of before is written anew", "log/fold.py", "if note.format == 1:", "if not note.format:",
           ("hostile/test_forgery.py",)),
    Mutant("overview: an old request is the current one", "recall/overview/__init__.py", "ends=False", "ends=True",
           ("recall/overview/test_overview_digest.py",)),
    Mutant("overview: words all over the conversation tell something", "recall/overview/question.py", "\nALL_OVER = 5",
           "\nALL_OVER = 9", OVERVIEW),
    Mutant("overview: a chance match is something", "recall/overview/question.py", "\nFOUND = 0.3", "\nFOUND = 0.0",
           OVERVIEW),
    Mutant("overview: any stretch may take all the room", "recall/overview/settlement.py", "SHARE = 10, 0.25",
           "SHARE = 10, 1.0", OVERVIEW),
    Mutant("overview: nobody's consent counts", "recall/overview/settlement.py", "\nAGREED = 2", "\nAGREED = 1",
           OVERVIEW),
    Mutant("overview: a correction replaces nothing", "recall/overview/settlement.py", "\nCORRECTED = 6",
           "\nCORRECTED = 0", OVERVIEW),
    # log
    Mutant("log: appends are never synced", JSONL, 'if self.fsync == "always":', 'if self.fsync == "":', STORED),
    Mutant("log: a turn is not synced", JSONL, 'if self._unsynced and self.fsync != "never":', "if False:", STORED),
    Mutant("log: half a batch is kept", JSONL, "if self._missing <= 0:", "if True:", STORED),
    Mutant("log: a changed batch number cuts the log", JSONL,
           "(tip.batch or self._missing) and not is_intact(line.data)", "False", ("hostile/test_damage.py",)),
    Mutant("log: a damaged last line cuts its batch", JSONL, "self._missing -= 1 + len(_JOINED.findall(line.data))",
           "pass", STORED),
    Mutant("log: a changed line is not noticed", "log/fold.py", "not entries.is_intact(line.data)", "False",
           ("hostile/test_damage.py",)),
    Mutant("log: an index hides a changed line", "log/stores/side_files.py",
           "then != now and then[0] == now[0]", "False", ("hostile/test_damage.py",)),
    Mutant("log: the tokens of a changed line are believed", "log/fold.py", "seq=self.last_seq + 1, tokens=()",
           "seq=self.last_seq + 1", ("hostile/test_damage.py",)),
    Mutant("log: a session that met damage indexes its columns", "log/journal.py", " or self.reader.is_stale", "",
           ("hostile/test_damage.py",)),
    Mutant("log: a full disk leaves a part", JSONL, "if file.size() > self.tips.size:", "if False:", STORED),
    Mutant("log: two writers follow one entry", "log/stores/__init__.py", "if head != expected_head and",
           "if False and", ("log/stores/test_store_checks.py",)),
    Mutant("log: kept tips of a longer log are believed", JSONL, " and known.size <= file.size()", "",
           ("log/stores/test_store_checks.py",)),
    Mutant("search: damaged parts are believed", "recall/search/segments.py",
           " and all(_is_sealed(data[name], seed) for name, seed in seeds.items())", "",
           ("recall/search/test_segments.py",)),
    Mutant("search: the head of another log is believed", "recall/search/index.py", "mark not in (head.mark, None)",
           "False", ("recall/test_restored_log.py",)),
    Mutant("search: parts of another log are believed", "recall/search/segments.py", "crc32(mark.encode(), self._seed)",
           "self._seed", ("recall/test_restored_log.py",)),
    Mutant("log: a branch shows its parent's later rows", "log/columns.py", "row <= self.limits.get(branch, NONE)",
           "branch in self.limits", SESSION),
    Mutant("log: results answer a later call first", "log/columns.py", "reversed(self.waiting.get(call_id, ())):",
           "self.waiting.get(call_id, ()):", ("log/test_timeline.py",)),
    Mutant("log: the oldest session goes on", "log/stores/session_folder.py", "sorted(dated, reverse=True)",
           "sorted(dated)", ("cli/test_chat_one_shot.py",)),
    Mutant("log: two projects share a folder", "log/stores/project_folder.py", "blake2b(os.fsencode(path),",
           "blake2b(b'',", ("log/stores/test_project_folder.py",)),
    Mutant("log: another project's sessions are taken", "log/stores/project_folder.py",
           "return os.path.normpath(cwd) == ours", "return True", ("log/stores/test_project_folder.py",)),
    Mutant("trust: any port of this machine is a model's", "agent/models/endpoint.py",
           " and parts.port in _SERVER_PORTS", " and bool(parts.port or 1)", ("hostile/test_configuration.py",)),
    Mutant("trust: any path of a model server is a model's", "agent/models/endpoint.py",
           'parts.path.rstrip("/") in ("", "/v1")', "True", ("hostile/test_configuration.py",)),
    Mutant("trust: a query swallows the path", "agent/models/endpoint.py", 'if "?" in url or "#" in url:', "if False:",
           ("hostile/test_configuration.py", "agent/test_config.py")),
    Mutant("trust: options replace messages", "agent/config.py", "if name.casefold() in OURS]", "if name in ()]",
           ("agent/test_config.py",)),
    Mutant("secrets: a key in a file is shown", "files/secrets.py", "if any(map(_is_drawn, rule.finditer(data))):",
           "if False:", ("files/test_secrets.py",)),
    Mutant("secrets: a setting opens what is ours", "agent/tools/files/folders.py", "is_own_name(place.name) or ", "",
           ("files/test_secrets.py",)),
    Mutant("log: half the system prompt is shown", "log/columns.py",
           "rows = [row] if self.state[row] & REPLACING else [*rows, row]", "rows = [row]",
           ("origins/test_whole_product.py",)),
    # compaction
    Mutant("compaction: nearly all is retained", "compaction/compactor.py", "\nRETAINED = 0.2", "\nRETAINED = 0.8",
           COMPACTED),
    Mutant("compaction: any length is a summary", "compaction/compactor.py", "if self._added([summary])", "if 0",
           FAILING),
    Mutant("compaction: a digest may be longer than what it replaces", "compaction/compactor.py",
           ', job.replaced - self._added([*others, ""]) - 1)', ")", COMPACTED),
    Mutant("compaction: two messages are refused", "compaction/compactor.py", ", least=1)", ")", COMPACTED),
    Mutant("compaction: a failing model is asked on", "compaction/compactor.py", "_FAILURES = 3 ", "_FAILURES = 300 ",
           FAILING),
    Mutant("compaction: pending calls are covered", VIEW, "or uncovered[len(sizes) - 1] >= first_pending", "",
           COMPACTED),
    # wire
    Mutant("wire: results in separate messages", "wire/anthropic.py", "message.role is Role.TOOL or", "False or",
           ANTHROPIC),
    Mutant("wire: no cache markers", "wire/anthropic.py", 'block[common.MARKER] = {', 'block["cached"] = {',
           ANTHROPIC),
    Mutant("wire: five cache markers", "wire/anthropic.py", "\nBREAKPOINTS = 4", "\nBREAKPOINTS = 5", ANTHROPIC),
    Mutant("wire: a run that has grown is not written again", "wire/writer.py",
           "elif len(self._messages) >= self._shared:", "elif False:", ("wire/test_wire_bytes.py",)),
    Mutant("wire: an old head is sent", "wire/writer.py", "or kept[0] != key", "", ("wire/test_wire_bytes.py",)),
    Mutant("wire: call ids may repeat", "wire/call_ids.py", "while wire_id in self._used:", "while False:",
           ("wire/test_wire_openai.py", "wire/test_wire_laws.py")),
    # apps
    Mutant("apps: text can be a marker", "apps/anchors.py", r'return _SYNTAX.sub(r"\\\g<0>", text)', "return text",
           ("apps/test_anchors.py",)),
    Mutant("apps: data in any order", "apps/document.py", "sorted(value, key=lambda key: (str(key), str(type(key))))",
           "value", ("origins/test_docui_building.py",)),
    Mutant("apps: the last of two anchors is used", "apps/document.py", "            if key in anchors:",
           "            if False:", ("origins/test_docui_building.py",)),
    Mutant("apps: what others changed is not noticed", "apps/host.py", "self._log.check(window_id, window.log_offset)",
           "pass", ("origins/test_docui_errors.py",)),
    Mutant("apps: an outdated window is rendered", "apps/window.py",
           "self._log.check(self.id, self.log_offset, self.document.version)", "pass",
           ("origins/test_docui_errors.py",)),
    Mutant("apps: text can be an element", "apps/elements.py", '.replace("<", "&lt;")', "", ("apps/test_elements.py",)),
    # session
    Mutant("session: usage is not learnt from", "session/session.py", "if item_id and message.usage is not None and",
           "if False and", SESSION),
    Mutant("session: a reply is not synced", "session/session.py", "store.sync()\n        if not stopped",
           "store.tips\n        if not stopped", COMPOSED),
    Mutant("session: an error is not marked", "session/session.py", '"failed" if error else ""', '""', SESSION),
    Mutant("import: a side chain is said", "imports/claude_tree.py", "not (side or value.get",
           "not (False or value.get", CLAUDE),
    Mutant("import: parallel results are lost", "imports/claude_tree.py", "chain.add(index)\n        return",
           "pass\n        return", CLAUDE),
    Mutant("import: a summary covers what was kept", "imports/importer.py", "if not at:", "if True:",
           CLAUDE),
    Mutant("import: nothing is known again", "imports/importer.py", "is_older or is_same)", "False)", CLAUDE),
    Mutant("import: harness text is the user's", "imports/harness_text.py", "return is_harness_text(_text(block))",
           "return False", CLAUDE),
    Mutant("import: usage is counted again", "imports/codex.py", "or used) != last", "or used) is not last", CODEX),
    Mutant("import: rolled back turns stay", "imports/codex.py", "return not self._outline.has_taken_back",
           "return True or self._outline.has_taken_back",
           CODEX),
    Mutant("import: any object is a message", "imports/messages.py", "_ITEMS.fullmatch(kind) is not None", "True",
           ("imports/test_messages.py",)),
    Mutant("replay: the newest item is read again", "view/replay/text_index.py",
           "(smallest < 0 or len(text) < len(self._texts[smallest]))", "smallest < 0",
           ("view/replay/test_rereads.py",)),
    Mutant("replay: read again at every call", "view/replay/rereads.py", "call - read < _FRESH", "False",
           ("view/replay/test_rereads.py",)),
    # numbers that views show
    Mutant("views: a program's system message is the system prompt", "view/ledger.py",
           "message.role in (Role.USER, Role.SYSTEM)", "message.role is Role.USER", LEDGER),
    Mutant("views: a composed call hides nothing", "view/call_rows.py",
           "max(said - self._composed.full.get(kind, 0), 0)", "0", ("view/test_model_calls.py",)),
    Mutant("views: a compaction leaves all in the cache", "view/call_rows.py",
           "head if sums.compactions else before.total", "before.total", LEDGER),
    Mutant("views: a changed prompt is in the cache", "view/costs.py", "return prompt.kept", "return before", LEDGER),
    Mutant("views: windows are in the cache", "compose/receipts.py", "before.tokens - before.plan.windows",
           "before.tokens", LEDGER),
    Mutant("views: a report counts in its own way", "view/report/session_report.py", "counter(talk.encoding)",
           "counter()", LEDGER),
    Mutant("views: an undo brings nothing back", "view/report/talk.py", "if index < (cut := self.cuts[at]).until",
           "if (cut := self.cuts[at])", LEDGER),
    # tenants of a database
    Mutant("tenant-not-forced", SCHEMA, "entry FORCE ROW", "entry NO FORCE ROW", GUARDED),
    Mutant("tenant-kept-at-checkout", DATABASE, ".get(connection) != wanted", ".get(connection) is None", GUARDED),
    Mutant("tenant-set-for-a-transaction", DATABASE, "%s, false), set_config", "%s, true), set_config", GUARDED),
    Mutant("tenant-operator-sees-data", SCHEMA, "operator ON {schema}.pace", "operator ON {schema}.session", GUARDED),
    Mutant("tenant-audit-changed", SCHEMA, "audit FOR SELECT USING", "audit USING", GUARDED),
    Mutant("tenant-token-revoked", TENANTED, " AND revoked IS NULL", "", TENANTS),
    Mutant("tenant-token-expired", TENANTED, "expires > now()", "expires IS NOT NULL", TENANTS),
    Mutant("tenant-rate", TENANTED, "%(most)s * interval", "2 * %(most)s * interval", TENANTS),
    Mutant("tenant-clock", TENANTED, "ELSE least(pace.due, now() + interval '1 minute')", "ELSE pace.due", TENANTS),
    Mutant("tenant-last-use", TENANTED, "used < now() - interval '1 minute'", "used < now()", TENANTS),
    Mutant("removal-again", REMOVAL, "= ANY(%s) AND {_OLD} RET", "= ANY(%s) AND (%s, %s) IS NOT NULL RET", REMOVED),
    Mutant("removal-texts", REMOVAL, "_PIECE) < _PIECE", "_PIECE) <= _PIECE", REMOVED),
    Mutant("removal-live", "fleet/postgres.py", "AND lines >= 0 FOR KEY SHARE", "FOR KEY SHARE", REMOVED),
)  # fmt: skip


def problems(mutants: Sequence[Mutant] = MUTANTS, root: Path = ROOT) -> Iterator[str]:
    """What is wrong with the list: a text not found exactly once, tests that do not exist, a name used twice."""
    names = [mutant.name for mutant in mutants]
    for mutant in mutants:
        file = root / PACKAGE / mutant.file
        count = file.read_text(encoding="utf-8").count(mutant.old) if file.is_file() else 0
        if count != 1:
            yield f"{mutant.name}: {mutant.old!r} is {count} times in {PACKAGE / mutant.file}, not once"
        if mutant.old == mutant.new or names.count(mutant.name) > 1:
            yield f"{mutant.name}: changes nothing, or has the name of another"
        yield from (f"{mutant.name}: no tests/{test}" for test in mutant.tests if not (root / "tests" / test).is_file())


def unreadable(mutants: Sequence[Mutant] = MUTANTS, root: Path = ROOT) -> Iterator[str]:
    """Defects that Python cannot read, which no test would see."""
    for mutant in mutants:
        file = root / PACKAGE / mutant.file
        if file.suffix == ".py":
            try:
                ast.parse(file.read_text(encoding="utf-8").replace(mutant.old, mutant.new))
            except SyntaxError as error:
                yield f"{mutant.name}: what it makes of {PACKAGE / mutant.file} is no Python: {error}"


def main() -> int:
    """Try the defects that the command line asks for. The exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="NAME", default="", help="only defects with this in their name")
    parser.add_argument("--list", action="store_true", help="print the defects and try none")
    asked = parser.parse_args()
    mutants = [mutant for mutant in MUTANTS if asked.only in mutant.name]
    if not mutants:
        parser.error(f"no defect has {asked.only!r} in its name; --list shows them")
    if asked.list:
        for mutant in mutants:
            print(f"{mutant.name}\n    {mutant.file}: {mutant.old.strip()!r} → {mutant.new.strip()!r}")
        return 0
    wrong = [*problems(mutants)] or [*unreadable(mutants)]
    print("\n".join(wrong), end="\n" if wrong else "")
    if wrong:
        return 1
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "src"
        shutil.copytree(ROOT / "src", copy, ignore=shutil.ignore_patterns("__pycache__"))
        return _try_all(mutants, copy)


def _try_all(mutants: Sequence[Mutant], copy: Path) -> int:
    tests = dict.fromkeys(test for mutant in mutants for test in mutant.tests)
    print(f"without a defect: {len(tests)} test files …", flush=True)
    if _run(tests, copy, is_long=True):
        print("they fail without any defect, so they can show nothing")
        return 1
    survived = []
    for number, mutant in enumerate(mutants, 1):
        started = time.monotonic()
        print(f"{number:>3}/{len(mutants)}  {mutant.name:<50}", end=" ", flush=True)
        caught = _is_caught(mutant, copy)
        print(f"{'caught' if caught else 'SURVIVED':<8} {time.monotonic() - started:>5.1f} s", flush=True)
        survived += [] if caught else [mutant]
    for mutant in survived:
        print(f"SURVIVED: {mutant.name} ({mutant.file}); strengthen one of {', '.join(mutant.tests)}")
    print(f"{len(mutants) - len(survived)} of {len(mutants)} caught")
    return 1 if survived else 0


def _is_caught(mutant: Mutant, copy: Path) -> bool:
    file = copy / "sightline" / mutant.file
    good = file.read_text(encoding="utf-8")
    try:
        file.write_text(good.replace(mutant.old, mutant.new), encoding="utf-8")
        _forget_bytecode(file)
        return _run(mutant.tests, copy) != 0
    finally:
        file.write_text(good, encoding="utf-8")
        _forget_bytecode(file)


def _forget_bytecode(file: Path) -> None:
    """Python may take the cached bytecode of a file that changed within a second and kept its size."""
    Path(cache_from_source(str(file))).unlink(missing_ok=True)


def _run(tests: Sequence[str] | dict[str, None], copy: Path, *, is_long: bool = False) -> int:
    """Run these tests with the copy first on the path. 0: all passed; 1: one failed, or they took too long.

    `is_long`: all of them, for which there is no limit, and which say what fails.
    """
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--tb=line", *(str(Path("tests") / test) for test in tests)]
    environment = os.environ | {"PYTHONPATH": str(copy)}
    try:
        seconds = None if is_long else SECONDS
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=not is_long, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return 1
    if done.returncode not in (0, 1):  # not a failed test: a mistake in the list, such as a defect that cannot be read
        raise SystemExit(f"\npytest could not run:\n{(done.stdout or b'').decode()}{(done.stderr or b'').decode()}")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
