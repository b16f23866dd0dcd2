// What the REST interface takes and gives. Made by tools/inspector_types.py from /api/openapi.json.

/** What an action did. `reason`: in a word, why it failed; `ways`: what can be done instead. */
export interface Acted {
  success: boolean;
  message: string;
  reason: string;
  window: string;
  summary: string;
  ways: string[];
}

/** The parameters of an action. */
export interface ActionCall {
  params?: Record<string, unknown>;
}

/** One thing that would save cost. `kind` says what to do; `saved` is how much, in uncached input tokens. is_forecast: it is the difference of two forecasts, and a share of the first. facts: the numbers and names to tell it with. */
export interface Advice {
  kind: string;
  saved: number;
  share: number;
  money: number | null;
  is_forecast: boolean;
  facts: Record<string, number | string>;
}

/** A file that was read again although its lines stood in the context, or because a compaction had removed them. */
export interface Again {
  file: string;
  reads: number;
  again: number;
  tokens: number;
  sent: number;
  cost: number;
  after_compaction: number;
  after_tokens: number;
  after_cost: number;
}

/** The branches of a session; the first one is called main. */
export interface Branches {
  current: string;
  branches: string[];
}

/** A call whose provider could not use the cache for what the call before it had sent. */
export interface Break {
  call: number;
  cause: string;
  tokens: number;
  cost: number;
  seconds: number;
  share: number;
}

/** For which budget; without one, that of the last call. */
export interface BudgetChoice {
  window?: number | null;
  output?: number | null;
}

/** One call item by item. `same`: made again from the log it is what was sent; null: it was not composed. `call` and `receipt` are null only for the last call of a branch that has none. */
export interface CallDetails {
  call: CallRow | null;
  calls: number;
  receipt: CallFacts | null;
  same: boolean | null;
  wire: string;
  messages: number;
  bytes: number | null;
  preface: string;
  marker: string;
  change: Change | null;
  costs: CostPart[];
  lines: ContentLine[];
  total: number;
  next: number | null;
}

/** What differs between two calls. The lists have the first of each; the totals count all. */
export interface CallDifference {
  a: CallRow;
  b: CallRow;
  first: Change | null;
  added: ContentLine[];
  removed: ContentLine[];
  changed: ChangedLine[];
  same: number;
  added_total: number;
  removed_total: number;
  changed_total: number;
}

/** One call: what was decided, if Sightline composed its payload, and what its provider reported. */
export interface CallFacts {
  number: number;
  reply: string | null;
  composed: boolean;
  timestamp: string;
  tokens: number;
  limit: number;
  model: string;
  usage: Usage | null;
  seq: number;
  hash: string;
  reason: string;
  changed: number | null;
  factor: number;
  breakpoints: number[];
  lowered: number;
  faults: string[];
  windows: string[];
  question: boolean;
}

/** Some calls of a branch, oldest first. */
export interface CallPage {
  calls: CallFacts[];
  total: number;
  next: number | null;
}

/** A call and what its context held, in tokens by kind and level; `total` is without what is hidden. */
export interface CallRow {
  number: number;
  reply: string | null;
  timestamp: string;
  model: string;
  composed: boolean;
  tokens: Record<string, Record<string, number>>;
  total: number;
  limit: number | null;
  limit_from: string;
  reported: number | null;
  cached: number;
  cached_from: string;
  relative_cost: number;
  cost: number | null;
  input_cost: number | null;
  cost_from: string;
  output: number;
  usage: Usage | null;
  reason: string;
  marks: Mark[];
  cleared: number;
  cleared_tokens: number;
}

/** Where a call first differs from another, and what had to be paid again because of that. */
export interface Change {
  block: number;
  byte: number;
  item: string;
  kind: string;
  before: string;
  after: string;
  kept_tokens: number;
  lost_tokens: number;
  reason: string;
  relative_cost: number;
  cost: number | null;
}

/** An item that two calls show at different levels. */
export interface ChangedLine {
  id: string;
  kind: string;
  tool: string;
  subject: string;
  level_a: string;
  level_b: string;
  tokens_a: number;
  tokens_b: number;
}

/** A compaction and what it hid. */
export interface CompactionFacts {
  boundary: number;
  timestamp: string;
  state: string;
  first: string;
  last: string;
  messages: number;
  tokens: number;
  summaries: string[];
  by_rule: boolean;
  trigger: string;
  pre_tokens: number;
  post_tokens: number | null;
  text: string;
  loss: Loss | null;
}

/** What one compaction removed, and what later answers needed of it. */
export interface CompactionLoss {
  call: number;
  trigger: string;
  tokens: number;
  summary: number;
  constraints: number;
  paths: number;
  identifiers: number;
  numbers: number;
  errors: number;
  named: string[];
  names: Record<string, string[]>;
  needed: number;
  needed_tokens: number;
}

/** The compactions of a branch, oldest first. */
export interface Compactions {
  compactions: CompactionFacts[];
}

/** What the user laid down for the work. `by_model`: a model found it, and reads it so. */
export interface ConstraintFacts {
  id: string;
  text: string;
  revoked: boolean;
  by_model?: boolean;
  reading?: string;
}

/** What the user laid down, oldest first. */
export interface Constraints {
  constraints: ConstraintFacts[];
}

/** An item in a payload, or a text of the engine, which has no id. `text` is as the model got it. */
export interface ContentLine {
  id: string;
  kind: string;
  level: string;
  tokens: number;
  full_tokens: number;
  why: string;
  tool: string;
  subject: string;
  framed: number;
  block: number;
  cached: boolean;
  relative_cost: number;
  cost: number | null;
  text: string;
  characters: number;
}

/** What a payload would hold. */
export interface Context {
  window: number;
  output: number;
  limit: number;
  tokens: number;
  free: number;
  factor: number;
  reason: string;
  strategy: string;
  next_sweep: Record<string, number>;
  kinds: Record<string, Record<string, number>>;
  levels: Record<string, number>;
  left_out: Record<string, number>;
  reductions: ContextReduction[];
  marker: string;
  state: unknown;
  unread: number;
  summaries: CoveringSummary[];
  faults: Record<string, number>;
  lines: Line[];
  hidden: Line[];
}

/** Something that was done, or could be, to make a payload fit. */
export interface ContextReduction {
  kind: string;
  removed: string[];
  tokens: number;
  off: boolean;
}

/** A part of a call's price: "items", which are the lines; "unlogged", what the provider counted and no log shows; "answer". */
export interface CostPart {
  name: "answer" | "items" | "unlogged";
  tokens: number;
  relative_cost: number;
  cost: number | null;
}

/** One of the sessions that cost most, and what made it so: the reasons that the list knows, as counts. */
export interface CostlySession {
  id: string;
  title: string;
  project: string;
  cost: number;
  calls: number;
  uncached: number;
  rereads: number;
  compactions: number;
  faults: number;
}

/** A compaction whose summary is shown. */
export interface CoveringSummary {
  boundary: number;
  first: string;
  last: string;
  messages: number;
  tokens: number;
  summaries: string[];
  state: string;
}

/** A session or branch that was begun. */
export interface Created {
  id: string;
  branch: string;
}

/** It was done. */
export interface Done {
  id: string;
  done: string;
}

/** Which lines to bring back. `now`: show the whole item at its own place instead. */
export interface Expansion {
  start?: number;
  lines?: number | null;
  grep?: string | null;
  now?: boolean;
}

/** The answer to a request that failed. */
export interface Failure {
  error: Problem;
}

/** A file to import: one that the list of sessions offers. */
export interface FileChoice {
  path: string;
}

/** What the same calls would cost with Sightline and without it, by a replay. Nothing of it was measured. `spent` includes what would have been read again. The replay's counts are brought to the provider's: `factor` is how many tokens the provider counts for one of ours, `unlogged` what each call has that no log shows. */
export interface Forecast {
  economy: string;
  window: number;
  spent: Spent;
  full: Spent;
  rereads: number;
  reread_cost: number;
  sweeps: number;
  sessions: number;
  unchanged: number;
  largest: number;
  factor: number;
  unlogged: number;
}

/** Where a branch begins: after this item. */
export interface Fork {
  at: string;
  name?: string | null;
  keep_summaries?: boolean;
}

/** An earlier item that matches. */
export interface FoundItem {
  id: string;
  score: number;
  text: string;
  kind: string;
  snippet: SnippetPart[];
}

/** Earlier items that match, the best first. */
export interface FoundItems {
  found: FoundItem[];
}

/** Something that was said or done in a session, and matches. Of a file that was not imported, `id` is a line. */
export interface FoundMessage {
  id: string;
  kind: string;
  when: string;
  failed: boolean;
  snippet: SnippetPart[];
}

/** A session in which something matches, the best first; or a file that could become one. */
export interface FoundSession {
  id: string;
  file: string | null;
  source: string;
  project: string;
  title: string;
  updated: number;
  hits: FoundMessage[];
}

/** The sessions that match best, of the logs read so far. `unread`: how many are not; ask again for the rest. */
export interface FoundSessions {
  sessions: FoundSession[];
  unread: number;
}

/** The server runs. `sessions` that are open are told to whoever has the token. */
export interface Health {
  status: string;
  version: string;
  sessions?: number;
  server: string;
}

/** An import. `share` is how much of it is done, up to 1. */
export interface ImportFacts {
  id: string;
  name: string;
  path: string;
  state: "done" | "failed" | "running";
  share: number;
  sessions: ImportedSession[];
  error: string;
}

/** The last imports, the newest first. */
export interface ImportList {
  imports: ImportFacts[];
}

/** A session that an import made, or added to. */
export interface ImportedSession {
  id: string;
  state: string;
  lines: number;
  added: number;
  messages: number;
  types: Record<string, number>;
  usage: Usage | null;
}

/** The model's answer. */
export interface Interaction {
  success: boolean;
  response: string;
  error: string;
  rounds: number;
  usage: Usage | null;
  cost: number | null;
}

/** One item in full: its parts as the log has them, and its text at each level of detail. */
export interface ItemDetails {
  item: ItemFacts;
  levels: Record<string, string>;
  parts: unknown[];
  compacted_by: number | null;
}

/** One item. `text` is its beginning, unless all of it was asked for. */
export interface ItemFacts {
  id: string;
  kind: string;
  tokens: number;
  summary_tokens: number | null;
  gist_tokens: number | null;
  pinned: boolean;
  by_program: boolean;
  window: string;
  changed: boolean;
  timestamp: string;
  text: string;
  characters: number;
  tool: string;
  subject: string;
  failed: boolean;
}

/** Some items of a branch, in order. */
export interface ItemPage {
  items: ItemFacts[];
  total: number;
  next: number | null;
}

/** An item in a payload. `level` is full, summary or gist; hidden: it is not shown. */
export interface Line {
  id: string;
  kind: string;
  level: string;
  tokens: number;
  full_tokens: number;
  why: string;
  tool: string;
  subject: string;
}

/** The lines that were brought back. */
export interface Lines {
  id: string;
  text: string;
}

/** What was visible before a compaction and is not now. All of it is still in the log. */
export interface Loss {
  constraints?: Lost;
  paths?: Lost;
  identifiers?: Lost;
  numbers?: Lost;
  errors?: Lost;
}

/** What was lost of one kind: how many there are, and the first of them. */
export interface Lost {
  count?: number;
  named?: string[];
}

/** Something that happened at a call. */
export interface Mark {
  kind: "branch" | "cleared" | "compaction" | "error" | "prefix" | "sweep";
  reason: string;
  item: string;
  count: number;
  tokens: number;
}

/** What the user says. */
export interface Message {
  message: string;
}

/** A piece of a message or result. `name` says what an image, a document or a block of the provider is. */
export interface MessagePart {
  form: "file" | "image" | "opaque" | "text" | "thinking";
  name: string;
  text: string;
  characters: number;
  image: number | null;
}

/** A payload that cannot be made again as it was sent. */
export interface Mismatch {
  branch: string;
  number: number;
  expected: string;
  found: string;
}

/** The model that answers in the chat. */
export interface ModelFacts {
  name: string;
  window: number;
}

/** A session to begin. Without an id it gets a random one. */
export interface NewSession {
  id?: string | null;
  strategy?: string | null;
  config?: Record<string, unknown>;
  locale?: "en" | "zh";
  profile?: string | null;
}

/** Tokens of some items. `by` says what they have in common: the `name` of a kind, tool, file or level. */
export interface Node {
  name: string;
  by: string;
  tokens: number;
  items: number;
  reread_tokens: number;
  children: Node[];
}

/** All sessions that have been counted. `pending`: how many have not been, yet. */
export interface Overview {
  total: Sum;
  since: string;
  days: Sum[];
  projects: Sum[];
  costly: CostlySession[];
  pending: number;
}

/** The items that somebody pinned, in order. */
export interface Pins {
  items: ItemFacts[];
}

/** What to try. What is not given is as it is in the session. */
export interface PreviewChoice {
  window?: number | null;
  output?: number | null;
  strategy?: string | null;
  config?: Record<string, unknown> | null;
  economy?: "off" | "safe" | "thrifty" | null;
  call?: number | null;
}

/** What went wrong, for programs and for people. */
export interface Problem {
  type: string;
  message: string;
  what_to_do: string;
}

/** What to bring back to the conversation. */
export interface Recall {
  query: string;
  tokens?: number;
}

/** A piece of advice in words. */
export interface Recommendation {
  kind: string;
  saving: string;
  found: string;
  what_to_do: string;
  share: number;
  is_forecast: boolean;
}

/** The report of a session, and its advice in words, what saves most first. */
export interface ReportFacts {
  report: SessionReport;
  recommendations: Recommendation[];
}

/** A file of which readings showed nothing new. */
export interface RereadFile {
  name: string;
  times: number;
  tokens: number;
  items: string[];
}

/** What was read again: readings of files that showed nothing new. */
export interface Rereads {
  results: number;
  tokens: number;
  faults: number;
  files: RereadFile[];
}

/** Calls that Sightline composed: their prompts, and what they would have been if everything had been sent. Costs are in uncached input tokens. */
export interface Saved {
  calls: number;
  tokens: number;
  full_tokens: number;
  cost: number;
  full_cost: number;
}

/** What this server has and can do. */
export interface ServerFacts {
  version: string;
  project: string;
  everywhere: boolean;
  model: ModelFacts | null;
  strategies: string[];
  economies: string[];
  wires: string[];
  formats: string[];
  apps: string[];
}

/** What a session is. */
export interface SessionDetails {
  facts: SessionFacts;
  settings: Settings;
  kinds: Record<string, number>;
  open_calls: string[];
  windows: number;
  damaged: number;
  summary_running: boolean;
  chat_tools: string[];
  chat_recalls: boolean;
}

/** What a session is, in short; or a file that could become one. What is counted is counted on all branches. */
export interface SessionFacts {
  id: string;
  state: "file" | "grown" | "session";
  name: string;
  title: string;
  project: string;
  source: string;
  created: number | null;
  updated: number | null;
  bytes: number | null;
  ready: boolean;
  turns: number;
  calls: number;
  composed: number;
  items: number;
  entries: number;
  tokens: number;
  model: string;
  usage: Usage | null;
  cost: number | null;
  saved: Saved | null;
  saved_money: number | null;
  compactions: number;
  faults: number;
  rereads: number;
  pins: number;
  branch: string;
  branches: string[];
  live: boolean;
  open: boolean;
  file: string | null;
  error: string;
}

/** Some sessions. `total`, `files`, `next`: of those that match; `sources` and `projects` count all there are. */
export interface SessionPage {
  sessions: SessionFacts[];
  total: number;
  files: number;
  next: number | null;
  pending: number;
  sources: Record<string, number>;
  projects: Record<string, number>;
}

/** Everything about one session. */
export interface SessionReport {
  name: string;
  title: string;
  kind: string;
  models: Record<string, number>;
  unpriced: string[];
  begin: number;
  end: number;
  turns: number;
  calls: number;
  economy: string;
  is_reported: boolean;
  is_cached: boolean;
  spent: Spent;
  spent_elsewhere: number;
  kinds: Share[];
  tools: Share[];
  files: Share[];
  breaks: Break[];
  again: Again[];
  compactions: CompactionLoss[];
  large: Share[];
  large_cost: number;
  forecasts: Forecast[];
  unit: number | null;
  advice: Advice[];
}

/** How a session is stored and composed. The first entry of every log; a change is a new entry. `strategy` is a name, or several: a pipe, each stage of which changes the plan of the one before. The `config` of a pipe has that of each stage by its name. */
export interface Settings {
  format?: number;
  locale?: string;
  encoding?: string;
  layout?: string;
  strategy?: string | string[];
  config?: Record<string, unknown>;
  profile?: string;
  windows?: string;
  reductions?: string[];
  repeat_unchanged?: boolean;
}

/** Where tokens went: a kind of item, a tool, or a file. */
export interface Share {
  name: string;
  items: number;
  tokens: number;
  sent: number;
}

/** A piece of a text; `match`: it is among what was looked for. */
export interface SnippetPart {
  text: string;
  match: boolean;
}

/** Tokens by how a provider charges for them, and what they cost. cost: in uncached input tokens, by the provider's relative prices, with the answers. money: in the currency of the price; None if the price of a model is not known. */
export interface Spent {
  calls: number;
  input: number;
  cached: number;
  written: number;
  output: number;
  cost: number;
  read_cost: number;
  write_cost: number;
  output_cost: number;
  money: number | null;
}

/** Several sessions together. */
export interface Sum {
  name: string;
  sessions: number;
  calls: number;
  usage: Usage;
  cost: number;
  unpriced: number;
  saved: Saved;
  saved_money: number;
}

/** Some steps of a branch. `longest`: how long the longest of all these steps took, if they are sorted by that. */
export interface TimePage {
  steps: TimeStep[];
  total: number;
  next: number | null;
  sums: TimeSums;
  longest: number | null;
}

/** A model call, a tool call, or a wait for the user. `seconds` is null where the log has no times for it. */
export interface TimeStep {
  id: string;
  kind: "model" | "tool" | "user";
  name: string;
  about: string;
  began: number | null;
  seconds: number | null;
  error: boolean;
  open: boolean;
}

/** Seconds of a whole branch. Tool calls that one answer made count together: from the answer to the last result. */
export interface TimeSums {
  model: number;
  tools: number;
  user: number;
  calls: number;
  timed: number;
  length: number;
  rest: number;
}

/** Some calls of a branch, oldest first. */
export interface TimelinePage {
  calls: CallRow[];
  total: number;
  next: number | null;
}

/** Where the tokens are, and what was read again. */
export interface TokenTree {
  total: number;
  call: number | null;
  root: Node;
  rereads: Rereads;
}

/** A call of a tool, with its result if that has come. `text`: its arguments, as JSON or as the model wrote them. */
export interface ToolCall {
  id: string;
  tool: string;
  tokens: number;
  text: string;
  characters: number;
  result: ToolResult | null;
}

/** What a tool gave. `error` is empty, or one word: failed, interrupted. */
export interface ToolResult {
  id: string;
  timestamp: string;
  tokens: number;
  error: string;
  parts: MessagePart[];
}

/** A message in which the words stand, and its place. */
export interface TranscriptHit {
  id: string;
  place: number;
}

/** The messages in which the words stand, in order. `next`: from which place to search on; null: it is done. */
export interface TranscriptHits {
  hits: TranscriptHit[];
  total: number;
  next: number | null;
}

/** A message. `call` is the call of the model that it answers, `seconds` how long that took, if the log says it. */
export interface TranscriptMessage {
  id: string;
  kind: string;
  by_program: boolean;
  timestamp: string;
  tokens: number;
  parts: MessagePart[];
  calls: ToolCall[];
  call: CallRow | null;
  seconds: number | null;
}

/** Some messages of a branch, in order, from the `start`-th on. `at` is the place of the item that was asked for. */
export interface TranscriptPage {
  messages: TranscriptMessage[];
  start: number;
  total: number;
  next: number | null;
  at: number | null;
}

/** Which item to show again; without one, all that the last compaction covers. */
export interface Undo {
  item?: string | null;
}

/** Tokens as the provider reports them. `input_tokens` includes those read from and written to its cache. hour_tokens: of those written, as many as it keeps for an hour, which costs more. */
export interface Usage {
  input_tokens: number;
  output_tokens: number;
  cached_tokens?: number;
  written_tokens?: number;
  hour_tokens?: number;
}

/** Whether the log and every payload are as they were written. */
export interface Verification {
  good: boolean;
  payloads: number;
  mismatches: Mismatch[];
  damaged: number[];
  changed: number[];
}

/** What can be done in a window. `asks`: a person who clicks is asked first. */
export interface WindowAction {
  id: string;
  label: string;
  about: string;
  parameters: Record<string, unknown>;
  asks: boolean;
}

/** An open window. If its app does not run here, the text is as it was last sent and nothing can be done. */
export interface WindowFacts {
  id: string;
  app: string;
  target: string;
  text: string;
  running: boolean;
  level: string;
  actions: WindowAction[];
}

/** The open windows, in the order they were opened. */
export interface Windows {
  windows: WindowFacts[];
}
