// The tabs of a session, and below them the views of the open one.
import { useRef } from "preact/hooks";
import { linkTo, TABS, type Route, type View } from "./hooks";
import { say } from "./phrases";
import type { ServerFacts, SessionDetails } from "./types";

const OF_A_CALL: readonly View[] = ["call", "try"]; // the number of a call is in their addresses

interface Props {
  route: Route;
  details: SessionDetails | undefined;
  server: ServerFacts | undefined;
}

export function Tabs({ route, details, server }: Props) {
  const known = useRef(details); // while another branch is read, the tabs stay
  known.current = details ?? known.current;
  const tabs = TABS.map((views) =>
    views.filter((view) => view === route.view || hasSomething(view, known.current, server)),
  ).filter((views) => views.length);
  const open = tabs.find((views) => views.includes(route.view))!;
  const link = (view: View, label: string, current: "page" | "true" | undefined) => {
    const arg = OF_A_CALL.includes(view) && OF_A_CALL.includes(route.view) ? route.arg : "";
    const href = linkTo(route.session!, view, arg, { branch: route.options.get("branch") });
    return (
      <a key={view} href={href} aria-current={current}>
        {label}
      </a>
    );
  };
  return (
    <>
      <div class="tabs">
        {tabs.map((views) =>
          link(views[0]!, say(`view ${views[0]!}`), views !== open ? undefined : views.length > 1 ? "true" : "page"),
        )}
      </div>
      {open.length > 1 ? (
        <div class="views">
          {open.map((view) => link(view, viewName(view), view === route.view ? "page" : undefined))}
        </div>
      ) : null}
    </>
  );
}

/** The name of a view beside the others of its tab, which has the name of the first. */
function viewName(view: View): string {
  if (view === "context") return say("over time");
  if (view === "call") return say("one call");
  return say(`view ${view}`);
}

/** Whether a session has what a view shows. Views without it are not offered; their addresses work. */
function hasSomething(view: View, details: SessionDetails | undefined, server: ServerFacts | undefined): boolean {
  const facts = details?.facts;
  if (view === "chat") return Boolean(server?.model);
  if (view === "windows") return Boolean(details?.windows);
  if (view === "changes") return Boolean(facts && (facts.compactions || facts.pins || facts.composed)); // only composed sessions can be compacted
  return true;
}
