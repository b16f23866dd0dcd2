// What is wider than the page, what is cut, and which controls lie over each other.
() => {
  const shown = (e) => {
    const r = e.getBoundingClientRect();
    return r.width > 1 && r.height > 1 && getComputedStyle(e).visibility !== "hidden";
  };
  const scrolls = (e) => {
    for (let p = e.parentElement; p && p.tagName !== "MAIN" && p !== document.body; p = p.parentElement) {
      if (/(auto|scroll|hidden)/.test(getComputedStyle(p).overflowX)) return true;
    }
    return false;
  };
  const name = (e) => `${e.tagName.toLowerCase()}.${e.className} "${(e.textContent || e.value || "").trim().slice(0, 40)}"`;
  const found = [];
  const wide = document.documentElement.scrollWidth;
  if (wide > innerWidth) found.push(`the page is ${wide} wide`);
  const main = document.querySelector("main");
  if (main.scrollWidth > main.clientWidth + 1) found.push(`its content is ${main.scrollWidth} wide in ${main.clientWidth}`);
  const controls = [...document.querySelectorAll("a, button, input, select, textarea, h1, h2, h3, dt, dd, canvas")].filter(shown);
  for (const e of controls) {
    const r = e.getBoundingClientRect();
    if (!scrolls(e) && (r.left < -1 || r.right > innerWidth + 1)) found.push(`beyond the edge: ${name(e)}`);
  }
  for (const e of document.querySelectorAll("button, .tabs a, .tag, .button")) {
    if (shown(e) && e.scrollWidth > e.clientWidth + 1) found.push(`cut: ${name(e)}`);
  }
  const used = controls.filter((e) => /^(A|BUTTON|INPUT|SELECT|TEXTAREA)$/.test(e.tagName) && !scrolls(e));
  used.forEach((a, i) => used.slice(i + 1).forEach((b) => {
    if (a.contains(b) || b.contains(a)) return;
    const [p, q] = [a.getBoundingClientRect(), b.getBoundingClientRect()];
    const across = p.left < q.right - 1 && q.left < p.right - 1;
    if (across && p.top < q.bottom - 1 && q.top < p.bottom - 1) found.push(`overlap: ${name(a)} and ${name(b)}`);
  }));
  return found;
}
