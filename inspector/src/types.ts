// What the REST interface gives, as far as the pages use it. The whole is described by /api/openapi.json.

export interface Usage {
  input_tokens: number;
  output_tokens: number;
  cached_tokens?: number;
  written_tokens?: number;
}

export interface ServerInfo {
  version: string;
  project: string;
  everywhere: boolean;
  model: { name: string; window: number | null } | null;
  strategies: string[];
  economies: string[];
  wires: string[];
  formats: string[];
}

export interface SessionRow {
  id: string;
  state: "session" | "file" | "grown";
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
  tokens: number;
  model: string;
  usage: Usage | null;
  cost: number | null;
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

export interface SessionPage {
  sessions: SessionRow[];
  total: number;
  next: number | null;
  pending: number;
  sources: Record<string, number>;
  projects: Record<string, number>;
}

export interface SessionDetails {
  facts: SessionRow;
  settings: { strategy?: string; config?: Record<string, unknown>; locale?: string; profile?: string }; // without defaults
  kinds: Record<string, number>;
  damaged: number;
}

export interface Mark {
  kind: "sweep" | "prefix" | "compaction" | "branch" | "error";
  reason: string;
  item: string;
  count: number;
}

export type Levels = Partial<Record<"full" | "summary" | "gist" | "hidden", number>>;

export interface CallRow {
  number: number;
  reply: string | null;
  timestamp: string;
  model: string;
  composed: boolean;
  tokens: Record<string, Levels>;
  total: number;
  limit: number | null;
  limit_from: string;
  reported: number | null;
  cached: number | null;
  cached_from: string;
  relative_cost: number;
  cost: number | null;
  input_cost: number | null;
  cost_from: string;
  usage: Usage | null;
  reason: string;
  marks: Mark[];
}

export interface Timeline {
  calls: CallRow[];
  total: number;
  next: number | null;
}

export interface Line {
  id: string;
  kind: string;
  level: string;
  tokens: number;
  full_tokens: number;
  why: string;
  cached?: boolean;
  relative_cost?: number;
  cost?: number | null;
  tool?: string;
  subject?: string;
  text?: string;
  characters?: number;
  block?: number;
}

export interface Change {
  block: number;
  byte: number;
  item: string;
  kind: string;
  reason: string;
  before: string;
  after: string;
  kept_tokens: number;
  lost_tokens: number;
  relative_cost: number;
  cost: number | null;
}

export interface CostPart {
  name: "items" | "unlogged" | "answer";
  tokens: number;
  relative_cost: number;
  cost: number | null;
}

export interface CallPage {
  call: CallRow; // null if there are none
  calls: number;
  same: boolean | null;
  wire: string;
  messages: number;
  bytes: number | null;
  change: Change | null;
  costs: CostPart[];
  lines: Line[];
  total: number;
  next: number | null;
}

export interface LevelChange {
  id: string;
  kind: string;
  tool: string;
  subject: string;
  level_a: string;
  level_b: string;
  tokens_a: number;
  tokens_b: number;
}

export interface CallDiff {
  a: CallRow;
  b: CallRow;
  first: Change | null;
  added: Line[];
  removed: Line[];
  changed: LevelChange[];
  same: number;
  added_total: number;
  removed_total: number;
  changed_total: number;
}

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
}

export interface ItemPage {
  items: ItemFacts[];
  total: number;
  next: number | null;
}

export interface ItemDetails {
  item: ItemFacts;
  levels: Partial<Record<"full" | "summary" | "gist", string>>;
  compacted_by: number | null;
}

export interface Context {
  window: number;
  output: number;
  limit: number;
  tokens: number;
  free: number;
  reason: string;
  strategy: string;
  kinds: Record<string, { tokens: number; items: number }>;
  levels: Levels;
  left_out: { messages: number; tokens: number };
  faults: { results: number; tokens: number };
  lines: Line[];
}

export interface TokenNode {
  name: string;
  by?: string;
  tokens: number;
  items: number;
  reread_tokens: number;
  children: TokenNode[];
}

export interface TokenTree {
  total: number;
  call: number | null;
  root: TokenNode;
  rereads: {
    results: number;
    tokens: number;
    faults: number;
    files: { name: string; times: number; tokens: number; items: string[] }[];
  };
}

export interface Lost {
  count?: number;
  named?: string[];
}

export interface Compaction {
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
  loss: Partial<Record<"constraints" | "paths" | "identifiers" | "numbers" | "errors", Lost>> | null;
}

export interface Schema {
  type?: string;
  enum?: unknown[];
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
}

export interface WindowAction {
  id: string;
  label: string;
  about: string;
  parameters: Schema;
  asks: boolean; // whether a person who clicks is asked first
}

export interface AppWindow {
  id: string;
  app: string;
  target: string;
  text: string;
  running: boolean;
  level: string;
  actions: WindowAction[];
}

export interface Acted {
  success: boolean;
  message: string;
  reason: string;
  summary: string;
  ways: string[];
}

export interface Report {
  report: { is_reported: boolean }; // whether its tokens are what a provider counted
  recommendations: {
    kind: string;
    saving: string;
    found: string;
    what_to_do: string;
    share: number;
    is_forecast: boolean;
  }[];
}

export interface ImportState {
  id: string;
  name: string;
  state: "running" | "done" | "failed";
  share: number;
  sessions: { id: string; state: string; messages: number }[];
  error: string;
}
