import { render } from "preact";
import { askTabs, hasToken, offeredToken, shareToken, takeCode, takeToken } from "./api";
import { App, Offer } from "./app";
import { startEvents } from "./hooks";
import "./styles.css";
import { applyTheme } from "./theme";

const place = document.getElementById("app")!;

takeToken(); // first of all
await takeCode();
addEventListener("hashchange", async () => {
  const isOffer = takeToken(); // an address pasted into a tab that is open
  if (isOffer && offeredToken()) render(<Offer />, place);
  else if (isOffer || (await takeCode())) location.reload();
});
applyTheme();
if (!hasToken()) await askTabs();
if (offeredToken()) {
  render(<Offer />, place); // nothing is read before the person has agreed
} else {
  shareToken();
  startEvents();
  render(<App />, place);
}
