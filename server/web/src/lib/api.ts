// The one way to the backend: gRPC-web on the page's own origin. The session is in a cookie that no script can read;
// the header says that this page made the request, which no other origin can.
import { Code, ConnectError, type Interceptor, createClient } from "@connectrpc/connect";
import { createConnectQueryKey } from "@connectrpc/connect-query";
import { createGrpcWebTransport } from "@connectrpc/connect-web";
import { QueryCache, QueryClient } from "@tanstack/react-query";
import type { DescMethodUnary, DescService } from "@bufbuild/protobuf";
import { willRepeat } from "./errors";

export const FROM_PAGE = { "x-orion-page": "1" };

const fromPage: Interceptor = (next) => (request) => {
  request.header.set("x-orion-page", FROM_PAGE["x-orion-page"]);
  return next(request);
};

/** How long a request that only reads may take: one that hangs would stop everything that waits for it. */
const READ_TIMEOUT_MS = 30_000;

/** Ends a read that gets no answer, such as over a link that is dead without having been closed. */
const inTime: Interceptor = (next) => async (request) => {
  if (request.stream || !/^(Get|List|WhoAmI)/.test(request.method.name)) return next(request);
  const timeout = AbortSignal.timeout(READ_TIMEOUT_MS);
  try {
    return await next({ ...request, signal: AbortSignal.any([request.signal, timeout]) });
  } catch (error) {
    throw timeout.aborted ? new ConnectError("the backend does not answer in time", Code.Unavailable) : error;
  }
};

export const transport = createGrpcWebTransport({
  baseUrl: location.origin,
  useBinaryFormat: true,
  interceptors: [inTime, fromPage],
  fetch: (input, init) => fetch(input, { ...init, credentials: "same-origin", redirect: "error" }),
});

export function client<S extends DescService>(service: S) {
  return createClient(service, transport);
}

/** Returns whether the error means that the session has ended. */
export function isSignedOut(error: unknown): boolean {
  return error instanceof ConnectError && error.code === Code.Unauthenticated;
}

/** Returns whether the error means that a page's address names nothing, which trying again does not change. */
export function isMissing(error: unknown): boolean {
  return error instanceof ConnectError && (error.code === Code.NotFound || error.code === Code.InvalidArgument);
}

/** Returns whether trying the same again may help. */
export function isPassing(error: unknown): boolean {
  const code = ConnectError.from(error).code;
  return code === Code.Unavailable || code === Code.Unknown || code === Code.Aborted;
}

let signedOut: () => void = () => {};

/** Sets what happens when the backend no longer knows the session. */
export function onSignedOut(then: () => void) {
  signedOut = then;
}

/** Passes on that a request was refused for want of a session. */
export function noticeError(error: unknown) {
  if (isSignedOut(error)) signedOut();
}

/** How long after a failure that may pass a query is made again, until it is answered. */
const AGAIN_MS = 5_000;

export const queries = new QueryClient({
  queryCache: new QueryCache({
    onError: (error) => {
      willRepeat(error);
      noticeError(error);
    },
  }),
  defaultOptions: {
    queries: {
      // The backend may be on this machine, which needs no network.
      networkMode: "always",
      staleTime: 2_000,
      retry: (count, error) => isPassing(error) && count < 4,
      refetchInterval: ({ state }) => state.status === "error" && isPassing(state.error) && AGAIN_MS,
      retryDelay: (count) => Math.min(500 * 2 ** count, 5_000),
      refetchOnWindowFocus: true,
    },
    mutations: { networkMode: "always", retry: false, onError: noticeError },
  },
});

/** Reads again what these methods answered, for every request of them. */
export async function refresh(...methods: DescMethodUnary[]) {
  const keys = methods.map((schema) => createConnectQueryKey({ schema, cardinality: "finite" }));
  await Promise.all(keys.map((queryKey) => queries.invalidateQueries({ queryKey })));
}
