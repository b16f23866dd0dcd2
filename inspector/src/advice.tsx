// What would save most in a session: the first recommendations of its report.
import { useState } from "preact/hooks";
import { query } from "./api";
import { below, useChange, useLoad } from "./hooks";
import { language, say } from "./phrases";
import { oneLine, visible } from "./text";
import type { Report } from "./types";
import { Busy, Panel } from "./ui";

const FIRST = 3; // recommendations that are shown at once

/** `calls`: how many the session has now; with more of them the report is read again. */
export function AdvicePanel({ session, branch, calls }: { session: string; branch: string; calls: number }) {
  const [forecast, setForecast] = useState(false);
  const [all, setAll] = useState(false);
  const report = useLoad<Report>(below(session, `/report${query({ forecast, lang: language() })}`, branch));
  useChange(calls, report.reload);
  const advice = report.data?.recommendations ?? [];
  const side = forecast ? null : (
    <button onClick={() => setForecast(true)} title={say("forecast about")}>
      {say("forecast it")}
    </button>
  );
  return (
    <Panel title={say("advice")} side={side}>
      {report.busy && !report.data ? <Busy label={forecast ? say("forecasting") : undefined} /> : null}
      {report.error ? <p class="muted">{visible(report.error.message)}</p> : null}
      {report.data && !advice.length ? <p class="muted">{say("no advice")}</p> : null}
      <ol class="advice">
        {advice.slice(0, all ? advice.length : FIRST).map((each, index) => (
          <li key={index}>
            <b>{oneLine(each.saving, 120)}</b>
            {each.is_forecast ? <span class="tag">{say("forecast")}</span> : null}
            <p>{visible(each.found)}</p>
            <p class="muted">{visible(each.what_to_do)}</p>
          </li>
        ))}
      </ol>
      {advice.length > FIRST && !all ? (
        <button class="plain" onClick={() => setAll(true)}>
          {say("all advice", { count: advice.length })}
        </button>
      ) : null}
    </Panel>
  );
}
