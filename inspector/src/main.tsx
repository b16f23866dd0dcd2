import { render } from "preact";
import { App } from "./app";
import { startEvents } from "./hooks";
import "./styles.css";
import { applyTheme } from "./theme";

applyTheme();
startEvents();
render(<App />, document.getElementById("app")!);
