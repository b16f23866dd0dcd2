import { defineConfig } from "vite";

// Relative addresses, so that the pages also work behind a proxy that adds a path.
export default defineConfig({
  base: "./",
  build: {
    target: "es2022",
    assetsInlineLimit: 0, // nothing inline: the Content-Security-Policy allows files only
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 800,
  },
});
