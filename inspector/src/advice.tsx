// What would save most in a session: the first recommendations of its report.
import { useState } from "preact/hooks";
import { query } from "./api";
import { below, useChange, useLoad } from "./hooks";
import { language, say } from "./phrases";
import { oneLine, visible } from "./text";
import type { ReportFacts } from "./types";
import { Busy, Panel } from "./ui";

const FIRST = 3; // recommendations that are shown at once
const LONG = 20_000; // items: the report of a longer session takes the server some seconds, so it is made when asked for

interface Asked {
  session: string;
  branch: string;
  calls: number; // how many the session has now; with more of them the report is read again
  items: number;
}

export function AdvicePanel({ session, branch, calls, items }: Asked) {
  const [forecast, setForecast] = useState(false);
  const [all, setAll] = useState(false);
  const [wanted, setWanted] = useState(items <= LONG);
  const path = below(session, `/report${query({ forecast, lang: language() })}`, branch);
  const report = useLoad<ReportFacts>(wanted ? path : null);
  useChange(calls, report.reload);
  const advice = report.data?.recommendations ?? [];
  if (!wanted)
    return (
      <Panel title={say("advice")}>
        <button onClick={() => setWanted(true)}>{say("look for advice")}</button>
      </Panel>
    );
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
      {advice.length && !report.data?.report.is_reported ? <p class="muted">{say("advice counted")}</p> : null}
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
