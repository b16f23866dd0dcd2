// What can be saved as a file: a session in several forms, and the request of a call.
import { useState } from "preact/hooks";
import { download, query } from "./api";
import { below } from "./hooks";
import { language, say } from "./phrases";
import { whole } from "./text";
import type { ServerFacts } from "./types";
import { ActionButton, Dialog } from "./ui";

interface Form {
  name: string;
  about: string;
  path: string;
}

const READ = ["jsonl", "markdown", "html"] as const; // forms of a session that are no provider's

export function SessionExport({ session, branch, server }: { session: string; branch: string; server: ServerFacts }) {
  const forms = server.formats.map((format) => {
    const read = READ.find((each) => each === format);
    return {
      name: format,
      about: read ? say(`export ${read}`) : say("export messages"),
      path: below(session, `/export${query({ format, lang: language() })}`, branch),
    };
  });
  return <Export label={say("export")} title={say("export session")} forms={forms} />;
}

interface CallProps {
  session: string;
  branch: string;
  number: number;
  wire: string; // of the session's provider
  wires: string[];
}

export function CallExport({ session, branch, number, wire, wires }: CallProps) {
  const forms = [wire, ...wires.filter((each) => each !== wire)].map((each) => ({
    name: each,
    about: say(each === wire ? "export request" : "export other request"),
    path: below(session, `/calls/${number}/export${query({ wire: each })}`, branch),
  }));
  return <Export label={say("export one call")} title={say("export call", { number: whole(number) })} forms={forms} />;
}

/** A button that asks in which form, and saves the file. */
function Export({ label, title, forms }: { label: string; title: string; forms: Form[] }) {
  const [asks, setAsks] = useState(false);
  return (
    <>
      <button aria-haspopup="dialog" onClick={() => setAsks(true)}>
        {label}
      </button>
      {asks ? (
        <Dialog title={title} onClose={() => setAsks(false)}>
          <ul class="export">
            {forms.map(({ name, about, path }) => (
              <li key={name}>
                <ActionButton label={name} run={() => download(path)} told={say("exported")} />
                <span class="muted">{about}</span>
              </li>
            ))}
          </ul>
          <div class="answers">
            <button onClick={() => setAsks(false)}>{say("close")}</button>
          </div>
        </Dialog>
      ) : null}
    </>
  );
}
