// Offers a notification of the browser, once, where it can be given.
import { useState } from "react";
import { Button } from "../ui/basics";

export function Notify() {
  const [permission, setPermission] = useState(() => ("Notification" in window ? Notification.permission : "denied"));
  if (permission !== "default") return null;
  const ask = async () => setPermission(await Notification.requestPermission());
  return <Button look="small" onClick={() => void ask()}>Notify me in this browser</Button>;
}
