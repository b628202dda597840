// Devices: their states in words, and the queries that are refreshed together.
import { type Device, DeviceService, DeviceState } from "../gen/orion/v1/device_pb";
import { refresh } from "../lib/api";
import type { Tone } from "../lib/call";

export function deviceState(device: Device): { text: string; tone: Tone } {
  switch (device.state) {
    case DeviceState.PENDING:
      return { text: "waits for approval", tone: "warn" };
    case DeviceState.APPROVED:
      if (device.pause) return { text: "paused by its owner", tone: "warn" };
      return device.online ? { text: "connected", tone: "good" } : { text: "not connected", tone: "quiet" };
    case DeviceState.REJECTED:
      return { text: "rejected", tone: "bad" };
    case DeviceState.QUARANTINED:
      return { text: "quarantined", tone: "bad" };
    case DeviceState.REVOKED:
      return { text: "revoked", tone: "bad" };
    case DeviceState.UNSPECIFIED:
      return { text: "unknown", tone: "quiet" };
  }
}

export const refreshDevices = () => refresh(DeviceService.method.listDevices, DeviceService.method.getDevice);

/** Returns whether the device has acknowledged the policy that it was sent. */
export const isCurrent = (device: Device) =>
  device.acknowledgedPolicyVersion !== "" && device.acknowledgedPolicyVersion === device.policyVersion;

/** Returns the labels of a device on one line; empty without any. */
export const labelsOf = (device: Device) =>
  Object.entries(device.labels).map(([key, value]) => `${key}=${value}`).toSorted().join(", ");
