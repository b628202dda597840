// Builds the page into `dist`, which the backend's program contains. Everything has the hash of its content in its name,
// and nothing is inlined: the content security policy allows neither inline scripts nor inline styles.
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

export default defineConfig({
  plugins: [react()],
  build: {
    target: "es2022",
    assetsInlineLimit: 0,
    emptyOutDir: false,
    modulePreload: { polyfill: false },
    cssCodeSplit: false,
    reportCompressedSize: false,
  },
});
