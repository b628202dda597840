// Starts the page.
import { TransportProvider } from "@connectrpc/connect-query";
import { QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { BrowserRouter } from "react-router";
import { App } from "./App";
import { queries, transport } from "./lib/api";
import { setTheme, theme } from "./lib/theme";
import "./styles/base.css";
import "./styles/parts.css";
import "./styles/shell.css";
import { ToastProvider } from "./ui/toasts";

setTheme(theme());
const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <TransportProvider transport={transport}>
        <QueryClientProvider client={queries}>
          <BrowserRouter>
            <ToastProvider>
              <App />
            </ToastProvider>
          </BrowserRouter>
        </QueryClientProvider>
      </TransportProvider>
    </StrictMode>,
  );
}
