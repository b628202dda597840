// What the browser does with passkeys: it makes one, and signs with one.
import { Code, ConnectError } from "@connectrpc/connect";
import type { PasskeyRequest } from "../gen/orion/v1/passkey_pb";

const ENOUGH_BYTES = 64 * 1024;

/** Returns whether this browser knows passkeys at this address. */
export const isOffered = () => "PublicKeyCredential" in window && window.isSecureContext;

const problem = (text: string) => new ConnectError(text, Code.FailedPrecondition);

/** Says why no passkey can be used here; undefined where one can. */
export function obstacle(origin: string): string | undefined {
  if (origin === "") return "This backend's page has no address at which browsers offer passkeys: it needs a name and TLS. An admin sets page_url of [approvals].";
  if (origin !== location.origin) return `Passkeys work on this page at ${origin} alone.`;
  if (!isOffered()) return "This browser offers no passkeys. Open this page in one that does, or on another device.";
  return undefined;
}

/** Says what went wrong in the browser, and what to do. */
function failure(error: unknown): unknown {
  if (!(error instanceof DOMException)) return error;
  switch (error.name) {
    case "NotAllowedError":
      return problem("The browser gave no signature: it was cancelled, took too long, or has none of your passkeys. Try again.");
    case "InvalidStateError":
      return problem("This authenticator has a passkey of yours already. Use that one, or another authenticator.");
    case "NotSupportedError":
    case "ConstraintError":
      return problem("This authenticator cannot check who you are. Use one with a PIN, a finger or a face.");
    default:
      return problem(`The browser could not use a passkey (${error.name}). Load the page again, or use another browser.`);
  }
}

const bytes = (from: ArrayBuffer) => {
  if (from.byteLength > ENOUGH_BYTES) throw problem("The browser's answer is too large.");
  return new Uint8Array(from);
};

const known = (request: PasskeyRequest) => request.passkeyIds.map((id) => ({ type: "public-key" as const, id: new Uint8Array(id) }));

function checked(request: PasskeyRequest | undefined): PasskeyRequest {
  const stop = obstacle(request?.origin ?? "");
  if (!request || stop) throw problem(stop ?? "The backend asked for nothing.");
  return request;
}

/** Signs what the backend asks for with one of the person's passkeys. */
export async function sign(asked: PasskeyRequest | undefined) {
  const request = checked(asked);
  try {
    const made = await navigator.credentials.get({
      publicKey: {
        challenge: new Uint8Array(request.challenge),
        rpId: request.relyingParty,
        allowCredentials: known(request),
        userVerification: "required",
        timeout: Number(request.timeoutMs),
      },
    });
    if (!(made instanceof PublicKeyCredential) || !(made.response instanceof AuthenticatorAssertionResponse)) throw problem("The browser gave no signature.");
    const { clientDataJSON, authenticatorData, signature } = made.response;
    return { passkeyId: bytes(made.rawId), clientData: bytes(clientDataJSON), authenticatorData: bytes(authenticatorData), signature: bytes(signature) };
  } catch (error) {
    throw failure(error);
  }
}

/** Makes a passkey for a person. */
export async function create(asked: PasskeyRequest | undefined, user: string, handle: Uint8Array, algorithms: bigint[]) {
  const request = checked(asked);
  try {
    const made = await navigator.credentials.create({
      publicKey: {
        challenge: new Uint8Array(request.challenge),
        rp: { id: request.relyingParty, name: "Orion" },
        user: { id: new Uint8Array(handle), name: user, displayName: user },
        pubKeyCredParams: algorithms.map((alg) => ({ type: "public-key" as const, alg: Number(alg) })),
        excludeCredentials: known(request),
        authenticatorSelection: { residentKey: "preferred", userVerification: "required" },
        attestation: "none",
        timeout: Number(request.timeoutMs),
      },
    });
    if (!(made instanceof PublicKeyCredential) || !(made.response instanceof AuthenticatorAttestationResponse)) throw problem("The browser made no passkey.");
    const { clientDataJSON, attestationObject } = made.response;
    return { clientData: bytes(clientDataJSON), attestationObject: bytes(attestationObject) };
  } catch (error) {
    throw failure(error);
  }
}
