// Light and dark: as the system says, until somebody chooses.
export type Theme = "auto" | "light" | "dark";
const KEPT = "sightline-theme";
const watchers = new Set<() => void>();

export function theme(): Theme {
  const kept = localStorage.getItem(KEPT);
  return kept === "light" || kept === "dark" ? kept : "auto";
}

export function setTheme(chosen: Theme): void {
  localStorage.setItem(KEPT, chosen);
  applyTheme();
}

export function applyTheme(): void {
  document.documentElement.dataset.theme = theme();
  watchers.forEach((tell) => tell());
}

/** Call back when the colours change, by a choice or by the system. */
export function watchTheme(call: () => void): () => void {
  const system = matchMedia("(prefers-color-scheme: dark)");
  watchers.add(call);
  system.addEventListener("change", call);
  return () => {
    watchers.delete(call);
    system.removeEventListener("change", call);
  };
}

/** A colour of the style sheet as it is now. */
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
