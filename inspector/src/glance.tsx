// All sessions at a glance: what they used by day and by project, which cost most and why, and what was saved.
import { useState } from "preact/hooks";
import { query } from "./api";
import { linkTo, useEvents, useLoad } from "./hooks";
import { say } from "./phrases";
import { beginning, dollars, oneLine, percent, short, whole } from "./text";
import type { CostlySession, Overview, Saved, Sum } from "./types";
import { Failure } from "./ui";

const DAYS = 14;
const PROJECTS = 10;

export function Glance({ project }: { project: string }) {
  const [open, setOpen] = useState(false);
  const sums = useLoad<Overview>(`/api/overview${query({ project })}`);
  useEvents(null, ["listed", "session_created"], sums.reload);
  if (!sums.data?.total.sessions) return sums.error ? <Failure error={sums.error} retry={sums.reload} /> : null;
  const { total, days, projects, costly, pending, since } = sums.data;
  return (
    <details class="glance" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <b>{say("at a glance")}</b>{" "}
        {say("glance", { count: whole(total.sessions), calls: short(total.calls), cost: dollars(total.cost) })}
        {cachedShare(total) ? ` · ${say("glance cached", { share: cachedShare(total) })}` : ""}
        {total.saved.calls ? ` · ${savedText(total, since)}` : ""}
        {pending ? ` · ${say("glance pending", { count: whole(pending) })}` : ""}
      </summary>
      {open ? (
        <>
          <p class="muted">
            {say("glance cost")} {total.saved.calls ? say("glance forecast") : ""}
          </p>
          <div class="sides even">
            <Sums title={say("by project")} sums={projects.slice(0, PROJECTS)} />
            <Sums title={say("by day")} sums={days.slice(0, DAYS)} />
          </div>
          {costly.length ? (
            <>
              <h3>{say("cost most")}</h3>
              <ol class="costly">
                {costly.map((session) => (
                  <Costly key={session.id} session={session} />
                ))}
              </ol>
            </>
          ) : null}
          {total.unpriced ? <p class="muted">{say("glance unpriced", { count: whole(total.unpriced) })}</p> : null}
        </>
      ) : null}
    </details>
  );
}

function savedText(total: Sum, since: string): string {
  const { cost, full_cost } = total.saved as Saved;
  const share = full_cost ? 1 - cost / full_cost : 0;
  const values = { share: percent(Math.abs(share)), cost: dollars(Math.abs(total.saved_money)), since };
  return say(share < 0 ? "glance more" : "glance saved", values);
}

function cachedShare({ usage }: Sum): string {
  return usage.input_tokens ? percent((usage.cached_tokens ?? 0) / usage.input_tokens) : "";
}

function Sums({ title, sums }: { title: string; sums: Sum[] }) {
  const saved = sums.some((sum) => sum.saved.calls) ? [say("saved")] : [];
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={title}>
      <table>
        <thead>
          <tr>
            {[title, say("sessions"), say("column calls"), say("column cost"), say("cached"), ...saved].map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {sums.map((sum) => (
            <tr key={sum.name}>
              <td class="wrap">{sum.name ? oneLine(sum.name, 80) : say("not known")}</td>
              <td class="number">{whole(sum.sessions)}</td>
              <td class="number">{whole(sum.calls)}</td>
              <td class="number">{sum.cost || !sum.unpriced ? dollars(sum.cost) : "–"}</td>
              <td class="number">{cachedShare(sum)}</td>
              {saved.length ? <td class="number">{sum.saved.calls ? dollars(sum.saved_money) : ""}</td> : null}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Costly({ session }: { session: CostlySession }) {
  const counts = (["rereads", "compactions", "faults"] as const).filter((name) => session[name]);
  const why = counts.map((name) => say(`why ${name}`, { count: whole(session[name]) }));
  if (session.uncached) why.unshift(say("why uncached", { share: percent(session.uncached) }));
  return (
    <li>
      <b>{dollars(session.cost)}</b>{" "}
      <a href={linkTo(session.id, "context")}>{beginning(session.title, 80) || session.id}</a>{" "}
      <span class="muted">{why.join(" · ") || say("why long", { count: whole(session.calls) })}</span>
    </li>
  );
}
