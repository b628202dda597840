// Asks for the signature that an approval needs: of exactly what is shown.
import type { MessageInitShape } from "@bufbuild/protobuf";
import { useState } from "react";
import { PasskeyService, type StartPasskeyApprovalRequestSchema } from "../gen/orion/v1/passkey_pb";
import { client, noticeError } from "../lib/api";
import { sign } from "./browser";

type What = MessageInitShape<typeof StartPasskeyApprovalRequestSchema>;
type Signature = Awaited<ReturnType<typeof sign>>;

export function useSignature() {
  const [isAsking, setAsking] = useState(false);
  const [error, setError] = useState<unknown>();
  const signed = async (what: What, then: (signature: Signature) => void) => {
    setAsking(true);
    setError(undefined);
    try {
      const { request } = await client(PasskeyService).startPasskeyApproval(what);
      then(await sign(request));
    } catch (problem) {
      noticeError(problem);
      setError(problem);
    } finally {
      setAsking(false);
    }
  };
  return { isAsking, error, signed };
}
