import { render } from "preact";
import { askTabs, hasToken, shareToken, takeCode, takeToken } from "./api";
import { App } from "./app";
import { startEvents } from "./hooks";
import "./styles.css";
import { applyTheme } from "./theme";

takeToken(); // first of all
await takeCode();
addEventListener("hashchange", async () => {
  if (takeToken() || (await takeCode())) location.reload(); // an address pasted into a tab that is open
});
applyTheme();
if (!hasToken()) await askTabs();
shareToken();
startEvents();
render(<App />, document.getElementById("app")!);
